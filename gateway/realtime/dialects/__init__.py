"""What differs between realtime models: addresses, event names, error classes. Policy lives elsewhere, once."""

from ...settings import DialectName
from .dashscope import DashScopeDialect
from .dialect import Dialect, ErrorClass
from .embedded import EmbeddedDialect
from .openai import OpenAIDialect

__all__ = ["DashScopeDialect", "Dialect", "EmbeddedDialect", "ErrorClass", "OpenAIDialect", "dialect_named"]


def dialect_named(name: DialectName) -> Dialect:
    """Return a dialect for one session."""
    match name:
        case "openai":
            return OpenAIDialect()
        case "dashscope":
            return DashScopeDialect()
        case "embedded":
            return EmbeddedDialect()
