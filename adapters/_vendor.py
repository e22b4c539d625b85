"""Loading of optional packages: at composition only, with the exact command when one is missing."""

import importlib
from types import ModuleType


def load_vendor(module: str, *, package: str, extra: str, adapter: str) -> ModuleType:
    """Import ``module`` for an adapter's constructor; raises ImportError that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        command = f"pip install 'earpiece[{extra}]'"
        raise ImportError(f"{adapter} needs the {package!r} package: {command}", name=module) from error


__all__ = ["load_vendor"]
