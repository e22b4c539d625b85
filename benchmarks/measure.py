"""What every benchmark shares: percentiles of samples, and one table in one form."""

import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of one measurement; the unit is that of its samples."""

    minimum: float
    p50: float
    p95: float
    p99: float


def spread(samples: Sequence[float]) -> Spread:
    """Return minimum and nearest-rank percentiles. Raises `ValueError` without samples."""
    if not samples:
        raise ValueError("a spread needs at least one sample")
    ordered = sorted(samples)

    def at(percent: int) -> float:
        return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]

    return Spread(ordered[0], at(50), at(95), at(99))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table. ``baseline`` was measured in the same run; the ratio compares the medians."""

    name: str
    measured: Spread
    baseline: Spread | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """What a benchmark's ``main()`` returns; ``aim`` says what was hoped for and ``verdict`` what came out."""

    title: str
    rows: tuple[Row, ...]
    unit: str = "ms"
    aim: str = ""
    verdict: str = ""

    def __str__(self) -> str:
        """Return the table as Markdown."""
        lines = [
            f"### {self.title}",
            "",
            f"| {self.unit} | min | p50 | p95 | p99 | baseline p50 | baseline p95 | ratio of p50 |",
            "|---|---:|---:|---:|---:|---:|---:|---:|",
            *(_line(row) for row in self.rows),
        ]
        lines += ["", f"Aim: {self.aim} Measured: {self.verdict}"] if self.aim else []
        return "\n".join(lines)


def _line(row: Row) -> str:
    found = row.measured
    cells = [f"{value:.3f}" for value in (found.minimum, found.p50, found.p95, found.p99)]
    if row.baseline is None:
        cells += ["", "", ""]
    else:
        ratio = f"{found.p50 / row.baseline.p50:.2f}" if row.baseline.p50 else ""
        cells += [f"{row.baseline.p50:.3f}", f"{row.baseline.p95:.3f}", ratio]
    return f"| {row.name} | {' | '.join(cells)} |"


async def milliseconds(work: Callable[[], Awaitable[object]]) -> float:
    """Await ``work()`` once and return how long it took."""
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Collect garbage before and not during a measurement, so that a pause does not fall on one side alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


__all__ = ["Row", "Spread", "Table", "milliseconds", "quiet_collector", "spread"]
