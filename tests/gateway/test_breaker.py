"""A provider that keeps failing rests, and is tried again with one call."""

from gateway.breaker import CircuitBreaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock) -> CircuitBreaker:
    breaker = CircuitBreaker(failures=3, cool_down_seconds=10, clock=clock)
    for _ in range(3):
        assert breaker.seconds_until_retry() is None
        breaker.failed()
    return breaker


def test_consecutive_failures_open_it_for_the_cool_down() -> None:
    """A turn hears "unavailable" at once instead of sitting through the same timeout."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 4
    assert breaker.is_open
    assert breaker.seconds_until_retry() == 6


def test_a_success_in_between_starts_the_count_anew() -> None:
    """Only failures in a row count."""
    breaker = CircuitBreaker(failures=2)
    for _ in range(5):
        breaker.failed()
        breaker.succeeded()
    assert breaker.seconds_until_retry() is None


def test_after_the_cool_down_one_call_tries_and_the_others_wait() -> None:
    """A recovering system is not met by everybody at once."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 10
    assert breaker.seconds_until_retry() is None
    assert breaker.seconds_until_retry() == 10


def test_a_failed_try_opens_it_again_and_a_good_one_closes_it() -> None:
    """The verdict of the one call decides."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 10
    assert breaker.seconds_until_retry() is None
    breaker.failed()
    assert breaker.seconds_until_retry() == 10
    clock.now = 20
    assert breaker.seconds_until_retry() is None
    breaker.succeeded()
    assert not breaker.is_open
    assert [breaker.seconds_until_retry() for _ in range(3)] == [None, None, None]


def test_a_cancelled_try_lets_the_next_call_try() -> None:
    """A barge-in during the trial teaches nothing and must not lock the provider out."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 10
    assert breaker.seconds_until_retry() is None
    breaker.undecided()
    assert breaker.seconds_until_retry() is None
