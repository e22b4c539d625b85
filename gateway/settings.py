"""Everything that can be set, with its default; read once, from ``EARPIECE_*``."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from .projection import MIN_BUDGET_CHARACTERS

DEFAULT_PORT = 8787

BargeIn = Literal["cancel", "finish_silently"]
DialectName = Literal["openai", "dashscope", "embedded"]
Isolation = Literal["task", "thread"]
LibraryEmbedder = Literal["off", "offline"]


class InvalidSetting(ValueError):
    """Raised when a setting cannot be used; the message names it and says what it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """The settings of one gateway. Times are seconds, sizes are bytes.

    Port 0 takes a free one: right for a gateway inside another program. `from_environment` starts from 8787.
    """

    host: str = "127.0.0.1"
    port: int = 0
    allowed_origins: tuple[str, ...] = ()
    tokens_file: Path | None = None
    token_hashes: str = field(default="", repr=False)

    upstream: str | None = None
    upstream_key: str = field(default="", repr=False)
    upstream_dialect: DialectName | None = None
    upstream_model: str = ""
    transcription_model: str = ""
    reconnect_attempts: int = 4
    connect_seconds: float = 10.0

    timeout_seconds: float = 2.5
    isolation: Isolation = "task"
    max_calls_per_turn: int = 3
    budget_characters: int = 6000
    on_barge_in: BargeIn = "cancel"
    prefetch: bool = True
    slow_seconds: float = 1.0
    holding_sentence: bool = False
    metrics: bool = False
    record_query_text: bool = False

    max_sessions: int = 500
    max_sessions_per_owner: int = 100
    max_message_bytes: int = 16 * 2**20
    messages_per_second: float = 1000.0
    bytes_per_second: float = 8 * 2**20
    owner_messages_per_second: float = 10_000.0
    owner_bytes_per_second: float = 64 * 2**20
    stalled_seconds: float = 30.0
    ping_seconds: float = 60.0
    drain_seconds: float = 10.0
    failures_per_minute: int = 20

    domain_library: bool = False
    domain_library_embedder: LibraryEmbedder = "off"

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InvalidSetting(_sentence(name, f"one of {', '.join(str(value) for value in allowed if value)}"))
        if not 0 <= self.port <= 65535:
            raise InvalidSetting(_sentence("port", "a number from 0 to 65535"))
        if self.upstream is not None and not _is_socket_address(self.upstream):
            raise InvalidSetting(_sentence("upstream", "a ws:// or wss:// address"))
        for name, least in _LEAST.items():
            if not least <= getattr(self, name) < float("inf"):
                raise InvalidSetting(_sentence(name, f"a finite number of at least {least:g}"))

    @property
    def dialect(self) -> DialectName:
        """The dialect of the upstream: as set, or told by its host."""
        if self.upstream_dialect is not None:
            return self.upstream_dialect
        if self.upstream is None:
            return "embedded"
        host = urlsplit(self.upstream).hostname or ""
        return "dashscope" if host.endswith(".aliyuncs.com") else "openai"

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] | None = None, *, default_port: int = DEFAULT_PORT, **overrides: Any
    ) -> "GatewaySettings":
        """Read ``EARPIECE_*``; ``overrides`` that are not None win. Raises `InvalidSetting` naming the variable."""
        environment = os.environ if environment is None else environment
        read = {"port": default_port, **_read(environment)}
        given = {name: value for name, value in overrides.items() if value is not None}
        settings = cls(**{**read, **given})
        return settings if settings.upstream_key else _with_vendor_key(settings, {**read, **given}, environment)


_CHOICES: dict[str, tuple[str | None, ...]] = {
    "upstream_dialect": (None, *get_args(DialectName)),
    "isolation": get_args(Isolation),
    "on_barge_in": get_args(BargeIn),
    "domain_library_embedder": get_args(LibraryEmbedder),
}
_LEAST: dict[str, float] = {
    "reconnect_attempts": 0,
    "connect_seconds": 0.001,
    "timeout_seconds": 0.001,
    "max_calls_per_turn": 1,
    "budget_characters": MIN_BUDGET_CHARACTERS,
    "max_sessions": 1,
    "max_sessions_per_owner": 1,
    "max_message_bytes": 1024,
    "messages_per_second": 1,
    "bytes_per_second": 1024,
    "owner_messages_per_second": 1,
    "owner_bytes_per_second": 1024,
    "stalled_seconds": 0.001,
    "ping_seconds": 0.001,
    "drain_seconds": 0,
    "failures_per_minute": 1,
}
_NAMES = {"token_hashes": "EARPIECE_TOKENS"}


def _is_socket_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("ws", "wss") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _variable(name: str) -> str:
    return _NAMES.get(name, f"EARPIECE_{name.upper()}")


def _sentence(name: str, allowed: str) -> str:
    return f"{_variable(name)} ({name}) must be {allowed}."


def _read(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in fields(GatewaySettings):
        text = environment.get(_variable(item.name), "").strip()
        if text:
            found[item.name] = _converted(item.name, item.type, text)
    if "domain_library" not in found and environment.get("QWEN_AUDIO_DOMAIN_LIBRARY"):
        found["domain_library"] = _switch("domain_library", environment["QWEN_AUDIO_DOMAIN_LIBRARY"])
    return found


def _converted(name: str, kind: object, text: str) -> Any:
    try:
        if kind is int or kind is float:
            return kind(text)
    except ValueError:
        raise InvalidSetting(_sentence(name, "a number")) from None
    if kind is bool:
        return _switch(name, text)
    if name == "allowed_origins":
        return tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    return Path(text) if name == "tokens_file" else text


def _switch(name: str, text: str) -> bool:
    value = {"on": True, "1": True, "true": True, "yes": True, "off": False, "0": False, "false": False, "no": False}
    if text.lower() not in value:
        raise InvalidSetting(_sentence(name, "on or off"))
    return value[text.lower()]


def _with_vendor_key(
    settings: GatewaySettings, values: Mapping[str, Any], environment: Mapping[str, str]
) -> GatewaySettings:
    """Take the key under its vendor's own name, for that vendor's hosts alone: no other host is ever sent it."""
    host = urlsplit(settings.upstream or "").hostname or ""
    vendors = {".openai.com": "OPENAI_API_KEY", ".aliyuncs.com": "DASHSCOPE_API_KEY"}
    key = next((environment.get(name, "") for end, name in vendors.items() if host.endswith(end)), "")
    return GatewaySettings(**{**values, "upstream_key": key})


__all__ = ["DEFAULT_PORT", "BargeIn", "DialectName", "GatewaySettings", "InvalidSetting", "Isolation"]
