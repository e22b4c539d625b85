"""The place of the one writer of a store: a lock that the system frees when its holder dies, and a line to wait in.

A writer that has an index open keeps the place when its work is done, so that the next import need not open it again
and merges go on; it leaves as soon as another process stands in line, or nothing was written for a while.
"""

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import LibraryBusy, LibraryStorageFailed

_LOOK_SECONDS = 0.05
STAYS_SECONDS = 30.0
_LEAVING_SECONDS = 5.0


class WriterPlace:
    """Held by one thread of one process at a time. Thread-safe.

    ``stays`` says whether the holder still has something open when its work is done; ``finish`` closes it, which may
    take as long as a merge.
    """

    def __init__(
        self,
        store: Path,
        *,
        stays: Callable[[], bool],
        finish: Callable[[], None],
        stays_seconds: float = STAYS_SECONDS,
    ) -> None:
        self._store = store
        self._stays = stays
        self._finish = finish
        self._stays_seconds = stays_seconds
        self._turn = threading.RLock()
        self._depth = 0
        self._held: int | None = None
        self._used = 0.0
        self._watched = False

    @contextmanager
    def taken(self, wait_seconds: float) -> Iterator[None]:
        """Be the writer for a block. Raises `LibraryBusy` when another process keeps the place for too long.

        Threads of one process wait for each other, but for one whose wait is 0.
        """
        if not self._turn.acquire(blocking=wait_seconds > 0):
            raise LibraryBusy(self._store, wait_seconds)
        try:
            if self._held is None:
                self._held = self._locked(wait_seconds)
            self._depth += 1
            try:
                self._mark()
                yield
                self._unmark()
            except LibraryStorageFailed:
                raise  # the mark stays: what was left half done is mended by the next who can
            except BaseException:
                self._unmark()
                raise
            finally:
                self._depth -= 1
                if not self._depth:
                    self._done()
        finally:
            self._turn.release()

    def is_marked(self) -> bool:
        """Whether a writer is at work right now, or was killed at work, or could not write."""
        try:
            return (self._store / "writer.lock").stat().st_size > 0
        except FileNotFoundError:
            return False

    def leave(self) -> None:
        """Finish what is open and let another process write."""
        with self._turn:
            held, self._held = self._held, None
            if held is not None:
                try:
                    self._finish()
                finally:
                    os.close(held)

    def _mark(self) -> None:
        with contextlib.suppress(OSError):  # a full disk: the work itself will say so
            os.pwrite(self._descriptor, b"!", 0)

    def _unmark(self) -> None:
        if self._depth == 1:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)

    def _done(self) -> None:
        self._used = time.monotonic()
        if not self._stays():
            self.leave()
        elif not self._watched:
            self._watched = True
            threading.Thread(target=self._watch, name="earpiece-writer-place", daemon=True).start()

    @property
    def _descriptor(self) -> int:
        assert self._held is not None  # noqa: S101 - only asked for while the place is held
        return self._held

    def _watch(self) -> None:
        goes_on = True
        while goes_on:
            time.sleep(_LOOK_SECONDS)
            if self._turn.acquire(blocking=False):  # else a thread of this process is at work
                try:
                    goes_on = self._is_kept()
                finally:
                    self._turn.release()

    def _is_kept(self) -> bool:
        """Leave the place if it is time to; says whether it is still held."""
        try:
            if self._held is not None and (self._is_awaited() or time.monotonic() - self._used > self._stays_seconds):
                self.leave()
        finally:
            self._watched = self._held is not None
        return self._watched

    def _is_awaited(self) -> bool:
        """Whether another process stands in line: it then holds the lock of the line."""
        try:
            line = self._file("writer.next")
        except LibraryStorageFailed:
            return False
        try:
            return not _lock(line)
        finally:
            os.close(line)

    def _locked(self, wait_seconds: float) -> int:
        place = self._file("writer.lock")
        try:
            if not _lock(place):
                self._wait_in_line(place, wait_seconds)
        except BaseException:
            os.close(place)
            raise
        return place

    def _wait_in_line(self, place: int, wait_seconds: float) -> None:
        until = time.monotonic() + wait_seconds
        line = self._file("writer.next")
        try:
            for wanted in (line, place):
                while not _lock(wanted):
                    # A holder that is not at work is on its way out: whoever does not wait for work waits for that.
                    if time.monotonic() >= until + (0.0 if self.is_marked() else _LEAVING_SECONDS):
                        raise LibraryBusy(self._store, wait_seconds)
                    time.sleep(_LOOK_SECONDS)
        finally:
            os.close(line)

    def _file(self, name: str) -> int:
        try:
            return os.open(self._store / name, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LibraryStorageFailed(self._store, error.strerror or type(error).__name__) from error


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


__all__ = ["WriterPlace"]
