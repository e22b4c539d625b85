"""The aim of lookups ahead holds on the project's own questions, and time is not spent but counted."""

import asyncio
import time

from benchmarks.prefetch import play, wrong_questions
from benchmarks.spoken import virtual_time
from benchmarks.spoken.phrasing import FORMS, phrased
from benchmarks.spoken.questions import small_collection
from gateway.similarity import ADOPTION_THRESHOLD


def test_the_clock_jumps_to_the_next_timer() -> None:
    """A day of speech takes no time, and what is due first comes first."""

    async def day() -> tuple[list[str], float]:
        order: list[str] = []

        async def after(seconds: float, name: str) -> None:
            await asyncio.sleep(seconds)
            order.append(name)

        await asyncio.gather(after(86_400, "night"), after(0.001, "morning"))
        return order, asyncio.get_running_loop().time()

    began = time.perf_counter()
    order, passed = virtual_time.run(day())
    assert order == ["morning", "night"]
    assert passed >= 86_400
    assert time.perf_counter() - began < 60


def test_seventy_in_a_hundred_are_hidden_and_no_other_question_is_served() -> None:
    """L 600 ms and a provider of 200 ms, over all three ways to put the question."""
    collections = [small_collection()]

    async def shares() -> list[float]:
        return [(await play(collections, form, 0.6, 0.2)).share(1.0) for form in FORMS]

    assert sum(virtual_time.run(shares())) / len(FORMS) >= 70
    asked, adopted = virtual_time.run(wrong_questions(collections, ADOPTION_THRESHOLD))
    assert asked == 16
    assert adopted == 0


def test_a_question_is_put_in_three_ways() -> None:
    """In full, with its content words, and in other words."""
    put = {form: phrased("How many reviewers does every release need?", form) for form in FORMS}
    assert put["full"] == "How many reviewers does every release need?"
    assert put["shortened"] == "reviewers every release need"
    assert put["reworded"].split()[0] != "How"
