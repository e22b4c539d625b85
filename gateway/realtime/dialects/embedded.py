"""The embedded model speaks the GA protocol as it is, and asks for no key."""

from .openai import OpenAIDialect


class EmbeddedDialect(OpenAIDialect):
    """GA without authentication: no credential of the host ever reaches the model in this process."""

    def headers(self, key: str) -> dict[str, str]:
        return {}


__all__ = ["EmbeddedDialect"]
