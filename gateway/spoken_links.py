"""Pure: text without links, because a voice model reads them aloud and a chat client might open them.

A URL is shortened to its host, which still says where something is; a Markdown link keeps its label. In prose that
holds for an address without a scheme too, if its host is plainly one of the web. A locator only loses what is marked
as a link: a folder may be called like a site, and programs read files by it.
"""

import re

import regex

# A target is only what looks like one, so that `f[i](x)` in a program stays as it is.
_TARGET = (
    r"<[^<>\n]*>"
    r"|(?:[a-z][a-z0-9+.-]{0,30}:|[/#?]|\.{1,2}/|www\.)[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+"
    r"|[^\s()]+\.\w{1,5}(?:[?#][^\s()]*)?"
)
_LINK_TITLE = r"""(?:\s++(?:"[^"]*+"|'[^']*+'|\([^()]*+\)))?"""
_MARKDOWN_LINK = regex.compile(rf"!?\[(?P<label>[^\[\]]*+)\]\(\s*+(?:{_TARGET})?{_LINK_TITLE}\s*+\)", regex.IGNORECASE)

# Scripts that do not put spaces between words, or put endings behind names: prose in them goes on right behind a link
# and must not vanish with it. So their letters belong to a URL only where they begin a part of it or where URL
# punctuation follows them; the letters of other scripts always do.
_CONTINUOUS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー"
_URL_CHARACTER = (
    r"[!#$%&()*+\-./0-9:;=?@A-Z\[\]_a-z~^{}／]|,(?![a-z]{2,10}:)|'(?=\w)|\\/"
    r"|(?<=[/／=&#_+~-]|[/_=]\()[^\W\x00-\x7f][\w\p{M}]*+"
    rf"|(?![{_CONTINUOUS}])[^\P{{L}}\x00-\x7f]|\p{{M}}"
    r"|[^\s\p{P}\x00-\x7f]++(?=[/?#=&%])"
)
_REST = rf"(?:\\?[/／?#](?:{_URL_CHARACTER})*+)?"

# Endings of hosts that hardly ever end the name of a file, a module or a product. "ASP.NET/C#" is none of them.
_SUFFIX = (
    r"(?:com|org|edu|gov|(?-i:net|io|ai|dev|co|uk|ca|eu|de|fr|es|nl|ch|se|fi|dk|cz|ie|br|ru|ua|cn|jp|kr|tw|hk|sg|au|nz"
    r"|ly|gl|gg|local|internal|intranet|lan|corp|(?:vercel|netlify|web|run|fly)\.app"
    r"|(?:co|com|org|net|gov|edu|ac)\.(?:in|it|pl|be|at|no|my|ph|th|vn|id|il|za|mx|ar|tr|pe|ng|ke|eg|pk)))"
)
# An ideographic full stop is a dot to a browser. In prose it ends a sentence, so a host has to go on behind it.
_DOT = r"(?:[.．｡]|(?<=[a-z0-9])。(?=[a-z0-9]))"
_SHORTENER = r"(?:t\.me|wa\.me|fb\.me|youtu\.be|redd\.it|amzn\.to|lnkd\.in|b23\.tv|rb\.gy|is\.gd|v\.gd)"
_PATH_FOLLOWS = r"(?=\\?[/／]|[?#][a-z0-9_%])"
# Most prose holds none, and this is found out quickly.
_MAYBE_BARE_ADDRESS = re.compile(
    rf"[.．｡。](?:{_SUFFIX}|me|be|it|to|in|tv|gy|gd|\d{{1,3}})(?::\d{{2,5}})?{_PATH_FOLLOWS}", re.IGNORECASE
)
_BARE_ADDRESS = regex.compile(
    rf"(?<![\w./\\@~%$-])(?:[\w.%+~-]{{1,64}}:[^\s@/:]{{1,64}}@)?(?P<authority>-?(?:(?:[\w-]{{1,63}}{_DOT}){{1,8}}{_SUFFIX}|{_SHORTENER}|localhost)"
    rf"(?::\d{{2,5}})?{_PATH_FOLLOWS}"
    rf"|(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?::\d{{2,5}}{_PATH_FOLLOWS}|(?=/[a-z_]))){_REST}",  # 10.0.0.0/8 is no address
    regex.IGNORECASE,
)

_HOST_ENDS = r"(?=\\?[/／]|[?#]\w|:\d)"
_WIDE_DOT = (
    rf"。(?=(?:[\w-]{{1,63}}[.。．｡]){{0,4}}{_SUFFIX}{_HOST_ENDS})"
    rf"|(?<!\.[\w-]{{1,63}})。(?=(?:[a-z0-9-]|(?<=[^\x00-\x7f]。)[\w-])[\w-]{{0,62}}(?:[.。．｡][\w-]{{1,63}}){{0,4}}{_HOST_ENDS})"
)
_AUTHORITY = rf"""(?:[^\s/／?#"'<>\\|`，。、；！？（）《》「」]|{_WIDE_DOT})*+"""
_URL = regex.compile(
    rf"(?:(?<![a-z0-9+.-])(?P<scheme>[a-z0-9][a-z0-9+.-]{{0,30}}+))?+(?P<colon>[:：])(?:[/／]|\\/){{2}}(?P<authority>{_AUTHORITY}){_REST}"
    rf"|(?<![a-z0-9_/.@:-])//(?P<authority>(?:[\w-]+{_DOT})+[a-z]{{2,24}}(?::\d+)?)(?=[/?#]|\b){_REST}"
    rf"|(?<![a-z0-9_.@-])(?P<authority>www\.[\w-]+(?:{_DOT}[\w-]+)*+(?::\d+)?){_REST}",
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
    """Return prose with every address on the web shortened to its host, and Markdown links reduced to their label."""
    text = without_urls(text)
    if _MAYBE_BARE_ADDRESS.search(text) or "localhost" in text.lower():
        text = _BARE_ADDRESS.sub(_bare_host, text)
    return text


def without_urls(text: str) -> str:
    """Return ``text`` without what is marked as a link: by a scheme, by ``www.`` or by Markdown."""
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
    host = _host_of(authority)
    prefix = ":" if match["colon"] and not scheme else ""
    return f"{prefix}{host or scheme}{behind}"


def _bare_host(match: "regex.Match[str]") -> str:
    url = match[0].rstrip(_PUNCTUATION)
    return _host_of(match["authority"]) + match[0][len(url) :]


def _host_of(authority: str) -> str:
    return _HOST.sub(r"\g<host>", authority).strip("[]")


__all__ = ["without_links", "without_urls"]
