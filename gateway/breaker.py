"""When a provider keeps failing, stop asking it for a while. Pure: it decides, it does not wait."""

import time
from collections.abc import Callable


class CircuitBreaker:
    """Opens after ``failures`` in a row, stays open for ``cool_down_seconds``, then lets one call try.

    A turn should hear "unavailable" at once rather than sit through the same timeout again.
    """

    def __init__(
        self, failures: int = 5, cool_down_seconds: float = 10.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = failures
        self._cool_down = cool_down_seconds
        self._clock = clock
        self._failed_in_a_row = 0
        self._opened_at: float | None = None
        self._trying = False

    @property
    def is_open(self) -> bool:
        """Whether the provider rests, or has not yet answered the call that tries it again."""
        return self._opened_at is not None

    def seconds_until_retry(self) -> float | None:
        """Return None when a call may go ahead (the caller then owes a verdict), else the seconds to wait."""
        if self._opened_at is None:
            return None
        remaining = self._opened_at + self._cool_down - self._clock()
        if remaining > 0:
            return remaining
        if self._trying:
            return self._cool_down
        self._trying = True
        return None

    def succeeded(self) -> None:
        """The provider answered."""
        self._failed_in_a_row = 0
        self._opened_at = None
        self._trying = False

    def failed(self) -> None:
        """The provider failed, or did not answer in time."""
        self._failed_in_a_row += 1
        if self._trying or self._failed_in_a_row >= self._limit:
            self._opened_at = self._clock()
        self._trying = False

    def undecided(self) -> None:
        """The call was cancelled before anything could be learnt from it."""
        self._trying = False


__all__ = ["CircuitBreaker"]
