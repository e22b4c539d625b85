"""Tokens and the owners they stand for. Only hashes are kept: whoever reads the file can use none of them."""

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from .settings import InvalidSetting

TOKEN_PREFIX = "ep_"  # noqa: S105
_OWNER = re.compile(r"[\w][\w.@-]{0,119}")
_HASH = re.compile(r"[0-9a-f]{64}")


class InvalidOwners(InvalidSetting):
    """Raised when tokens cannot be read; the message says where and what is expected."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token as it is kept. ``id`` names it for people; ``hash`` is the SHA-256 of the whole token."""

    id: str
    owner: str
    hash: str
    created: str


def token_hash(token: str) -> str:
    """Hash a token. It holds 256 random bits, so a plain hash cannot be searched."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class TokenFile:
    """The tokens in one JSON file, readable by its user alone. What changes in it holds at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tokens: tuple[Token, ...] = ()
        self._read_at: tuple[int, int] | None = None

    def tokens(self) -> tuple[Token, ...]:
        """Return the tokens, read again when the file has changed. Raises `InvalidOwners`."""
        try:
            state = self._path.stat()
        except FileNotFoundError:
            return ()  # the first token makes the file
        except OSError as error:
            raise InvalidOwners(f"The token file {str(self._path)!r} cannot be read: {error.strerror}.") from error
        version = (state.st_mtime_ns, state.st_size)
        if version != self._read_at:
            self._tokens = self._read()
            self._read_at = version
        return self._tokens

    def create(self, owner: str) -> tuple[Token, str]:
        """Add a token for an owner; returns it as kept, and the secret itself, which is not kept."""
        if not _OWNER.fullmatch(owner):
            raise InvalidOwners(f"The owner {owner!r} must be 1 to 120 letters, digits, '_', '-', '.' or '@'.")
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        token = Token(secrets.token_hex(4), owner, token_hash(secret), created)
        self._write([*self.tokens(), token])
        return token, secret

    def revoke(self, id: str) -> bool:
        """Remove a token by its id; says whether there was one."""
        kept = [token for token in self.tokens() if token.id != id]
        if len(kept) == len(self.tokens()):
            return False
        self._write(kept)
        return True

    def _read(self) -> tuple[Token, ...]:
        try:
            entries = json.loads(self._path.read_text(encoding="utf-8"))["tokens"]
            return tuple(Token(**entry) for entry in entries)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise InvalidOwners(f"The token file {str(self._path)!r} cannot be read. Create it anew.") from error

    def _write(self, tokens: Iterable[Token]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=2)
        temporary = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        temporary.replace(self._path)


class Owners:
    """Says whose a token is. ``hashes`` is ``owner:sha256,...`` as it stands in the environment."""

    def __init__(self, *, file: TokenFile | None = None, hashes: str = "") -> None:
        self._file = file
        self._fixed = _parsed(hashes)

    @property
    def configured(self) -> bool:
        """Whether any token exists, or a file for tokens is named: then nobody gets in without one."""
        return bool(self._fixed) or self._file is not None

    @property
    def empty(self) -> bool:
        """Whether no token at all would be accepted just now."""
        return not self._fixed and not (self._file and self._file.tokens())

    def owner_of(self, token: str) -> str | None:
        """Return the owner, or None for a token that is not known (any more)."""
        wanted = token_hash(token)
        kept = [(entry.hash, entry.owner) for entry in self._file.tokens()] if self._file else []
        return next((owner for hash, owner in [*self._fixed, *kept] if hmac.compare_digest(hash, wanted)), None)


class FailureLimit:
    """Counts failed attempts of each address within the last minute; remembers at most ``capacity`` addresses."""

    def __init__(self, per_minute: int, *, capacity: int = 4096) -> None:
        self._per_minute = per_minute
        self._capacity = capacity
        self._failures: dict[str, deque[float]] = {}

    def exceeded(self, address: str, *, now: float | None = None) -> bool:
        """Say whether this address has failed too often to be heard now."""
        moments = self._failures.get(address)
        return moments is not None and len(_recent(moments, now)) >= self._per_minute

    def failed(self, address: str, *, now: float | None = None) -> None:
        """Note one failed attempt."""
        moments = self._failures.pop(address, deque(maxlen=self._per_minute))
        moments.append(time.monotonic() if now is None else now)
        self._failures[address] = moments
        if len(self._failures) > self._capacity:
            del self._failures[next(iter(self._failures))]


def _recent(moments: deque[float], now: float | None) -> deque[float]:
    since = (time.monotonic() if now is None else now) - 60.0
    while moments and moments[0] <= since:
        moments.popleft()
    return moments


def _parsed(hashes: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for part in filter(None, (part.strip() for part in hashes.split(","))):
        owner, _, hash = part.rpartition(":")
        if not (_OWNER.fullmatch(owner) and _HASH.fullmatch(hash)):
            raise InvalidOwners("EARPIECE_TOKENS must be 'owner:sha256,...'; make entries with: earpiece token create")
        pairs.append((hash, owner))
    return pairs


__all__ = ["FailureLimit", "InvalidOwners", "Owners", "Token", "TokenFile", "token_hash"]
