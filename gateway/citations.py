"""Pure: which URI may be shown to the user as a link, and its stable number within a turn.

A host is judged by its spelling alone: no name is ever looked up. What cannot be read with certainty is not shown;
losing a link is cheap, opening somebody's router or handing out a signed URL is not.
"""

import ipaddress
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

import idna

from knowledge_provider import Citation, CitedResult, KnowledgeResult

from .text import clean_text, cut_text
from .uri_credentials import carries_credentials

MAX_URI_CHARACTERS = 2048
MAX_SNIPPET_CHARACTERS = 160
MAX_TITLE_CHARACTERS = 300

_URI = re.compile(r"(https?)://([^/?#]+)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@]+)(?::([0-9]{0,5}))?", re.DOTALL)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSAFE_IN_URI = re.compile(r"[^!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]")

_PRIVATE_NAMES = (
    *("localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "lan", "home", "arpa", "svc"),
    *("test", "invalid", "onion", "alt"),
    # Public names whose purpose is to resolve to a private address.
    *("nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "readme.localtest.me"),
)
_PRIVATE_SUFFIXES = tuple(f".{name}" for name in _PRIVATE_NAMES)
_PRIVATE_IPV4 = tuple(
    ipaddress.IPv4Network(net)
    for net in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # the host side of a large cloud's virtual machines
    )
)
_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_IPV6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


@lru_cache(maxsize=1024)
def public_uri(uri: str) -> str | None:
    """Return ``uri`` as it may be shown, or ``None`` when it must not be.

    Only http and https with a public host pass; user info, private hosts in any spelling and credentials in
    path or query do not. The fragment goes, the host comes back in ASCII. Applied twice it changes nothing.
    """
    uri = uri.strip()
    if len(uri) > MAX_URI_CHARACTERS or "\\" in uri or "\n" in uri or "\t" in uri or clean_text(uri) != uri:
        return None
    if (parts := _URI.fullmatch(uri)) is None or (authority := _AUTHORITY.fullmatch(parts[2])) is None:
        return None
    scheme, path, query = parts[1].lower(), parts[3], parts[4] or ""
    host, port = _public_host(authority[1]), _port(authority[2], scheme)
    if host is None or port is None or carries_credentials(path, query):
        return None
    shown = f"{scheme}://{host}{port}{_ascii(path)}{_ascii(query)}"
    return shown if len(shown) <= MAX_URI_CHARACTERS else None


class TurnCitations:
    """The numbers of one turn: the same URI is ``source_1`` in every call of it. Make a new one for each turn."""

    def __init__(self) -> None:
        self._by_uri: dict[str, Citation] = {}

    def cite(
        self, results: Sequence[KnowledgeResult], truncated_ids: Collection[str] = ()
    ) -> tuple[tuple[CitedResult, ...], tuple[Citation, ...]]:
        """Return the results with their citation, and the citations of this call in the order of first use."""
        used: dict[str, Citation] = {}
        cited = []
        for result in results:
            citation = self._citation_for(result)
            if citation:
                used[citation.id] = citation
            cited.append(_cited(result, citation, truncated=result.id in truncated_ids))
        return tuple(cited), tuple(used.values())

    def _citation_for(self, result: KnowledgeResult) -> Citation | None:
        uri = public_uri(result.source.uri) if result.source.uri else None
        if uri is None:
            return None
        if uri not in self._by_uri:
            number = len(self._by_uri) + 1
            self._by_uri[uri] = Citation(
                id=f"source_{number}", uri=uri, title=_title(result, uri), snippet=_snippet(result.content)
            )
        return self._by_uri[uri]


def _cited(result: KnowledgeResult, citation: Citation | None, *, truncated: bool) -> CitedResult:
    uri = citation.uri if citation else None
    source = result.source if result.source.uri == uri else result.source.model_copy(update={"uri": uri})
    return CitedResult(
        id=result.id,
        content=result.content,
        score=result.score,
        source=source,
        metadata=result.metadata,
        citation=citation.id if citation else None,
        truncated=truncated or (isinstance(result, CitedResult) and result.truncated),
    )


def _title(result: KnowledgeResult, uri: str) -> str:
    """The source's own title, else where the page is: host and path, as a reader would write them."""
    if result.source.title and result.source.title.strip():
        return result.source.title
    parts = urlsplit(uri)
    place = clean_text(unquote(f"{parts.netloc}{parts.path}", errors="ignore")).strip().rstrip("/")
    return cut_text(place, MAX_TITLE_CHARACTERS)[0]


def _snippet(content: str) -> str:
    opening = " ".join(content[: MAX_SNIPPET_CHARACTERS * 4].split())
    return cut_text(opening, MAX_SNIPPET_CHARACTERS)[0]


def _public_host(host: str) -> str | None:
    """The host in ASCII if it is public, else ``None``."""
    if host.startswith("["):
        return _public_ipv6(host[1:-1])
    name = _ascii_name(host)
    if name is None:
        return None
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return name if _is_public_ipv4(name) else None
    if len(labels) < 2 or len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return None if name.endswith(_PRIVATE_SUFFIXES) or name in _PRIVATE_NAMES else name


def _ascii_name(host: str) -> str | None:
    """The host as a resolver would receive it: percent escapes read, Unicode mapped, lower case, no final dot."""
    try:
        if "%" in host:
            host = unquote(host, errors="strict")
        if not host.isascii() or "xn--" in host.lower():
            host = idna.encode(host, uts46=True, transitional=False).decode("ascii")
            if host != idna.encode(idna.decode(host), uts46=True).decode("ascii"):
                return None
    except UnicodeError:
        return None
    return host.lower().removesuffix(".")


def _public_ipv6(text: str) -> str | None:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return None
    inside = _ipv4_inside(address)
    if inside is not None:
        return f"[{address}]" if _is_public_ipv4(str(inside)) else None
    if address not in _GLOBAL_IPV6 or any(address in net for net in _SPECIAL_IPV6):
        return None
    return f"[{address}]"


def _ipv4_inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _is_public_ipv4(text: str) -> bool:
    """Whether ``text`` is a public address in its one plain spelling; octal, hex, short and integer forms are not."""
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return not any(address in net for net in _PRIVATE_IPV4)


def _port(digits: str | None, scheme: str) -> str | None:
    """The port as written in a URI, empty for the scheme's own; ``None`` when it cannot be one."""
    if not digits:
        return ""
    number = int(digits)
    if not 0 < number <= 65535:
        return None
    return "" if number == {"http": 80, "https": 443}[scheme] else f":{number}"


def _ascii(text: str) -> str:
    return quote(text, safe="!#$%&'()*+,-./:;=?@[]_~") if _UNSAFE_IN_URI.search(text) else text


__all__ = ["MAX_SNIPPET_CHARACTERS", "MAX_URI_CHARACTERS", "TurnCitations", "public_uri"]
