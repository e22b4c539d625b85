"""Imports changes of folders as they happen. Needs the 'watch' extra."""

import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from .errors import DocumentNotFound, DocumentRejected, LibraryError
from .extraction.kinds import is_readable
from .folders import ignored_by
from .library import DomainLibrary
from .records import ImportOutcome, ImportStatus


class WatchUnavailable(LibraryError):
    """Raised when the package that watches folders is not installed."""

    code = "library_watch_unavailable"

    def __init__(self) -> None:
        super().__init__("Watching folders needs the 'watchfiles' package: pip install 'earpiece[watch]'.")


def watch(
    library: DomainLibrary,
    folders: Iterable[Path],
    *,
    owner_id: str,
    ignore: Collection[str] = (),
    report: Callable[[ImportOutcome], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> None:
    """Import new and changed files below ``folders`` and remove deleted ones until ``stop`` is set or Ctrl-C."""
    try:
        import watchfiles
    except ImportError as error:
        raise WatchUnavailable from error
    roots = [folder.expanduser().absolute() for folder in folders]
    ignored = {root: ignored_by(root, tuple(ignore)) for root in roots}
    for changes in watchfiles.watch(*roots, stop_event=stop, raise_interrupt=False):
        for path in sorted({Path(name) for _, name in changes}):
            root = next((one for one in roots if path.is_relative_to(one)), None)
            if root is not None and is_readable(path) and not path.name.startswith(".") and not ignored[root](path):
                _follow(library, path, owner_id, report)


def _follow(library: DomainLibrary, path: Path, owner_id: str, report: Callable[[ImportOutcome], None]) -> None:
    try:
        if path.exists():
            report(library.import_file(path, owner_id=owner_id))
        else:
            library.remove(str(path), owner_id=owner_id)
    except DocumentNotFound:
        return
    except DocumentRejected as error:
        report(ImportOutcome(str(path), ImportStatus.REJECTED, reason=str(error), reason_code=error.reason_code))


__all__ = ["WatchUnavailable", "watch"]
