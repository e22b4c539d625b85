"""The local library keeps the contract of every provider."""

from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER
from knowledge_provider.conformance import Conditions, check_provider
from local_library import DomainLibrary, LocalDomainKnowledgeProvider
from local_library.provider import View


@pytest.mark.parametrize("view", ["outline", "passages"])
async def test_the_library_passes_every_check_of_the_contract(
    library: DomainLibrary, tmp_path: Path, view: View
) -> None:
    """Shape, bounds, cancellation, owners, concurrency, closing, and no blocking of the loop."""
    (tmp_path / "boiler.md").write_text("# Boiler\n\nThe boiler is descaled in March, and tested by Priya.\n")
    library.import_file(tmp_path / "boiler.md")
    conditions = Conditions(queries=("boiler", "descaled in March"), owners=(PERSONAL_OWNER, "someone-else"))
    results = await check_provider(lambda: LocalDomainKnowledgeProvider(library, view=view), conditions)
    assert [f"{one.name}: {one.sentence}" for one in results if not one.passed] == []
    assert len(results) > 5
