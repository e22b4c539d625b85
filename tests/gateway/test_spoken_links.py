"""Links in a text become what a voice may say of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.spoken_links import without_links

SPOKEN = {
    "see https://docs.example.com/a/b?x=1#f.": "see docs.example.com.",
    "see HTTPS://Docs.Example.com/a": "see Docs.Example.com",
    "https://user:secret@example.com:8443/a?token=b": "example.com",
    "(https://example.com/a)": "(example.com)",
    "<https://example.com/a>": "<example.com>",
    '<a href="https://example.com/a?b=c">here</a>': '<a href="example.com">here</a>',
    "<img src='https://evil.example/p.png?d=1'>": "<img src='evil.example'>",
    "**https://example.com/a**": "**example.com**",
    "https://a.example/x,https://b.example/y": "a.example,b.example",
    "| https://a.example/x|b |": "| a.example|b |",
    "http://[::1]:8080/x": "::1",
    "http://127.0.0.1:9200/_search": "127.0.0.1",
    "https:\\/\\/example.com\\/a": "example.com",
    "访问https://example.com/docs获取更多": "访问example.com获取更多",
    "访问https://example.com/路径?token=abc。好": "访问example.com。好",
    "请看https：//example.com/a，谢谢": "请看example.com，谢谢",
    "https://例え.jp/x": "例え.jp",
    "访问www.example.com/x?token=1": "访问www.example.com",
    "www.example.com/path.": "www.example.com.",
    "(//cdn.example.com/x.js)": "(cdn.example.com)",
    "https://https://example.com/": "https",
    "the prefix https:// is needed": "the prefix https is needed",
    "file:///home/kim/notes.md": "/home/kim/notes.md",
    "file://server/share/x": "server",
    "s3://bucket/key": "bucket",
    "ftp://example.com/a": "example.com",
    "mailto:kim@example.com": "kim@example.com",
    "call tel:+4930123": "call +4930123",
    "urn:isbn:0451450523": "isbn:0451450523",
    "a data:text/html;base64,PGI+ b": "a  b",
    "a:/tel:/b": "a:b",
    # Markdown
    "[the page](https://example.com/a)": "the page",
    "[the page](https://example.com/a_(b) 'title')": "the page",
    "[the page](<https://example.com/a b>)": "the page",
    "[the page](/a/b)": "the page",
    "[the page](chapter.md#top)": "the page",
    "[the page](javascript:alert)": "the page",
    "![a chart](https://example.com/a.png)": "a chart",
    "![](https://evil.example/p.png?d=1)": "",
    "[![badge](https://a.example/b.svg)](https://c.example/d)": "badge",
    "[the page][1]\n\n[1]: https://evil.example/?d=secret": "[the page][1]\n\n[1]: evil.example",
    "ht![](x.y)tps://evil.example/a": "evil.example",
}

UNTOUCHED = (
    "Nothing to see here.",
    "f[i](x) and g[0](a, b)",
    "and/or, 3/4, 12:30, a: b, C:\\dir\\file",
    "docs/handbook.md, page 3",
    "/home/kim/notes.md",
    "// a comment in a program",
    "a ratio of 3:4 // 5",
    "kim@example.com",
    "example.com",
    "发布手册：第三章／第四章",
    "[1] Kim, 2026. [note](see below)",
    "data: 12, urn: vase",
    "data:12,13,14",
    "Tel:030-1234 or hotel:5",
    "JavaScript:The Good Parts",
)


@pytest.mark.parametrize(("text", "spoken"), SPOKEN.items(), ids=map(ascii, SPOKEN))
def test_a_link_is_shortened_to_what_can_be_said(text: str, spoken: str) -> None:
    """A URL leaves its host, a Markdown link its label; the text around it stays."""
    assert without_links(text) == spoken


@pytest.mark.parametrize("text", UNTOUCHED)
def test_text_without_links_stays_as_it_is(text: str) -> None:
    """Paths, programs, ratios and addresses of people are no links."""
    assert without_links(text) == text


PIECES = st.sampled_from(
    [
        "http",
        "s",
        ":",
        "/",
        "//",
        "://",
        "\\/",
        "[",
        "]",
        "(",
        ")",
        "](",
        "!",
        "www.",
        "a.b",
        " ",
        "@",
        "?t=1",
        "é",
        "：",
        "／",
        '"',
        "<",
        ".",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_no_url_is_left_however_it_was_composed(text: str) -> None:
    """Neither nesting nor halves that join up leave a URL in the model's lane."""
    spoken = without_links(text)
    assert "://" not in spoken
    assert not re.search(r"(?<![\w.@-])www\.\w+[/?]\w", spoken, re.IGNORECASE)


@pytest.mark.parametrize(
    "hostile",
    [
        "[a](" + " " * 50_000,
        "[" * 50_000,
        "[a](" * 12_000,
        "a.b-c+" * 8_000 + ":",
        "//" * 25_000,
        "[a](" + "a.a" * 15_000,
        "www." * 12_000,
    ],
    ids=lambda text: text[:8],
)
@pytest.mark.timeout(20)
def test_a_hostile_text_does_not_hold_the_gateway(hostile: str) -> None:
    """Ten times the longest content, made to make a pattern go back and forth, still ends."""
    without_links(hostile)
