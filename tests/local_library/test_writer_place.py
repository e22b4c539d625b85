"""One writer at a time: who waits, who leaves, and what is finished before."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_library import LibraryBusy, LibraryStorageFailed
from local_library.writer_place import WriterPlace


class Holder:
    """A place whose holder may have something open when its work is done."""

    def __init__(self, store: Path, *, stays_seconds: float = 60.0) -> None:
        self.open = False
        self.finished = threading.Event()
        self.place = WriterPlace(store, stays=lambda: self.open, finish=self.finish, stays_seconds=stays_seconds)

    def finish(self) -> None:
        self.open = False
        self.finished.set()


def test_who_has_nothing_open_leaves_at_once(tmp_path: Path) -> None:
    """The next writer need not wait at all."""
    first, second = Holder(tmp_path), Holder(tmp_path)
    with first.place.taken(0):
        assert first.place.is_marked()
        with pytest.raises(LibraryBusy), second.place.taken(0):
            pass
    assert not first.place.is_marked()
    with second.place.taken(0):
        assert first.place.is_marked()


@pytest.mark.parametrize("wait_seconds", [0, 20])
def test_who_only_stays_leaves_when_somebody_stands_in_line(tmp_path: Path, wait_seconds: float) -> None:
    """Also for a writer that would not wait for work to end; what is open is finished first."""
    first, second = Holder(tmp_path), Holder(tmp_path)
    with first.place.taken(0):
        first.open = True
    assert not first.finished.is_set()
    with second.place.taken(wait_seconds):
        assert first.finished.is_set()
    with first.place.taken(0):
        pass


def test_who_stays_works_on_without_taking_the_place_again(tmp_path: Path) -> None:
    """What is open stays open from one piece of work to the next, and work within work is the same work."""
    holder = Holder(tmp_path)
    for _ in range(3):
        with holder.place.taken(0), holder.place.taken(0):
            holder.open = True
            assert holder.place.is_marked()
        assert not holder.place.is_marked()
        assert not holder.finished.is_set()
    holder.place.leave()
    assert holder.finished.is_set()


def test_who_stays_leaves_after_a_while(tmp_path: Path) -> None:
    """Nothing is kept open for ever."""
    holder = Holder(tmp_path, stays_seconds=0.0)
    with holder.place.taken(0):
        holder.open = True
    assert holder.finished.wait(10)
    with Holder(tmp_path).place.taken(0):
        pass


def test_a_thread_at_work_is_not_interrupted_by_one_in_line(tmp_path: Path) -> None:
    """What is open while work goes on is finished after it, not in its middle."""
    first, second = Holder(tmp_path), Holder(tmp_path)
    with first.place.taken(0):
        first.open = True
    with first.place.taken(0):
        with pytest.raises(LibraryBusy, match=r"waited 0\.3 s"), second.place.taken(0.3):
            pass
        assert not first.finished.is_set()
    with second.place.taken(20):
        assert first.finished.is_set()


def test_threads_wait_for_each_other_unless_they_wait_for_nobody(tmp_path: Path) -> None:
    """A thread that would only mend something goes on at once while another one writes."""
    holder = Holder(tmp_path)

    def attempt(wait_seconds: float) -> bool:
        with holder.place.taken(wait_seconds):
            return True

    with ThreadPoolExecutor(2) as threads:
        with holder.place.taken(0):
            with pytest.raises(LibraryBusy):
                threads.submit(attempt, 0).result(timeout=10)
            waiting = threads.submit(attempt, 0.01)
        assert waiting.result(timeout=10)


def test_only_who_could_not_write_leaves_a_mark(tmp_path: Path) -> None:
    """What may be half done is seen by the next who opens the library; a refused document is none of that."""
    place = Holder(tmp_path).place
    with pytest.raises(LibraryStorageFailed), place.taken(0), place.taken(0):
        raise LibraryStorageFailed(tmp_path, "no space")
    assert place.is_marked()
    with pytest.raises(ZeroDivisionError), place.taken(0):
        raise ZeroDivisionError
    assert not place.is_marked()


def test_the_place_is_free_when_finishing_fails(tmp_path: Path) -> None:
    """A failure is told, and locks nobody out."""

    def fail() -> None:
        raise OSError("no space")

    place = WriterPlace(tmp_path, stays=lambda: True, finish=fail)
    with place.taken(0):
        pass
    with pytest.raises(OSError, match="no space"):
        place.leave()
    with Holder(tmp_path).place.taken(0):
        pass
