"""What holds for every adapter of a library in this process: LangChain, LlamaIndex and Haystack."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

import adapters.haystack
import adapters.langchain
import adapters.llama_index
from adapters._failures import OurError
from knowledge_provider import ProviderUnavailable, RetrievalError, RetrievalTimedOut
from tests.adapters import haystack_targets, langchain_targets, llama_index_targets
from tests.adapters.asking import context_for, everything_about, request_for, until


@dataclass(frozen=True)
class Library:
    """How to make what the tests ask of one library.

    ``blocking`` has the thread events ``started`` and ``release``; ``native`` waits in a coroutine, sets the event
    ``started``, and counts in ``ended``; ``failing`` raises the error; ``scoped`` are providers that filter by owner.
    """

    key: str
    provider: Callable[..., Any]
    blocking: Callable[[], Any]
    native: Callable[[], Any]
    failing: Callable[[Exception], Any]
    scoped: Callable[[], list[Any]]
    exceptions: list[type[Exception]]
    table: Mapping[str, OurError]
    names_each: bool = False  # every exception stands in the table itself, not only a base of it


LIBRARIES = [
    Library(
        "langchain",
        langchain_targets.provider,
        langchain_targets.held,
        langchain_targets.Native,
        langchain_targets.failing,
        langchain_targets.scoped,
        langchain_targets.vendor_exceptions(),
        adapters.langchain.ERRORS,
        names_each=True,
    ),
    Library(
        "llama-index",
        llama_index_targets.provider,
        llama_index_targets.Blocking,
        llama_index_targets.Native,
        llama_index_targets.Answers,
        llama_index_targets.scoped,
        llama_index_targets.vendor_exceptions(),
        adapters.llama_index.ERRORS,
    ),
    Library(
        "haystack",
        haystack_targets.provider,
        haystack_targets.Blocking,
        haystack_targets.Native,
        haystack_targets.Answers,
        haystack_targets.scoped,
        haystack_targets.vendor_exceptions(),
        adapters.haystack.ERRORS,
    ),
]
each = pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.key)


@each
async def test_two_owners_asking_at_once_never_see_each_other(library: Library) -> None:
    """The host maps the trusted context to a filter, and a hundred calls in flight keep to it."""
    owners = ["ann", "bob"] * 50
    for scoped in library.scoped():
        async with asyncio.timeout(30):
            calls = (scoped.retrieve(request_for("releases office"), context_for(owner)) for owner in owners)
            answers = await asyncio.gather(*calls)
        assert [{result.metadata["owner"] for result in found} for found in answers] == [{owner} for owner in owners]


@each
async def test_what_blocks_holds_up_neither_the_loop_nor_the_default_executor(library: Library) -> None:
    """It waits in a thread of the adapter: only the loop, going on, can let it go, and whoever needs a thread has one.

    The libraries' own coroutines would freeze every audio stream of the process here.
    """
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    slow = library.blocking()
    async with asyncio.timeout(15):
        call = asyncio.create_task(library.provider(slow).retrieve(request_for(), context_for()))
        await until(slow.started.is_set)
        assert not call.done()
        assert await asyncio.to_thread(lambda: "free") == "free"
        slow.release.set()
        (first, *_) = await call
    assert first.content == f"earpiece-{library.key}"


@each
async def test_a_hundred_cancelled_coroutines_all_end(library: Library) -> None:
    """A barge-in frees the caller and reaches the library's own work."""
    native = library.native()
    ask = library.provider(native).retrieve
    async with asyncio.timeout(30):
        for _ in range(100):
            native.started.clear()
            call = asyncio.create_task(ask(request_for(), context_for()))
            await native.started.wait()
            call.cancel()
            await asyncio.wait([call])
            assert call.cancelled()
        await until(lambda: len(asyncio.all_tasks()) == 1)
    assert native.ended == 100


@each
async def test_a_barge_in_frees_the_caller_of_a_blocked_thread(library: Library) -> None:
    """The thread runs out by itself; new work is refused until it is back."""
    slow = library.blocking()
    blocking = library.provider(slow, workers=1)
    async with asyncio.timeout(30):
        call = asyncio.create_task(blocking.retrieve(request_for(), context_for()))
        await until(slow.started.is_set)
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()
        with pytest.raises(ProviderUnavailable):
            await blocking.retrieve(request_for(), context_for())
        slow.release.set()
        await until(lambda: blocking._threads.busy == 0)
        assert await blocking.retrieve(request_for(), context_for())
    await blocking.close()


@each
async def test_the_deadline_holds_while_a_library_blocks(library: Library) -> None:
    """A thread that does not come back costs its caller no more than the deadline."""
    slow = library.blocking()
    try:
        async with asyncio.timeout(15):
            with pytest.raises(RetrievalTimedOut):
                await library.provider(slow, timeout_seconds=0.05).retrieve(request_for(), context_for())
    finally:
        slow.release.set()


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        pytest.param(library, kind, id=f"{library.key}-{kind.__name__}")
        for library in LIBRARIES
        for kind in library.exceptions
    ],
)
async def test_every_exception_of_a_library_is_in_its_table(library: Library, kind: type[Exception]) -> None:
    """A new release that adds an exception fails here first; its text reaches nothing of ours."""
    assert kind.__name__ in library.table or not library.names_each
    error = kind.__new__(kind, "api_key=sk-s3cret")
    Exception.__init__(error, "api_key=sk-s3cret")
    with pytest.raises(RetrievalError) as caught:
        await library.provider(library.failing(error)).retrieve(request_for(), context_for())
    assert "s3cret" not in everything_about(caught.value)
    assert caught.value.__cause__ is not None
    if kind.__name__ != "PipelineRuntimeError":  # what a component raised decides; see test_haystack.py
        nearest = next(base.__name__ for base in kind.__mro__ if base.__name__ in library.table)
        assert type(caught.value) is type(library.table[nearest](library.key))
