"""A process that is killed while it embeds leaves a library that opens, verifies and catches up."""

import random
from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER
from local_library import DomainLibrary
from local_library.semantic import DeterministicEmbedder
from local_library.semantic.embedded_text import embedded_text
from local_library.semantic.vector_files import as_rows
from tests.local_library.killed_children import nursery

WORKER = Path(__file__).with_name("embedding_worker.py")
KILLS = 15
LONGEST_DELAY_SECONDS = 0.25


def assert_each_vector_is_that_of_its_passage(library: DomainLibrary) -> None:
    """Compare every living row with what its passage gives now."""
    files = library._workspace.vectors._files(PERSONAL_OWNER)
    state = files.state()
    if state is None:
        return
    rows, lineage = files.mapped(state)
    living = {int(two["passage"]): one for one, two in zip(rows, lineage, strict=True) if two["passage"]}
    with library._workspace.reading() as catalog:
        passages = catalog.passages(PERSONAL_OWNER, sorted(living))
    for passage_id, passage in passages.items():
        expected = as_rows(DeterministicEmbedder().embed([embedded_text(passage)]))[0]
        assert living[passage_id].tobytes() == expected.tobytes()


@pytest.mark.slow
def test_a_process_killed_while_it_embeds_leaves_a_library_that_catches_up(tmp_path: Path) -> None:
    """Fifteen kills at random moments: no vector is wrong, double, or left behind, and none is missing at the end."""
    store = tmp_path / "store"
    choose = random.Random(11)  # noqa: S311 - the moments of the kills, the same in every run
    vectors = 0
    with nursery(WORKER) as children:
        for kill in range(1, KILLS + 1):
            children.kill(store, kill, choose.uniform(0.0, LONGEST_DELAY_SECONDS))
            with DomainLibrary(store) as library:
                assert library.verify() == (), f"after kill {kill}"
                assert_each_vector_is_that_of_its_passage(library)
                vectors = max(vectors, library.semantic.count())
    assert vectors > 0, "no kill came after a vector was kept"
    with DomainLibrary(store, embedder=DeterministicEmbedder()) as library:
        library.semantic.embed_missing()
        assert library.semantic.count() == sum(one.passages for one in library.list())
        assert library.verify() == ()
        assert_each_vector_is_that_of_its_passage(library)
