"""The signal is an event for those who look, and a call for those who must be told."""

import threading

from gateway.stop_signal import StopSignal


def test_whoever_registered_is_told_once() -> None:
    """Setting it again tells nobody again."""
    signal = StopSignal()
    told: list[str] = []
    signal.then(lambda: told.append("first"))
    signal.then(lambda: told.append("second"))
    assert not signal.is_set()
    signal.set()
    signal.set()
    assert told == ["first", "second"]
    assert signal.is_set()


def test_a_thread_can_wait_for_it() -> None:
    """It is a threading.Event, as context.cancelled is for plain functions."""
    signal = StopSignal()
    seen = threading.Event()

    def wait() -> None:
        if signal.wait(5):
            seen.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    signal.set()
    thread.join(5)
    assert seen.is_set()
