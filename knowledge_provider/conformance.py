"""Checks that any provider must pass. ``earpiece check package.module:factory`` and a pytest fixture run the same ones.

Each check makes a fresh provider and runs it on an event loop in a thread of its own, with a bound on its time, so that
a provider which blocks or never returns fails its check and nothing else.
"""

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from .errors import RetrievalError
from .models import KnowledgeResult, RetrievalContext, RetrievalRequest

Factory = Callable[[], Any]

_CALLS_IN_A_CHECK = 20  # one after the other, at most


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: its name, whether the provider passed, and a sentence on what was seen."""

    name: str
    passed: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the checks ask, and what they tolerate. Times are seconds.

    ``queries`` should find something: the more they find, the more is shown. ``owners`` are two owners, best with
    different documents.
    """

    queries: tuple[str, ...] = ("release policy", "expenses", "vacation", "security")
    owners: tuple[str, str] = ("owner-one", "owner-two")
    seconds: float = 5.0
    max_block_seconds: float = 0.05
    concurrent_calls: int = 24


class CheckFailed(Exception):
    """Raised by a check; the message is its sentence."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a check works with: fresh providers, and calls that are made as a gateway makes them."""

    factory: Factory
    conditions: Conditions = field(default_factory=Conditions)

    @asynccontextmanager
    async def provider(self) -> AsyncIterator[Any]:
        """Make a provider and close it afterwards. Raises `CheckFailed` when the factory makes something else."""
        provider = self.factory()
        for name in ("describe", "retrieve"):
            if not callable(getattr(provider, name, None)):
                raise CheckFailed(f"The factory made a {type(provider).__name__} without {name}(); it is no provider.")
        try:
            yield provider
        finally:
            close = getattr(provider, "close", None)
            if close is not None:
                await settled([asyncio.ensure_future(called(close))], self.conditions.seconds)

    async def ask(
        self, provider: Any, query: str, *, owner: str = "", top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[KnowledgeResult]:
        """Retrieve and return the answer as models. Raises `CheckFailed` when its shape is wrong."""
        call = asyncio.create_task(self.raw(provider, query, owner=owner, top_k=top_k, filters=filters))
        await asyncio.wait([call], timeout=self.conditions.seconds)
        if not call.done():
            call.cancel()
            raise CheckFailed(f"It did not answer within {self.conditions.seconds:g} s.")
        return results_of(call.result())

    async def raw(
        self, provider: Any, query: str, *, owner: str = "", top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> Any:
        """Retrieve and return the answer as it came, whenever that is."""
        request = RetrievalRequest(query=query, top_k=top_k, filters=dict(filters or {}))
        deadline = time.monotonic() + self.conditions.seconds
        context = RetrievalContext(
            owner_id=owner or self.conditions.owners[0], turn_id="conformance", deadline=deadline
        )
        return await called(provider.retrieve, request, context)


async def called(method: Callable[..., Any], *arguments: object) -> Any:
    """Call an ``async def`` on this loop, and a plain ``def`` in a daemon thread."""
    try:
        if inspect.iscoroutinefunction(inspect.unwrap(method)):
            return await method(*arguments)
        value = await _in_thread(lambda: method(*arguments))
        return await value if inspect.isawaitable(value) else value
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:  # SystemExit would end the loop under the check
        raise CheckFailed(f"It raised {type(error).__name__}, which ends processes; raise a RetrievalError.") from error


async def settled(tasks: Iterable["asyncio.Future[Any]"], seconds: float) -> None:
    """Wait for tasks, for at most so long; their errors count as seen."""
    done, _ = await asyncio.wait(tasks, timeout=seconds)
    for task in done:
        if not task.cancelled():
            task.exception()


def results_of(raw: Any) -> list[KnowledgeResult]:
    """Read an answer as the gateway would, but strictly. Raises `CheckFailed`."""
    if isinstance(raw, Mapping):
        raw = raw.get("results")
    if isinstance(raw, str | bytes) or not isinstance(raw, Sequence):
        raise CheckFailed(f"retrieve() returned {type(raw).__name__}; return a list or {{'results': [...]}}.")
    return [_result(position, item) for position, item in enumerate(raw)]


def _result(position: int, item: Any) -> KnowledgeResult:
    try:
        result = item if isinstance(item, KnowledgeResult) else KnowledgeResult.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CheckFailed(f"Result {position} has a wrong {where or 'form'}: {first['msg']}.") from error
    if not result.id.strip() or not result.content.strip():
        raise CheckFailed(f"Result {position} has an empty id or content; the gateway would drop it.")
    return result


async def check_provider(factory: Factory, conditions: Conditions | None = None) -> list[CheckResult]:
    """Run every check on providers that ``factory`` makes, and return the results in a fixed order."""
    results: list[CheckResult] = await _in_thread(lambda: run_checks(factory, conditions))
    return results


class _Verdict(NamedTuple):
    passed: bool
    sentence: str


def run_checks(
    factory: Factory, conditions: Conditions | None = None, *, only: Collection[str] = ()
) -> list[CheckResult]:
    """Run the checks, all of them or those named, and block until they are done; for code without an event loop."""
    from .conformance_checks import CHECKS

    bench = Bench(factory, conditions or Conditions())
    return [_run(name, check, bench) for name, check in CHECKS.items() if name in only or not only]


def _run(name: str, check: Callable[[Bench], Any], bench: Bench) -> CheckResult:
    seconds = bench.conditions.seconds
    found: list[_Verdict] = []
    ended = threading.Event()
    alive_at = [time.monotonic()]

    async def run() -> None:
        # What a provider's own tasks leave behind is judged by the checks and is nothing to print beside their table.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        # The result leaves from here: asyncio.run waits for tasks that may never end.
        heart = asyncio.create_task(_beat(alive_at))
        found.append(await _judged(check, bench))
        heart.cancel()
        ended.set()

    threading.Thread(target=lambda: asyncio.run(run()), name=f"check-{name}", daemon=True).start()
    give_up_at = time.monotonic() + (_CALLS_IN_A_CHECK + 2) * seconds
    while not ended.wait(seconds / 10):
        now = time.monotonic()
        if now > alive_at[0] + seconds or now > give_up_at:
            return CheckResult(name, False, "The provider blocked its event loop, or never stopped; the check gave up.")
    return CheckResult(name, *found[0])


async def _beat(alive_at: list[float]) -> None:
    while True:
        alive_at[0] = time.monotonic()
        await asyncio.sleep(0.02)


async def _judged(check: Callable[[Bench], Any], bench: Bench) -> _Verdict:
    seconds = _CALLS_IN_A_CHECK * bench.conditions.seconds
    try:
        return _Verdict(True, await asyncio.wait_for(check(bench), seconds))
    except CheckFailed as failure:
        return _Verdict(False, str(failure))
    except TimeoutError:
        return _Verdict(False, f"The check did not end within {seconds:g} s.")
    except RetrievalError as error:
        return _Verdict(False, f"The provider refused an ordinary question with {type(error).__name__}.")
    except BaseException as error:
        sentence = f"The provider raised {type(error).__name__}; raise a RetrievalError, or let nothing escape."
        return _Verdict(False, sentence)


async def _in_thread(call: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is not None:
            ended.set_exception(error)
        else:
            ended.set_result(value)

    def work() -> None:
        value, error = None, None
        try:
            value = call()
        except BaseException as raised:
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name="conformance", daemon=True).start()
    return await ended


__all__ = ["Bench", "CheckFailed", "CheckResult", "Conditions", "check_provider", "run_checks"]
