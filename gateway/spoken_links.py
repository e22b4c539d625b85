"""Pure: text without links, because a voice model reads them aloud and a chat client might open them.

A URL is shortened to its host, which still says where something is; a Markdown link keeps its label.
"""

import regex

# A target is only what looks like one, so that `f[i](x)` in a program stays as it is.
_TARGET = (
    r"<[^<>\n]*>"
    r"|(?:[a-z][a-z0-9+.-]{0,30}:|[/#?]|\.{1,2}/|www\.)[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+"
    r"|[^\s()]+\.\w{1,5}(?:[?#][^\s()]*)?"
)
_LINK_TITLE = r"""(?:\s++(?:"[^"]*+"|'[^']*+'|\([^()]*+\)))?"""
_MARKDOWN_LINK = regex.compile(rf"!?\[(?P<label>[^\[\]]*+)\]\(\s*+(?:{_TARGET})?{_LINK_TITLE}\s*+\)", regex.IGNORECASE)

# The rest of a URL is ASCII; other letters belong to it only where URL punctuation follows them. Chinese prose goes
# on without a space behind a link, and must not vanish with it.
_URL_CHARACTER = r"[!#$%&()*+\-./0-9:;=?@A-Z\[\]_a-z~^{}／]|,(?![a-z]{2,10}:)|'(?=\w)|\\/|[^\W\x00-\x7f]++(?=[/?#=&%])"
_REST = rf"(?:\\?[/／?#](?:{_URL_CHARACTER})*+)?"
_AUTHORITY = r"""[^\s/／?#"'<>\\|`，。、；！？（）《》「」]*+"""
_URL = regex.compile(
    rf"(?:(?<![a-z0-9+.-])(?P<scheme>[a-z0-9][a-z0-9+.-]{{0,30}}+))?+(?P<colon>[:：])(?:[/／]|\\/){{2}}(?P<authority>{_AUTHORITY}){_REST}"
    rf"|(?<![a-z0-9_/.@:-])//(?P<authority>(?:[\w-]+\.)+[a-z]{{2,24}}(?::\d+)?)(?=[/?#]|\b){_REST}"
    rf"|(?<![a-z0-9_.@-])(?P<authority>www\.[\w-]+(?:\.[\w-]+)*+(?::\d+)?){_REST}",
    regex.IGNORECASE,
)
_BARE_SCHEME = regex.compile(
    r"(?<![A-Za-z0-9_])(?:(?i:mailto:)|tel:|sms:|urn:|javascript:)(?=\S)"  # "Tel:" in prose is a word
    r"|(?<![A-Za-z0-9_])(?i:data:)(?:[\w.+-]+/[\w.+-]+|(?=;))(?:;[\w=.-]+)*,\S*"
)
_URL_MARKS = ("//", "／", "\\/", "www.")
_SCHEMES_WITHOUT_HOST = ("mailto:", "tel:", "sms:", "urn:", "javascript:", "data:")
_PUNCTUATION = ".,;:!?)}*_'"
_HOST = regex.compile(r"(?:.*@)?(?P<host>\[[^\]]*\]|[^:]*).*", regex.DOTALL)


def without_links(text: str) -> str:
    """Return ``text`` with every URL shortened to its host and Markdown links and images reduced to their label."""
    lowered = text.lower()
    if "](" in text:
        text = _labels_only(text)
    if any(mark in lowered for mark in _URL_MARKS):
        text = _URL.sub(_host, text)
    if ":" in text and any(scheme in lowered for scheme in _SCHEMES_WITHOUT_HOST):
        text = _BARE_SCHEME.sub("", text)
    while "://" in text:  # joined up from pieces that were no URL by themselves
        text = text.replace("://", ":")
    return text


def _labels_only(text: str) -> str:
    """Reduce Markdown links to their labels; twice, since a linked image is a link around an image."""
    for _ in range(2):
        text = _MARKDOWN_LINK.sub(lambda match: match["label"], text)
    return text


def _host(match: "regex.Match[str]") -> str:
    """What stays of a URL: its host, a file's path, or at least its scheme; sentence punctuation behind it stays."""
    url = match[0].rstrip(_PUNCTUATION)
    behind = match[0][len(url) :]
    scheme, authority = match["scheme"] or "", match["authority"].rstrip(_PUNCTUATION)
    if scheme.lower() == "file" and not authority:
        return "/" + url.partition(":")[2].lstrip("/") + behind
    host = _HOST.sub(r"\g<host>", authority).strip("[]")
    prefix = ":" if match["colon"] and not scheme else ""
    return f"{prefix}{host or scheme}{behind}"


__all__ = ["without_links"]
