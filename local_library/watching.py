"""Follows folders: what is new, changed, renamed or removed there is so in the library. Needs the 'watch' extra."""

import threading
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from .errors import LibraryBusy, LibraryError
from .folders import files_below, ignored_by, is_wanted, usable_folder
from .library import DomainLibrary
from .records import ImportOutcome, ImportStatus

QUIET_SECONDS = 0.5
_LOOK_MILLISECONDS = 200

Report = Callable[[ImportOutcome], None]


class WatchUnavailable(LibraryError):
    """Raised when the package that watches folders is not installed."""

    code = "library_watch_unavailable"

    def __init__(self) -> None:
        super().__init__("Watching folders needs the 'watchfiles' package: pip install 'earpiece[watch]'.")


def watch(
    library: DomainLibrary,
    folders: Iterable[Path],
    *,
    owner_id: str,
    ignore: Collection[str] = (),
    report: Report = lambda _: None,
    watching: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> None:
    """Import ``folders``, call ``watching``, then follow every change below them until ``stop`` is set or Ctrl-C.

    A file is imported when nobody wrote to it for half a second, so that no half of it is.
    """
    try:
        import watchfiles
    except ImportError as error:
        raise WatchUnavailable from error
    roots = [usable_folder(folder) for folder in folders]
    follower = Follower(library, roots, owner_id, tuple(ignore), report)
    changes = watchfiles.watch(
        *roots, watch_filter=None, stop_event=stop, rust_timeout=_LOOK_MILLISECONDS, yield_on_timeout=True
    )
    try:
        next(changes, None)  # from here on no change is missed, not even one during the import
        follower.import_all()
        watching()
        for seen in changes:
            follower.note({Path(name) for _, name in seen})
            follower.act()
    except KeyboardInterrupt:
        return


class Follower:
    """Knows what changed and is not in the library yet; ``clock`` gives seconds."""

    def __init__(
        self,
        library: DomainLibrary,
        roots: list[Path],
        owner_id: str,
        patterns: tuple[str, ...],
        report: Report,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._library = library
        self._roots = roots
        self._owner = owner_id
        self._patterns = patterns
        self._report = report
        self._clock = clock
        self._changed: dict[Path, tuple[tuple[int, int], float]] = {}
        self._gone: set[Path] = set()

    def import_all(self) -> None:
        for root in self._roots:
            self._library.import_folder(root, owner_id=self._owner, ignore=self._patterns, progress=self._report)

    def note(self, paths: Collection[Path]) -> None:
        """Remember what changed, also the files of a folder that came as a whole, and what is gone."""
        for path in paths:
            self._changed.update((file, (_stamp(file), self._clock())) for file in self._files(path))
        self._gone.update(path for path in paths if not path.exists())

    def act(self) -> None:
        """Import the changed files that were left alone for a while, and remove what is gone."""
        try:
            self._remove_gone()
            self._import_quiet()
        except LibraryBusy:
            return  # another process is writing: everything stays noted

    def _import_quiet(self) -> None:
        now = self._clock()
        for path, (stamp, _) in list(self._changed.items()):
            if (found := _stamp(path)) != stamp:
                self._changed[path] = (found, now)
        quiet = sorted(path for path, (_, since) in self._changed.items() if now - since >= QUIET_SECONDS)
        outcomes = self._library.import_files(filter(Path.exists, quiet), owner_id=self._owner) if quiet else ()
        for path in quiet:
            del self._changed[path]
        for one in outcomes:  # only now can it be found
            self._report(one)

    def _remove_gone(self) -> None:
        """Remove the documents whose files are gone, and those below a folder that is gone."""
        gone = {path for path in self._gone if not path.exists()}
        known = self._library.paths(owner_id=self._owner) if gone else {}
        removed = [one for path, one in known.items() if _is_at_or_below(Path(path), gone)]
        for removal in self._library.remove_many(removed, owner_id=self._owner):
            document = removal.document
            self._report(ImportOutcome(document.path, ImportStatus.REMOVED, document.document_id))
        for file in self._library.quarantined(owner_id=self._owner) if gone else ():
            if _is_at_or_below(Path(file.path), gone):
                self._library.dismiss(file.path, owner_id=self._owner)
        self._gone.clear()

    def _files(self, path: Path) -> Iterable[Path]:
        root = next((one for one in self._roots if path.is_relative_to(one)), None)
        if root is None:
            return ()
        ignored = ignored_by(root, self._patterns)
        files = files_below(path, lambda _: False) if path.is_dir() else [path] if path.is_file() else []
        return [one for one in files if is_wanted(one.relative_to(root)) and not ignored(one) and self._is_foreign(one)]

    def _is_foreign(self, path: Path) -> bool:
        return not path.is_relative_to(self._library.store)


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of a file; equal as long as nobody writes to it."""
    try:
        status = path.stat()
    except OSError:
        return (-1, -1)
    return (status.st_size, status.st_mtime_ns)


def _is_at_or_below(path: Path, places: Collection[Path]) -> bool:
    return path in places or any(parent in places for parent in path.parents)


__all__ = ["QUIET_SECONDS", "Follower", "WatchUnavailable", "watch"]
