"""Runs library operations without end in a forked child, for the crash tests to kill.

The child notes each operation in the file ``acknowledged`` beside the store.
"""

import os
import random
from functools import partial
from pathlib import Path

from local_library import DomainLibrary, folders
from local_library.extraction.reading import read
from local_library.records import ExtractedText
from tests.local_library.killed_children import fork_children

DOCUMENTS = 6
FILLER = "Filler. " * 60
GUEST = b"Quastenflosser treffen Nebelkraehen. "


class InProcess:
    """Reads files in this process: the parser is not what these tests are about."""

    def extract(self, path: str, content: bytes, source_content_hash: str) -> tuple[ExtractedText, str]:
        return read(path, content, source_content_hash, seconds=30)

    def close(self) -> None:
        return None


def content_of(name: int, version: int) -> bytes:
    sections = "\n".join(
        f"## Part {part}\n\nThe document{name} in edition{version} says word{name}x{version}x{part}. {FILLER}\n"
        for part in range(4)
    )
    return f"# Title of document{name}\n\n{sections}".encode()


def work(store: Path, seed: int, opened: int) -> None:
    choose = random.Random(seed)  # noqa: S311 - any order will do
    acknowledged = os.open(store.parent / "acknowledged", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    folders.COMMIT_EVERY_PASSAGES = 6
    library = DomainLibrary(store, extractor=InProcess())
    os.write(opened, b"!")
    note = partial(_note, acknowledged)
    version = seed * 1_000
    while True:
        version += 1
        name = choose.randrange(DOCUMENTS)
        kind = choose.choices(list(OPERATIONS), [8, 3, 4, 2, 1, 2])[0]
        note("begin", kind, name, version)
        OPERATIONS[kind](library, name, version)
        note("done", kind, name, version)


def _note(file: int, step: str, kind: str, name: int, version: int) -> None:
    os.write(file, f"{step} {kind} {name} {version}\n".encode())


def _path_of(name: int) -> str:
    return f"/documents/{name}.md"


def _import(library: DomainLibrary, name: int, version: int) -> None:
    library.import_bytes(_path_of(name), content_of(name, version))


def _import_many(library: DomainLibrary, name: int, version: int) -> None:
    """All documents at once, with more than one commit of the index."""
    library.import_many((_path_of(one), content_of(one, version)) for one in range(DOCUMENTS))


def _remove(library: DomainLibrary, name: int, version: int) -> None:
    if any(one.path == _path_of(name) for one in library.list()):
        library.remove(_path_of(name))


def _rebuild(library: DomainLibrary, name: int, version: int) -> None:
    library.rebuild_index()


def _compact(library: DomainLibrary, name: int, version: int) -> None:
    library.compact()


def _be_guest(library: DomainLibrary, name: int, version: int) -> None:
    """Another owner comes and is forgotten."""
    library.import_bytes("/guest.md", GUEST * 20, owner_id="guest")
    library.erase_owner("guest")


OPERATIONS = {
    "import": _import,
    "many": _import_many,
    "remove": _remove,
    "rebuild": _rebuild,
    "compact": _compact,
    "guest": _be_guest,
}


if __name__ == "__main__":
    fork_children(work)
