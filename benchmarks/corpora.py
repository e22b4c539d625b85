"""Gathers real documents to read: those of Debian's documentation packages, and the test files of document libraries.

Run with ``python benchmarks/corpora.py FOLDER [--clones CLONES]``, then ``benchmarks/local_extraction.py FOLDER``.
Packages come through ``apt-get download``; for the repositories named below, make clones of your own as
``CLONES/owner/name`` (a bare or shallow one will do). Each file keeps its own licence and none is part of this project:
the folder is for measuring on this machine.
"""

import argparse
import gzip
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from local_library.extraction.kinds import is_readable

DEBIAN_PACKAGES = """
    auto-multiple-choice-doc-pdf camlidl-doc debian-faq debian-handbook debian-kernel-handbook debian-policy
    debian-reference-en developers-reference docbook-xsl-doc-pdf ghostscript-doc git-doc gnuplot-doc gri-pdf-doc
    installation-guide-amd64 latex2rtf-doc libpdfbox-java-doc maint-guide postgresql-doc-15 python3.11-doc r-doc-pdf
    sqlite3-doc texlive-fonts-recommended-doc zsh-doc
"""
# What each repository gives: (owner/name, its licence, the endings taken; "epub/" packs unpacked books).
REPOSITORIES = (
    ("apache/poi", "Apache-2.0", "docx docm pptx pptm xlsx xlsm xls ods"),
    ("mozilla/pdf.js", "Apache-2.0", "pdf"),
    ("python-openxml/python-docx", "MIT", "docx"),
    ("scanny/python-pptx", "MIT", "pptx"),
    ("tafia/calamine", "MIT", "xlsx xlsm xls ods"),
    ("jgm/pandoc", "GPL-2.0-or-later", "docx odt epub rtf pptx"),
    ("eea/odfpy", "Apache-2.0", "odt ods"),
    ("IDPF/epub3-samples", "CC-BY-SA-3.0", "epub/"),
    ("w3c/epub-tests", "W3C", "epub/"),
    ("rust-lang/book", "MIT", "md docx"),
    ("chardet/chardet", "LGPL-2.1", "txt html"),
)


def gather_debian(target: Path) -> None:
    """Unpack the documentation packages below ``target``; one that cannot be had is named and left out."""
    for package in DEBIAN_PACKAGES.split():
        folder = target / "debian" / package
        if folder.exists():
            continue
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["apt-get", "download", "-q", package], cwd=scratch, check=False, capture_output=True)
            found = next(Path(scratch).glob("*.deb"), None)
            if found is None:
                print(f"{package}: not to be had", file=sys.stderr)
                continue
            folder.mkdir(parents=True)
            subprocess.run(["dpkg", "-x", str(found), str(folder)], check=True)
        for packed in list(folder.rglob("*.pdf.gz")):
            packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))


def gather_clones(target: Path, clones: Path) -> None:
    """Copy the test files of the repositories that are cloned below ``clones``."""
    for name, _, endings in REPOSITORIES:
        clone, folder = clones / name, target / name
        if folder.exists():
            continue
        if not clone.exists():
            print(f"{name}: no clone at {clone}", file=sys.stderr)
            continue
        paths = _git(clone, "ls-tree", "-r", "--name-only", "-z", "HEAD").decode().split("\0")
        files = _books(clone, paths) if endings == "epub/" else _files(clone, paths, endings.split())
        for path, content in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)


def _git(clone: Path, *arguments: str, given: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", str(clone), *arguments], check=True, capture_output=True, input=given).stdout


def _contents(clone: Path, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Each path with its bytes; those that a partial clone lacks are left out."""
    asked = "".join(f"HEAD:{path}\n" for path in paths if "\n" not in path)
    answers = io.BytesIO(_git(clone, "cat-file", "--batch", given=asked.encode()))
    for path in paths:
        head = answers.readline().split()
        if head[-1:] and head[-1] != b"missing":
            yield path, answers.read(int(head[-1]))
            answers.read(1)


def _files(clone: Path, paths: Sequence[str], endings: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    wanted = [path for path in paths if PurePosixPath(path).suffix.removeprefix(".").lower() in endings]
    return _contents(clone, wanted)


def _books(clone: Path, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Each folder with a ``META-INF/container.xml``, packed as the book that it is."""
    for root in [path.removesuffix("META-INF/container.xml") for path in paths if path.endswith("/container.xml")]:
        book = io.BytesIO()
        with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
            parts = [path for path in paths if path.startswith(root) and path != f"{root}mimetype"]
            for part, content in _contents(clone, parts):
                packed.writestr(part.removeprefix(root), content)
        yield f"{root.rstrip('/')}.epub", book.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clones", type=Path)
    chosen = parser.parse_args()
    target = chosen.folder.absolute()
    gather_debian(target)
    if chosen.clones is not None:
        gather_clones(target, chosen.clones)
    print(sum(is_readable(path) for path in target.rglob("*")), "files to read in", target)


if __name__ == "__main__":
    main()
