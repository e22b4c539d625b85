"""How passages are chosen: merged, spread, collapsed, refused."""

import asyncio
import threading
from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER, ProviderUnavailable, RetrievalContext, RetrievalRequest
from local_library import DomainLibrary, LocalDomainKnowledgeProvider
from local_library.lexical_index import WeightedTerm
from local_library.matching import planned
from local_library.provider import OUTLINE_CHARACTERS

AUDIT = (
    "The quarterly audit covers the harbour crane, its ropes and hooks, the logbook, both keys, every lamp on the "
    "mast, the brakes, and all the papers that the port office asks for."
)
FILLER = "Nothing of note happened on the way there or on the way back. " * 14


def put(library: DomainLibrary, **texts: str) -> None:
    library.import_many((f"/{name}.md", text.encode()) for name, text in texts.items())


def test_neighbouring_passages_become_one(library: DomainLibrary) -> None:
    """Two passages in a row under one heading are one result, in reading order."""
    after = "Someone counted the gulls and wrote it down in a small green book near the gate. " * 10
    text = f"The crane arrived at dawn. {FILLER}\n\nThe crane left at dusk. {after}"
    put(library, log=f"# Log\n\n## Harbour\n\n{text}\n")
    found = library.search("crane arrived at dawn, left at dusk, harbour")
    assert [one.merged for one in found] == [2]
    assert found[0].text.index("arrived at dawn") < found[0].text.index("left at dusk")
    assert found[0].locator == "/log.md#Harbour"


def test_near_duplicates_collapse(library: DomainLibrary) -> None:
    """The same paragraph in ten files takes one place."""
    texts = {f"copy{number}": f"{AUDIT} Edition {number}." for number in range(10)}
    put(library, **texts, other="The harbour crane is audited by Priya, too, every quarter of the year.")
    found = library.search("what does the quarterly audit of the harbour crane cover", limit=5)
    assert len(found) == 2


def test_one_document_does_not_fill_all_places(library: DomainLibrary) -> None:
    """At most three passages of a document, unless the question names it."""
    sections = "\n".join(f"## Day {n}\n\nOn day {n} the crane lifted container {n * 7}.\n" for n in range(8))
    put(library, diary=f"# Diary\n\n{sections}", memo="# Memo\n\nThe crane lifted a container in May.\n")
    by_topic = library.search("which container did the crane lift", limit=8)
    by_name = library.search("diary: which container did the crane lift", limit=8)
    assert sum(one.passage.title == "Diary" for one in by_topic) == 3
    assert sum(one.passage.title == "Diary" for one in by_name) > 3


def test_a_document_full_of_matches_does_not_hide_another(library: DomainLibrary) -> None:
    """Where one document has all the best passages, the index is asked again without it."""
    days = "\n".join(f"## Day {n}\n\nThe crane lifted the container of day {n}.\n" for n in range(60))
    put(library, diary=f"# Diary\n\n{days}", memo=f"# Memo\n\nOne day a crane lifted a container. {FILLER}\n")
    found = library.search("crane lifted container of day", limit=5)
    assert [one.passage.title for one in found] == ["Diary", "Diary", "Diary", "Memo"]


def test_the_one_document_that_is_asked_for_may_fill_all_places(library: DomainLibrary) -> None:
    """Narrowed to a single document, a search is not held to three of its passages, nor to other documents."""
    sections = "\n".join(f"## Day {n}\n\nOn day {n} the crane lifted container {n * 7}.\n" for n in range(8))
    put(library, diary=f"# Diary\n\n{sections}", memo="# Memo\n\nThe crane lifted a container in May.\n")
    diary = library.show("/diary.md").document_id
    found = library.search("which container did the crane lift", limit=6, document_ids=[diary])
    assert [one.passage.title for one in found] == ["Diary"] * 6


def test_neighbours_merge_in_either_order_and_only_so_far(library: DomainLibrary) -> None:
    """The better passage may be the later one; what is merged stays within about 2,400 characters."""
    parts = [
        f"Part {n} of the harbour report is on cranes. {' '.join(f'{n}a{i}' for i in range(150))}" for n in range(4)
    ]
    put(library, report="# Report\n\n" + "\n\n".join(parts).replace("Part 3", "Part 3 and harbour report of cranes 3"))
    found = library.search("harbour report cranes", limit=5, per_document=5)
    assert [one.merged for one in found] == [2, 2]
    assert found[0].text.index("Part 2") < found[0].text.index("Part 3")
    assert all(len(one.text) <= 2_401 for one in found)


def test_three_neighbours_too_long_for_one_are_two_results(library: DomainLibrary) -> None:
    """A passage that would make the merged text longer than about 2,400 characters stays by itself."""
    parts = [
        f"Part {n} of the harbour report is on cranes. {' '.join(f'{n}a{i}' for i in range(150))}" for n in range(3)
    ]
    put(library, report="# Report\n\n" + "\n\n".join(parts))
    assert [one.merged for one in library.search("harbour report cranes", limit=5)] == [2, 1]


def test_a_new_language_is_asked_for_by_its_stems_at_once(library: DomainLibrary) -> None:
    """What a search remembers of the library's languages ends with the next import."""
    put(library, english="The crane takes oil.")
    assert library.search("Büchern") == ()
    put(library, german="# Ausleihe\n\nDie Bücher stehen im Regal und werden von allen gelesen.\n")
    assert library.search("Büchern")[0].coverage == 1.0


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("who are the revewers of a relees", "two reviewers"),
        ("hot fix", "one reviewer"),
        ("hau viele tage urlaub", "dreißig Tage"),
        ("員工年假", "十五天"),
    ],
)
def test_misheard_and_differently_written_words_are_found(library: DomainLibrary, said: str, words: str) -> None:
    """Words spelt by their sound, split words, other scripts of the same characters."""
    put(
        library,
        releases="# Releases\n\nA release needs two reviewers.\n",
        hot="# Urgent\n\nThe hotfix needs one reviewer.\n",
        urlaub="# Urlaub\n\nEs gibt dreißig Tage Urlaub im Jahr.\n",
        leave="# 员工假期\n\n每位员工每年有十五天年假。\n",
    )
    assert words in library.search(said)[0].text


def test_pruning_keeps_the_cheap_terms_and_never_only_the_rarest() -> None:
    """Terms are kept from rare to common within the budget, at least four."""
    counts = {"zinc": 3, "gold": 1_000, "lead": 390_000, "iron": 390_001, "coal": 900_000}
    plan = planned(
        " ".join(counts), ["english"], lambda field, token: counts.get(token, 0) if field == "body" else 0, 10**6
    )
    kept = [term.token for term in plan.wanted if term.field == "body"]
    assert kept == ["zinc", "gold", "lead", "iron"]
    assert isinstance(plan.wanted[0], WeightedTerm)


async def test_an_outline_costs_the_same_for_a_memo_and_a_manual(library: DomainLibrary) -> None:
    """However long the document, its card stays within its bound and says how many sections it left out."""
    manual = "# Crane manual\n\nAll about cranes and their care.\n\n" + "\n".join(
        f"## Chapter {n} about levers and ropes\n\nGearbox part {n}. {FILLER}\n" for n in range(120)
    )
    put(library, manual=manual, memo="# Crane memo\n\n## Oil\n\nThe gearbox takes oil.\n")
    provider = LocalDomainKnowledgeProvider(library)
    async with asyncio.timeout(20):
        results = await provider.retrieve(
            RetrievalRequest(query="crane gearbox"), RetrievalContext(owner_id=PERSONAL_OWNER)
        )
        await provider.close()
    cards = {result.source.title: result.content for result in results}
    assert set(cards) == {"Crane manual", "Crane memo"}
    assert all(len(card) <= OUTLINE_CHARACTERS for card in cards.values())
    assert "- Chapter 0 about levers and ropes" in cards["Crane manual"]
    assert "more sections)" in cards["Crane manual"]
    assert FILLER[:30] not in cards["Crane manual"]


async def test_every_card_of_an_outline_is_another_document(library: DomainLibrary) -> None:
    """A document with the best three passages takes one place of two, not both."""
    days = "\n".join(f"## Day {n}\n\nThe crane lifted the container of day {n}.\n" for n in range(3))
    put(library, diary=f"# Diary\n\n{days}", memo=f"# Memo\n\nOne day a crane lifted a container. {FILLER}\n")
    provider = LocalDomainKnowledgeProvider(library)
    async with asyncio.timeout(5):
        results = await provider.retrieve(
            RetrievalRequest(query="crane lifted container of day", top_k=2), RetrievalContext(owner_id=PERSONAL_OWNER)
        )
        await provider.close()
    assert [result.source.title for result in results] == ["Diary", "Memo"]


async def test_searching_never_blocks_the_loop(library: DomainLibrary, tmp_path: Path) -> None:
    """While the library is held up in its own thread, the event loop goes on; other owners' calls are not queued."""
    put(library, memo="# Memo\n\nThe gearbox takes oil.\n")
    provider = LocalDomainKnowledgeProvider(library, view="passages")
    held_up = threading.Event()

    class Slow:
        def is_set(self) -> bool:
            return held_up.wait(5) and False

    context = RetrievalContext(owner_id=PERSONAL_OWNER, cancelled=Slow())
    waiting = asyncio.ensure_future(provider.retrieve(RetrievalRequest(query="gearbox oil"), context))
    async with asyncio.timeout(5):
        for _ in range(50):
            await asyncio.sleep(0)
        assert not waiting.done()
        held_up.set()
        assert await waiting
        await provider.close()
        await provider.close()
        with pytest.raises(ProviderUnavailable):
            await provider.retrieve(RetrievalRequest(query="gearbox"), RetrievalContext(owner_id=PERSONAL_OWNER))
