"""What the host examples share: an invented company's handbook as a knowledge tool, and three questions."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gateway import FrontendKnowledgeRuntime, KnowledgeTool
from local_library import DomainLibrary, LocalDomainKnowledgeProvider

HANDBOOK = Path(__file__).resolve().parent / "handbook"
QUESTIONS = (
    "How many reviewers does a release need?",
    "报销款多久到账？",
    "What does the cafeteria serve on Fridays?",
)


@asynccontextmanager
async def handbook_tool() -> AsyncIterator[KnowledgeTool]:
    """Yield the tool; its index is temporary."""
    with tempfile.TemporaryDirectory(prefix="earpiece-") as store:
        library = DomainLibrary.for_folder(HANDBOOK, store=Path(store))
        async with FrontendKnowledgeRuntime(LocalDomainKnowledgeProvider(library, view="passages")) as runtime:
            yield KnowledgeTool(runtime)
