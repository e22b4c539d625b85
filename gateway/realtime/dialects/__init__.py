"""What differs between realtime models: addresses, event names, error classes. Policy lives elsewhere, once."""

from .dialect import Dialect, ErrorClass
from .embedded import EmbeddedDialect
from .openai import OpenAIDialect

__all__ = ["Dialect", "EmbeddedDialect", "ErrorClass", "OpenAIDialect", "dialect_named"]


def dialect_named(name: str) -> Dialect:
    """Return a dialect for one session; raises KeyError for a name that is not known."""
    return {"openai": OpenAIDialect, "embedded": EmbeddedDialect}[name]()
