"""The library from a folder of documents to a found passage."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER, RetrievalContext, RetrievalRequest, UnsupportedFilters
from local_library import DocumentNotFound, DomainLibrary, FolderNotUsable, ImportStatus, LocalDomainKnowledgeProvider

RELEASES = """# Release handbook

How software leaves the house at Birch.

## Approvals

Releases require two reviewers and a green build.

## Hotfixes

A hotfix needs one reviewer and the engineer on call.
"""
HOLIDAYS = "# 员工假期政策\n\n## 年假\n\n每位员工每年享有十五天带薪年假。\n\n## 病假\n\n病假需要医生证明。\n"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "releases.md").write_text(RELEASES, encoding="utf-8")
    (folder / "holidays.md").write_text(HOLIDAYS, encoding="utf-8")
    (folder / "travel.txt").write_text("TRAVEL\n\nHotels may cost up to 120 euro a night.\n", encoding="utf-8")
    return folder


@pytest.fixture
def library(documents: Path, tmp_path: Path) -> Iterator[DomainLibrary]:
    with DomainLibrary.for_folder(documents, store=tmp_path / "store") as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "locator"),
    [
        ("How many reviewers does a release need?", "releases.md#Approvals"),
        ("who can approve a hot fix, the engineer on call?", "releases.md#Hotfixes"),
        ("年假有几天？", "holidays.md#年假"),
        ("hotel price per night", "travel.txt#TRAVEL"),
    ],
)
def test_a_term_of_the_body_finds_its_passage(library: DomainLibrary, query: str, locator: str) -> None:
    """Words that stand only in the body are found in English and Chinese, and the locator names the section."""
    found = library.search(query)
    assert found[0].locator.endswith(locator)


@pytest.mark.parametrize("query", ["Who won the world cup in 2018?", "今天北京天气怎么样？", "the capital of Mongolia"])
def test_a_question_the_documents_do_not_answer_finds_nothing(library: DomainLibrary, query: str) -> None:
    """Nothing relevant means no results, not the nearest passage."""
    assert library.search(query) == ()


def test_another_owner_sees_nothing(library: DomainLibrary) -> None:
    """Documents of one owner do not exist for another."""
    assert library.list(owner_id="someone-else") == ()
    assert library.search("reviewers", owner_id="someone-else") == ()
    with pytest.raises(DocumentNotFound):
        library.show(library.list()[0].document_id, owner_id="someone-else")


def test_a_changed_file_replaces_its_passages(library: DomainLibrary, documents: Path) -> None:
    """Importing the same path again updates the document in place."""
    path = documents / "releases.md"
    path.write_text(RELEASES.replace("two reviewers", "five wizards"), encoding="utf-8")
    before = library.show(str(path))
    outcome = library.import_file(path)
    assert outcome.status is ImportStatus.UPDATED
    assert (outcome.document_id, library.show(str(path)).version) == (before.document_id, 2)
    assert "five wizards" in library.search("wizards")[0].text
    assert library.import_file(path).status is ImportStatus.UNCHANGED


def test_a_file_gone_from_the_folder_is_gone_after_a_refresh(library: DomainLibrary, documents: Path) -> None:
    """A library that mirrors a folder forgets what the folder no longer holds."""
    (documents / "travel.txt").unlink()
    library.refresh()
    assert library.search("hotel price per night") == ()
    assert len(library.list()) == 2


def test_a_library_opened_again_answers_alike(library: DomainLibrary, tmp_path: Path) -> None:
    """What was imported is still there for the next process."""
    with DomainLibrary(tmp_path / "store") as again:
        assert again.search("reviewers") == library.search("reviewers")


def test_a_missing_folder_is_one_clear_sentence(tmp_path: Path) -> None:
    """A folder that does not exist is refused by name, before anything is created."""
    with pytest.raises(FolderNotUsable, match="there is no such folder"):
        DomainLibrary.for_folder(tmp_path / "nowhere", store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


async def test_the_outline_never_holds_the_body(library: DomainLibrary) -> None:
    """The outline view gives title, summary, headings and locator for a match in the body."""
    provider = LocalDomainKnowledgeProvider(library)
    context = RetrievalContext(owner_id=PERSONAL_OWNER)
    async with asyncio.timeout(5):
        results = await provider.retrieve(RetrievalRequest(query="green build"), context)
        await provider.close()
    assert results[0].source.title == "Release handbook"
    assert results[0].source.locator is not None
    assert results[0].source.locator.endswith("releases.md")
    assert "- Approvals\n- Hotfixes" in results[0].content
    assert "green build" not in results[0].content


async def test_passages_carry_their_heading_and_locator(library: DomainLibrary) -> None:
    """The passages view gives bounded excerpts under their heading, with score and lineage."""
    provider = LocalDomainKnowledgeProvider(library, view="passages")
    async with asyncio.timeout(5):
        results = await provider.retrieve(
            RetrievalRequest(query="green build"), RetrievalContext(owner_id=PERSONAL_OWNER)
        )
        health = await provider.health()
        await provider.close()
    assert "Approvals\nReleases require two reviewers" in results[0].content
    assert results[0].score is not None
    assert health.status == "ready"


async def test_filters_narrow_and_unknown_filters_are_refused(library: DomainLibrary) -> None:
    """The one filter is document_ids; a filter that cannot be applied is an error, never ignored."""
    provider = LocalDomainKnowledgeProvider(library, view="passages")
    context = RetrievalContext(owner_id=PERSONAL_OWNER)
    other = next(one.document_id for one in library.list() if one.title != "Release handbook")
    async with asyncio.timeout(5):
        narrowed = await provider.retrieve(
            RetrievalRequest(query="reviewers", filters={"document_ids": [other]}), context
        )
        with pytest.raises(UnsupportedFilters):
            await provider.retrieve(RetrievalRequest(query="reviewers", filters={"department": "x"}), context)
        await provider.close()
    assert narrowed == []


async def test_an_empty_library_is_unconfigured(tmp_path: Path) -> None:
    """Health says that there is nothing to search yet."""
    with DomainLibrary(tmp_path / "store") as empty:
        provider = LocalDomainKnowledgeProvider(empty)
        async with asyncio.timeout(5):
            health = await provider.health()
            await provider.close()
    assert health.status == "unconfigured"
