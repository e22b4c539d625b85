"""Declarations of sources: strict keys, errors that name them, YAML and code alike."""

from pathlib import Path
from typing import Any

import pytest

from knowledge_service import InvalidSource, source_from, sources_from
from knowledge_service.source_file import load_sources

OBJECT: dict[str, Any] = {"kind": "object", "object": "kb_article", "contentFields": ["title", "body"]}


def declared(content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "articles", "label": "Articles", "adapter": "memory", "source": content, **more}


@pytest.mark.parametrize(
    ("content", "key", "owner"),
    [
        ({**OBJECT, "prefix": "handbook/"}, "prefix", "file"),
        ({**OBJECT, "urls": ["https://example.org/"]}, "urls", "http"),
        ({"kind": "file", "prefix": "x/", "where": {"a": 1}}, "where", "object"),
        ({"kind": "file", "prefix": "x/", "userAgent": "bot"}, "userAgent", "http"),
        ({"kind": "http", "urls": ["https://example.org/"], "mimeTypes": []}, "mimeTypes", "file"),
        ({"kind": "http", "urls": ["https://example.org/"], "contentFields": ["a"]}, "contentFields", "object"),
    ],
)
def test_a_key_of_one_kind_on_another_is_refused_by_name(content: dict[str, Any], key: str, owner: str) -> None:
    """The author learns which key is wrong and to which kind it belongs."""
    with pytest.raises(InvalidSource) as refused:
        source_from(declared(content))
    assert f"{key!r} is a key of kind {owner!r}, not of kind {content['kind']!r}" in str(refused.value)


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        (declared({"kind": "table"}), "'source.kind' must be one of 'object', 'file', 'http'"),
        (declared(OBJECT, options={"datasetId": "x"}), "has no key 'options'"),
        (
            declared({**OBJECT, "fields": ["a"]}),
            "kind 'object' has no key 'fields'. Known: kind, object, contentFields",
        ),
        (declared({**OBJECT, "contentFields": []}), "contentFields"),
        (declared({**OBJECT, "contentFields": ["*"]}), "contentFields"),
        (declared({**OBJECT, "contentFields": ["a", "a"]}), "names something twice"),
        (declared({**OBJECT, "where": {"a": {"$like": "x"}}}), "unknown operator '$like'"),
        (declared({"kind": "http", "urls": ["not a url"]}), "urls"),
        (declared({"kind": "http", "urls": []}), "urls"),
        (declared(OBJECT, id="Not An Id"), "'id' is wrong"),
        (declared(OBJECT, refresh={"cron": "hourly"}), "cron"),
        (declared(OBJECT, version=0), "'version' is wrong"),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(declaration: dict[str, Any], said: str) -> None:
    """One sentence names the source, the key and what would be right."""
    with pytest.raises(InvalidSource) as refused:
        source_from(declaration)
    assert said in str(refused.value)
    assert repr(declaration["id"]) in str(refused.value)


def test_two_sources_of_one_id_are_refused() -> None:
    """Which of the two was meant cannot be known."""
    with pytest.raises(InvalidSource, match="declared twice"):
        sources_from([declared(OBJECT), declared(OBJECT)])


def test_both_spellings_are_read_and_give_the_same_source() -> None:
    """Code uses snake_case, files use camelCase, and the fingerprint does not tell them apart."""
    snake = {"kind": "object", "object": "kb_article", "content_fields": ["title", "body"]}
    assert source_from(declared(snake)).fingerprint() == source_from(declared(OBJECT)).fingerprint()


def test_the_version_alone_changes_no_fingerprint() -> None:
    """The fingerprint says whether a declaration changed, the version says which one is newer."""
    first, second = (source_from(declared(OBJECT, version=number)) for number in (1, 2))
    assert first.fingerprint() == second.fingerprint()
    assert first.fingerprint() != source_from(declared(OBJECT, label="Other")).fingerprint()


def test_sources_are_read_from_yaml(tmp_path: Path) -> None:
    """A file holds a list of sources under 'sources'."""
    path = tmp_path / "sources.yaml"
    path.write_text(
        "sources:\n"
        "  - id: articles\n    label: Articles\n    adapter: memory\n"
        "    source: {kind: object, object: kb_article, contentFields: [title], where: {status: published}}\n"
        "  - id: handbook\n    label: Handbook\n    adapter: memory\n"
        "    source: {kind: file, prefix: handbook/, mimeTypes: [text/markdown]}\n"
    )
    assert [(source.id, source.source.kind) for source in load_sources(path)] == [
        ("articles", "object"),
        ("handbook", "file"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- id: a\n  id: b\n", "line 2 repeats the key 'id'"),
        ("sources: [\n", "is not YAML"),
        ("just a sentence", "holds no list of sources"),
        ("!!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_a_broken_file_is_answered_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    """A file that cannot be meant as a list of sources is refused, and runs nothing."""
    path = tmp_path / "sources.yaml"
    path.write_text(text)
    with pytest.raises(InvalidSource, match=said):
        load_sources(path)
