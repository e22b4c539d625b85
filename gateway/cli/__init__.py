"""The ``earpiece`` command. Each command is a module of its own and is imported only when it runs."""

from .root import earpiece, main

__all__ = ["earpiece", "main"]
