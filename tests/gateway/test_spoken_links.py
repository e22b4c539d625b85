"""Links in a text become what a voice may say of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.spoken_links import without_links, without_urls

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
    # credentials go with or without a scheme
    "use bob:pa55@db.example.com:5432/main now": "use db.example.com now",
    "user bob:pa55@localhost/app": "user localhost",
    "bob:pa55@10.0.0.7:5432/app": "10.0.0.7",
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
    # paths of other letters go with their host
    "https://a.com/中文/路径。然后": "a.com。然后",
    "https://a.com/路径。然后": "a.com。然后",
    "见https://zh.example.org/wiki/北京，谢谢": "见zh.example.org，谢谢",
    "https://zh.example.org/wiki/北京2026年_(市)#历史-文化 好": "zh.example.org 好",
    "https://a.com/?q=北京&p=上海。好": "a.com。好",
    "https://a.com/пути/к новостям": "a.com новостям",
    "https://a.com/café": "a.com",
    "https://a.com/cafe\u0301, oui": "a.com, oui",
    "https://a.com/a-größe.html": "a.com",
    "https://a.com/हिन्दी/पथ है": "a.com है",
    "https://a.com/😀/x": "a.com",
    "https://a.com/ไทย/ทาง ครับ": "a.com ครับ",
    "https://a.com/x에서 보세요": "a.com에서 보세요",
    # an ideographic full stop is a dot in a host
    "https://a。com/secret/x": "a。com",
    "https://a。b。com:8443/secret": "a。b。com",
    "https://a。com?x=secret": "a。com",
    "https://user:pw@a。com/secret": "a。com",
    "a。com/secret/x": "a。com",
    "docs．example．com/secret": "docs．example．com",
    "www.a。com/secret": "www.a。com",
    "(//a。com/secret)": "(a。com)",
    "https://a.com/(中文)。好": "a.com)。好",
    "https://例え。みんな/秘密": "例え。みんな",
    "看https://a.com。然后走": "看a.com。然后走",
    "看https://a.com。See more": "看a.com。See more",
    "看https://a.com。and/or": "看a.com。and/or",
    # no scheme, yet plainly a place on the web
    "docs.example.com/releases?x=1": "docs.example.com",
    "see docs.example.com/releases?x=1.": "see docs.example.com.",
    "bit.ly/3xYz": "bit.ly",
    "localhost:8000/admin/zz": "localhost",
    "(localhost/admin)": "(localhost)",
    "example.com/": "example.com",
    "example.com?token=abc": "example.com",
    "example.com#secret": "example.com",
    "Docs.Example.COM/a": "Docs.Example.COM",
    "docs.example.com:8443/a": "docs.example.com",
    "shop.example.co.uk/a": "shop.example.co.uk",
    "访问docs.example.com/路径。好": "访问docs.example.com。好",
    "链接：bit.ly/3xYz，谢谢": "链接：bit.ly，谢谢",
    '{"url":"docs.example.com/a?b=c"}': '{"url":"docs.example.com"}',
    "- t.me/kim, youtu.be/dQw4?t=1": "- t.me, youtu.be",
    "-bit.ly/3xYz": "-bit.ly",
    "bücher.de/neu": "bücher.de",
    "127.0.0.1:9200/_search": "127.0.0.1",
    "10.0.0.1/admin": "10.0.0.1",
    "wiki.corp/secret and printer.local/status": "wiki.corp and printer.local",
    "[example.com/a](https://example.com/b)": "example.com",
}

UNTOUCHED = (
    "Email:joe@example.com or git@github.com:org/repo.git",
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
    # file names, locators, modules, ratios and versions
    "release-handbook.md#Approvals",
    "handbook.md#Release > Approvals, manual.pdf#page=3, prices.xlsx#sheet=Prices&rows=2-26, notes.txt#L12",
    "src/app/main.py, src/app.py:42, main.py:42/43, gateway/http/server.py",
    "and/or, 24/7, 1.5/2, he/she, w/o, n/a, 1/2.5, TCP/IP",
    "module.path, os.path/sys.path, a.b.c/d, foo.bar?baz",
    "docs/example.com/index.html, ./example.com/a, ../example.com/a, ~/example.com/a, mirror\\example.com\\a",
    "/srv/www/docs.example.com/index.html",
    "Earpiece.app/Contents/Info.plist, script.pl?x=1, lib.so/1, main.cc/main.h, run.sh/x, Cargo.rs/x",
    "ASP.NET/C#, System.Net/Http, Node.js/Express, Next.js/docs, config.yaml/dev",
    "python3.11/site-packages, v1.2.3/notes, 1.2.3.4/5, 10.0.0.0/8, 192.168.0.0/16, fe80::/10",
    "localhost, localhost:8000, example.com:8443, docs.example.com.",
    "Have you seen example.com? Yes, example.com?",
    "example.com?然后",
    "kim@example.com/x and git@github.com:kim/notes",
    "handbook.com.md#a, com/example/App.java, example.community/a",
    "done.it/they, go.to/it, fig.no/table.no",
)


@pytest.mark.parametrize(("text", "spoken"), SPOKEN.items(), ids=map(ascii, SPOKEN))
def test_a_link_is_shortened_to_what_can_be_said(text: str, spoken: str) -> None:
    """A URL leaves its host, a Markdown link its label; the text around it stays."""
    assert without_links(text) == spoken


@pytest.mark.parametrize("text", UNTOUCHED)
def test_text_without_links_stays_as_it_is(text: str) -> None:
    """Paths, programs, ratios and addresses of people are no links."""
    assert without_links(text) == text


@pytest.mark.parametrize("text", ["example.com/mirror/index.html#Approvals", "bit.ly/3xYz", "localhost/notes.md"])
def test_a_locator_loses_only_what_is_marked_as_a_link(text: str) -> None:
    """A mirrored site is a folder, and an agent reads files by these."""
    assert without_urls(text) == text
    assert without_urls(f"https://{text}") == without_links(text)


# "docs获取更多" is not among them: there Chinese prose goes on behind a link.
LETTERS = st.text("abcXYZ012", min_size=1, max_size=6) | st.text(
    st.characters(categories=["L"], min_codepoint=0x80), min_size=1, max_size=6
)
HOSTS = st.sampled_from(["a.com", "docs.example.org", "bücher.de", "bit.ly", "localhost:8000", "10.0.0.1:80"])


@given(HOSTS, st.lists(LETTERS, min_size=2, max_size=4), st.sampled_from(["", "https://"]), st.sampled_from("。 ，\n"))
def test_a_path_of_any_script_goes_with_its_host(host: str, path: list[str], scheme: str, end: str) -> None:
    """No half of a path is left, glued to a name it does not belong to."""
    shown = without_links(f"{scheme}{host}/{'/'.join(path)}{end}")
    assert shown == host.partition(":")[0] + end


@given(st.lists(st.from_regex(r"[a-z_-]{1,8}(\.(md|py|pdf|txt|html|docx|yaml|js|ts|rs|go|java|c|h))?", fullmatch=True)))
def test_a_path_of_a_file_stays(parts: list[str]) -> None:
    """Whatever the folders are called, a path without a host of the web is a locator."""
    path = "/".join(parts)
    assert without_links(path) == path


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
        "a。" * 25_000,
        "https://" + "a。" * 25_000,
        "a.com" * 10_000,
        "中" * 50_000,
        "https://a.com/" + "中a" * 25_000,
        "https://a.com/a" + "中" * 50_000,
        "a-" * 25_000,
        "10.0.0." * 7_000,
    ],
    ids=lambda text: text[:8],
)
@pytest.mark.timeout(20)
def test_a_hostile_text_does_not_hold_the_gateway(hostile: str) -> None:
    """Ten times the longest content, made to make a pattern go back and forth, still ends."""
    without_links(hostile)
