"""A stack that is not installed is answered with the command that installs it."""

from collections.abc import Iterator
from contextlib import contextmanager


class MissingHostPackage(ImportError):
    """Raised when the package of a stack is not installed; the message is the command that installs it."""

    def __init__(self, stack: str, extra: str) -> None:
        super().__init__(f"The knowledge tool for {stack} needs more packages: pip install 'earpiece[{extra}]'")


@contextmanager
def installed(stack: str, extra: str) -> Iterator[None]:
    """Import the packages of a stack within. Raises `MissingHostPackage`."""
    try:
        yield
    except ImportError as error:
        raise MissingHostPackage(stack, extra) from error


__all__ = ["MissingHostPackage", "installed"]
