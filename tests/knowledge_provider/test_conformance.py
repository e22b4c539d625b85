"""The conformance kit passes a good provider, and catches one that is wrong in each of the ways it names."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_provider import RetrievalContext, RetrievalRequest
from knowledge_provider.conformance import CheckResult, Conditions, check_provider, run_checks

CONDITIONS = Conditions(queries=("alpha", "beta"), owners=("ann", "ben"), seconds=2.0, concurrent_calls=12)

DOCUMENTS = {
    "ann": {"a1": "alpha and beta of Ann", "a2": "alpha of Ann", "a3": "beta of Ann"},
    "ben": {"b1": "alpha and beta of Ben", "b2": "alpha of Ben", "b3": "beta of Ben"},
}


class Good:
    """Finds documents that hold the query's word, of the context's owner alone."""

    def describe(self) -> Any:
        return {"protocolVersion": 1, "key": "good", "label": "Good", "capabilities": {}}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        await asyncio.sleep(0.001)
        return {"results": self.found(request.query, context.owner_id, request.top_k)}

    def found(self, query: str, owner_id: str, top_k: int) -> list[dict[str, Any]]:
        documents = DOCUMENTS.get(owner_id, {})
        return [{"id": key, "content": text} for key, text in documents.items() if query in text][:top_k]

    async def close(self) -> None:
        pass


class GoodPlain(Good):
    """The same with a plain function that blocks its own thread."""

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        time.sleep(0.1)
        return self.found(request.query, context.owner_id, request.top_k)


class OtherProtocol(Good):
    def describe(self) -> Any:
        return {**super().describe(), "protocolVersion": 2}


class NoContent(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        return [{"id": "a"}]


class TooMany(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        return self.found(request.query, context.owner_id, 100)


class BreaksOnQuotes(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        if '"' in request.query:
            raise ValueError("bad syntax")
        return await super().retrieve(request, context)


class SwallowsCancellation(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            return await super().retrieve(request, context)
        except asyncio.CancelledError:
            return []


class IgnoresCancellation(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        while True:
            try:
                return await asyncio.shield(asyncio.create_task(self._slow(request, context)))
            except asyncio.CancelledError:
                continue

    async def _slow(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        await asyncio.sleep(1.2)
        return await super().retrieve(request, context)


class CachesAcrossOwners(Good):
    def __init__(self) -> None:
        self._cache: dict[str, Any] = {}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        if request.query not in self._cache:
            self._cache[request.query] = await super().retrieve(request, context)
        return self._cache[request.query]


class KeepsTheOwnerOnTheObject(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.owner = context.owner_id
        await asyncio.sleep(0)
        return self.found(request.query, self.owner, request.top_k)


class TakesTheOwnerFromFilters(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        return self.found(request.query, request.filters.get("owner_id", context.owner_id), request.top_k)


class KeepsTheQueryOnTheObject(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.query = request.query
        await asyncio.sleep(0)
        return self.found(self.query, context.owner_id, request.top_k)


class OneAtATime(Good):
    busy = False

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        if self.busy:
            raise RuntimeError("already in use")
        self.busy = True
        try:
            return await super().retrieve(request, context)
        finally:
            self.busy = False


class BlocksTheLoop(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        time.sleep(0.12)  # noqa: ASYNC251 - the fault that the check must catch
        return await super().retrieve(request, context)


class NeverReturnsTheLoop(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        threading.Event().wait(20)
        return []


class WrongHealth(Good):
    async def health(self) -> Any:
        return "fine"


class HangsInClose(Good):
    async def close(self) -> None:
        await asyncio.Event().wait()


class RaisesInClose(Good):
    async def close(self) -> None:
        raise OSError("already closed")


class LeavesATask(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.task = asyncio.create_task(asyncio.Event().wait())
        return await super().retrieve(request, context)


class FallsOver(Good):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        raise SystemExit(3)


def by_name(results: list[CheckResult]) -> dict[str, CheckResult]:
    return {result.name: result for result in results}


@pytest.mark.parametrize("factory", [Good, GoodPlain])
def test_a_good_provider_passes_every_check(factory: type[Good]) -> None:
    """Nothing is held against a provider that keeps the contract, asynchronous or plain."""
    results = run_checks(factory, CONDITIONS)
    assert [result for result in results if not result.passed] == []
    assert all(result.sentence.endswith(".") for result in results)


@pytest.mark.parametrize(
    ("factory", "check"),
    [
        (OtherProtocol, "description"),
        (NoContent, "shape"),
        (TooMany, "bounds"),
        (BreaksOnQuotes, "bounds"),
        (SwallowsCancellation, "cancellation"),
        (IgnoresCancellation, "cancellation"),
        (CachesAcrossOwners, "owner isolation"),
        (KeepsTheOwnerOnTheObject, "owner isolation"),
        (TakesTheOwnerFromFilters, "owner isolation"),
        (KeepsTheQueryOnTheObject, "concurrency"),
        (OneAtATime, "concurrency"),
        (BlocksTheLoop, "no event-loop blocking"),
        (WrongHealth, "health"),
        (HangsInClose, "close once"),
        (RaisesInClose, "close once"),
        (LeavesATask, "close once"),
    ],
)
def test_each_fault_is_caught_by_its_check(factory: type[Good], check: str) -> None:
    """The kit is worth running: for each way of being wrong it has a check that fails with a sentence."""
    only = by_name(run_checks(factory, CONDITIONS, only=(check,)))
    assert not only[check].passed
    assert only[check].sentence.endswith(".")


def test_top_k_is_what_too_many_results_are_measured_against() -> None:
    """The sentence names the fact, so that its reader knows what to mend."""
    (result,) = run_checks(TooMany, CONDITIONS, only=("bounds",))
    assert result.sentence == "It returned 2 results for top_k=1; return at most top_k."


def test_a_provider_that_exits_the_process_fails_its_check_and_exits_nothing() -> None:
    """SystemExit is a finding like any other."""
    (result,) = run_checks(FallsOver, CONDITIONS, only=("shape",))
    assert result.sentence == "It raised SystemExit, which ends processes; raise a RetrievalError."


def test_a_provider_that_blocks_its_loop_for_good_fails_and_the_kit_goes_on() -> None:
    """The checks end although the provider does not."""
    results = by_name(run_checks(NeverReturnsTheLoop, Conditions(seconds=1.0), only=("description", "shape")))
    assert results["description"].passed
    assert not results["shape"].passed
    assert "blocked its event loop" in results["shape"].sentence


def test_a_factory_that_raises_fails_every_check_and_raises_nothing() -> None:
    """A wrong factory is a finding, not a crash."""

    def broken() -> Any:
        raise KeyError("SECRET_API_KEY=abc")

    results = run_checks(broken, CONDITIONS)
    assert not any(result.passed for result in results)
    assert not any("abc" in result.sentence for result in results)


async def test_the_checks_run_from_a_running_loop() -> None:
    """The command line awaits them."""
    async with asyncio.timeout(60):
        results = await check_provider(Good, CONDITIONS)
    assert all(result.passed for result in results)


def test_the_fixture_names_every_failed_check(check_knowledge_provider: Callable[..., Any]) -> None:
    """In someone's own test suite a failing provider fails the test, with the sentences."""
    with pytest.raises(pytest.fail.Exception, match="bounds: It returned 2 results for top_k=1"):
        check_knowledge_provider(TooMany, CONDITIONS)
    assert check_knowledge_provider(Good, CONDITIONS)
