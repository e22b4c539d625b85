"""Runs library operations without end in a forked child, for the crash tests to kill.

Reads ``store seed opening|working`` lines; answers with the child's process id, at once or when the child has opened
the library, then with ``ended`` when the child is gone. The child notes each operation in the file ``acknowledged``
beside the store.
"""

import os
import random
import sys
from pathlib import Path

from local_library import DomainLibrary
from local_library.extraction.reading import read
from local_library.records import ExtractedText

DOCUMENTS = 6
FILLER = "Filler. " * 60


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
    library = DomainLibrary(store, extractor=InProcess())
    os.write(opened, b"!")
    version = seed * 1_000
    while True:
        version += 1
        name = choose.randrange(DOCUMENTS)
        path = f"/documents/{name}.md"
        kind = choose.choices(["import", "remove", "rebuild", "compact"], [10, 4, 2, 1])[0]
        os.write(acknowledged, f"begin {kind} {name} {version}\n".encode())
        if kind == "import":
            library.import_bytes(path, content_of(name, version))
        elif kind == "remove" and any(one.path == path for one in library.list()):
            library.remove(path)
        elif kind == "rebuild":
            library.rebuild_index()
        elif kind == "compact":
            library.compact()
        os.write(acknowledged, f"done {kind} {name} {version}\n".encode())


def main() -> None:
    for line in sys.stdin:
        store, seed, when = line.split()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                work(Path(store), int(seed), writing)
            except BaseException as error:
                (Path(store).parent / "failed").write_text(repr(error))
            os._exit(1)
        os.close(writing)
        if when == "working":
            os.read(reading, 1)
        os.close(reading)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
