"""Imports, embeds, removes, compacts and rebuilds without end in a forked child, for the crash test to kill."""

import os
import random
from pathlib import Path

from local_library import DomainLibrary
from local_library.semantic import DeterministicEmbedder
from tests.local_library.crash_worker import InProcess
from tests.local_library.killed_children import fork_children

DOCUMENTS = 8
PASSAGES = 12


def content_of(name: int, version: int) -> bytes:
    parts = (
        f"## Part {part}\n\nDocument{name} edition{version} says word{name}x{version}x{part}."
        for part in range(PASSAGES)
    )
    return (f"# Title {name}\n\n" + "\n\n".join(parts)).encode()


def work(store: Path, seed: int, begun: int) -> None:
    choose = random.Random(seed)  # noqa: S311 - any order will do
    library = DomainLibrary(store, extractor=InProcess(), embedder=DeterministicEmbedder())
    version = seed * 1_000
    library.import_bytes("/documents/0.md", content_of(0, version))
    library.semantic.embed_missing()  # numpy is loaded now
    os.write(begun, b"!")
    while True:
        version += 1
        name = choose.randrange(DOCUMENTS)
        kind = choose.choices(["import", "remove", "embed", "rebuild", "compact"], [8, 3, 6, 1, 1])[0]
        if kind == "import":
            library.import_bytes(f"/documents/{name}.md", content_of(name, version))
        elif kind == "remove" and f"/documents/{name}.md" in library.paths():
            library.remove(f"/documents/{name}.md")
        elif kind == "embed":
            library.semantic.embed_missing()
        elif kind == "rebuild":
            library.rebuild_index()
        elif kind == "compact":
            library.compact()


if __name__ == "__main__":
    fork_children(work)
