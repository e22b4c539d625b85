"""Imports a folder: files are read ahead in limited processes while one thread stores them in a stable order."""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from .catalog import Catalog
from .errors import DocumentRejected, FolderNotUsable, encodable
from .extraction.kinds import is_readable
from .importing import Importer, Prepared
from .records import ImportOutcome, ImportStatus
from .workspace import Workspace

READ_AHEAD = 6
COMMIT_EVERY_PASSAGES = 20_000
_LEFT_OUT_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "build", "dist", "target"})

Progress = Callable[[ImportOutcome], None]


def usable_folder(folder: Path | str) -> Path:
    """``folder`` as an absolute path. Raises `FolderNotUsable` unless it is a folder."""
    path = Path(folder).expanduser().absolute()
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FolderNotUsable(folder, "there is no such folder") from error
    except OSError as error:
        raise FolderNotUsable(folder, unreadable(error)) from error
    if not stat.S_ISDIR(mode):
        raise FolderNotUsable(folder, "is a file, not a folder")
    return path


def check_reachable(path: Path) -> None:
    """Raise `DocumentRejected` where neither a file nor a folder can be looked at."""
    try:
        path.expanduser().stat()
    except OSError as error:
        raise _rejection(path, error) from error


def unreadable(error: OSError) -> str:
    """What is wrong with a file or folder, for the middle of a sentence."""
    return f"cannot be read ({(error.strerror or 'unreadable').lower()})"


def files_below(folder: Path, ignore: Callable[[Path], bool]) -> Iterator[Path]:
    """The files to import below ``folder`` in a stable order; hidden ones and build folders are left out."""
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not _is_left_out_folder(name))
        for name in sorted(files):
            path = Path(place) / name
            if _is_wanted_name(path) and not ignore(path):
                yield path


def is_wanted(below: Path) -> bool:
    """Whether an import of a folder would meet the file at ``below``, its path within that folder."""
    return _is_wanted_name(below) and not any(map(_is_left_out_folder, below.parts[:-1]))


def _is_left_out_folder(name: str) -> bool:
    return name.startswith((".", "~")) or name in _LEFT_OUT_FOLDERS


def _is_wanted_name(path: Path) -> bool:
    return is_readable(path) and not path.name.startswith((".", "~$"))


def ignored_by(folder: Path, patterns: tuple[str, ...]) -> Callable[[Path], bool]:
    """Says whether a path matches one of ``patterns`` (as ``*.log`` or ``drafts/*``) or the folder's ignore file."""
    listed = folder / ".earpieceignore"
    try:
        lines = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    except OSError as error:
        raise FolderNotUsable(folder, unreadable(error)) from error
    wanted = (*patterns, *(line.strip() for line in lines if line.strip() and not line.startswith("#")))

    def ignore(path: Path) -> bool:
        below = path.relative_to(folder)
        return any(below.match(pattern) or _is_below(below, pattern) for pattern in wanted)

    return ignore


def content_of(path: Path, largest_bytes: int) -> bytes:
    """The bytes of a file. Raises `DocumentRejected` when it is missing, unreadable or too large."""
    try:
        if path.stat().st_size > largest_bytes:
            remedy = f"Split it; the limit is {largest_bytes / 1_000_000:,.0f} MB"
            raise DocumentRejected(path, "is too large", remedy, reason_code="too_large")
        if not path.is_file():
            raise DocumentRejected(path, "is no file", "Name a file, or import the folder", reason_code="kind")
        return path.read_bytes()
    except OSError as error:
        raise _rejection(path, error) from error


def _rejection(path: Path, error: OSError) -> DocumentRejected:
    if isinstance(error, FileNotFoundError):
        return DocumentRejected(path, "does not exist", "Check the path", reason_code="missing")
    return DocumentRejected(path, unreadable(error), "Check its permissions", reason_code="unreadable")


class FolderImport:
    """One import of a folder for one owner; only inside the workspace's `writing`."""

    def __init__(self, workspace: Workspace, importer: Importer, catalog: Catalog, owner_id: str) -> None:
        self._workspace = workspace
        self._importer = importer
        self._catalog = catalog
        self._owner = owner_id
        self._not_indexed = 0

    def run(
        self, files: Iterable[tuple[str, Callable[[], bytes]]], progress: Progress | None
    ) -> tuple[ImportOutcome, ...]:
        """Import ``files``, each a path and how to get its bytes; a rejected file is an outcome, not an end."""
        outcomes: list[ImportOutcome] = []
        waiting: deque[tuple[str, ImportOutcome | Future[Prepared]]] = deque()
        with ThreadPoolExecutor(READ_AHEAD, thread_name_prefix="earpiece-reading") as threads:
            try:
                for path, content in files:
                    waiting.append((path, self._begun(path, content, threads)))
                    if len(waiting) > READ_AHEAD:
                        outcomes.append(self._finished(*waiting.popleft(), progress))
                while waiting:
                    outcomes.append(self._finished(*waiting.popleft(), progress))
            finally:
                threads.shutdown(wait=True, cancel_futures=True)
        self._importer.catch_up(self._catalog)
        return tuple(outcomes)

    def _begun(
        self, path: str, read: Callable[[], bytes], threads: ThreadPoolExecutor
    ) -> "ImportOutcome | Future[Prepared]":
        try:
            content = read()
            known = self._importer.unchanged(self._catalog, self._owner, path, content)
        except DocumentRejected as error:
            return self._rejected(path, error)
        return known or threads.submit(self._importer.prepared, path, content)

    def _finished(
        self, path: str, begun: "ImportOutcome | Future[Prepared]", progress: Progress | None
    ) -> ImportOutcome:
        outcome = begun if isinstance(begun, ImportOutcome) else self._stored(path, begun)
        if progress is not None:
            progress(outcome)
        return outcome

    def _stored(self, path: str, begun: "Future[Prepared]") -> ImportOutcome:
        try:
            outcome = self._importer.store(self._catalog, self._owner, begun.result())
        except DocumentRejected as error:
            return self._rejected(path, error)
        self._not_indexed += outcome.passages
        if self._not_indexed >= COMMIT_EVERY_PASSAGES:
            self._importer.catch_up(self._catalog)
            self._not_indexed = 0
        return outcome

    def _rejected(self, path: str, error: DocumentRejected) -> ImportOutcome:
        path = encodable(path)
        with self._workspace.unit_of_work(self._owner) as work:
            work.quarantine(path, error.reason_code, str(error))
        return ImportOutcome(path, ImportStatus.REJECTED, reason=str(error), reason_code=error.reason_code)


def _is_below(path: Path, pattern: str) -> bool:
    """Whether ``pattern`` names a folder that ``path`` lies in."""
    name = pattern.rstrip("/")
    return any(str(parent) == name or parent.name == name for parent in path.parents)


__all__ = [
    "READ_AHEAD",
    "FolderImport",
    "Progress",
    "check_reachable",
    "content_of",
    "files_below",
    "ignored_by",
    "is_wanted",
    "unreadable",
    "usable_folder",
]
