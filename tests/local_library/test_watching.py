"""Folders that are watched: what happens to their files happens to the library."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from knowledge_provider import PERSONAL_OWNER
from local_library import DomainLibrary, ImportOutcome
from local_library.cli import library as commands
from local_library.watching import QUIET_SECONDS, Follower

ROOT = Path(__file__).parents[2]
BOUND_SECONDS = 30


class Watching:
    """A real ``earpiece library import --watch --json``, and the lines it prints."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        async with asyncio.timeout(BOUND_SECONDS):
            line = await self._process.stdout.readline()
        found: dict[str, Any] = json.loads(line)
        return found

    async def happened(self, count: int = 1) -> set[tuple[str, str]]:
        """Status and file name of the next ``count`` lines."""
        lines = [await self.line() for _ in range(count)]
        return {(one["status"], Path(one["path"]).name) for one in lines}

    async def interrupted(self) -> tuple[int, bytes]:
        """The exit status after Ctrl-C, and what was said on standard error."""
        self._process.send_signal(signal.SIGINT)
        async with asyncio.timeout(BOUND_SECONDS):
            _, said = await self._process.communicate()
        return self._process.returncode or 0, said


@asynccontextmanager
async def watching(folder: Path, store: Path, *options: str) -> AsyncIterator[Watching]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from local_library.cli import library; library()"),
        *("--store", str(store), "--json", "import", str(folder), "--watch", *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        yield Watching(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of documents with one note in it."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "boiler.md").write_text("# Boiler\n\nThe boiler is descaled in March.\n")
    return tmp_path / "documents"


async def test_a_watched_folder_and_the_library_stay_alike(folder: Path, tmp_path: Path) -> None:
    """A file that is written, changed, renamed and removed is found, found anew, found elsewhere, and gone."""
    with DomainLibrary(tmp_path / "store") as reader:
        async with watching(folder, tmp_path / "store") as process:
            assert await process.happened() == {("added", "boiler.md")}
            assert await process.line() == {"watching": [str(folder)]}
            kettle = folder / "kettle.md"
            kettle.write_text("# Kettle\n\nPriya repairs the kettle.\n")
            assert await process.happened() == {("added", "kettle.md")}
            assert "Priya" in reader.search("who repairs the kettle")[0].text
            kettle.write_text("# Kettle\n\nOla repairs the kettle.\n")
            assert await process.happened() == {("updated", "kettle.md")}
            assert [one.text for one in reader.search("who repairs the kettle")] == ["Ola repairs the kettle."]
            kettle.rename(folder / "pot.md")
            assert await process.happened(2) == {("removed", "kettle.md"), ("added", "pot.md")}
            assert reader.search("who repairs the kettle")[0].locator.endswith("pot.md#Kettle")
            (folder / "pot.md").unlink()
            assert await process.happened() == {("removed", "pot.md")}
            assert reader.search("who repairs the kettle") == ()
            assert await process.interrupted() == (0, b"")
        assert [Path(one.path).name for one in reader.list()] == ["boiler.md"]
        assert reader.verify() == ()


async def test_what_a_folder_import_leaves_out_is_left_out_while_watching(folder: Path, tmp_path: Path) -> None:
    """Ignored, hidden and unreadable files, build folders and the library's own files are not followed."""
    store = folder / "store"
    async with watching(folder, store, "--ignore", "drafts/*") as process:
        assert await process.happened() == {("added", "boiler.md")}
        assert "watching" in await process.line()
        (folder / ".earpieceignore").write_text("secret.md\n")
        for name in ("drafts/a.md", ".git/b.md", "node_modules/c.md", "secret.md", "picture.png", ".hidden.md"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("Nobody reads this.")
        (folder / "last.md").write_text("# Last\n\nThis one is read.\n")
        assert await process.happened() == {("added", "last.md")}
        assert (await process.interrupted())[0] == 0
    with DomainLibrary(store) as library:
        assert {Path(one.path).name for one in library.list()} == {"boiler.md", "last.md"}


async def test_a_folder_may_come_and_go_as_a_whole(folder: Path, tmp_path: Path) -> None:
    """Moving a folder in or out moves all its documents; a file that cannot be read is quarantined meanwhile."""
    (tmp_path / "away" / "deep").mkdir(parents=True)
    (tmp_path / "away" / "deep" / "kettle.md").write_text("# Kettle\n\nPriya repairs the kettle.\n")
    (tmp_path / "away" / "empty.md").write_text("")
    with DomainLibrary(tmp_path / "store") as reader:
        async with watching(folder, tmp_path / "store") as process:
            await process.happened()
            await process.line()
            (tmp_path / "away").rename(folder / "here")
            assert await process.happened(2) == {("added", "kettle.md"), ("rejected", "empty.md")}
            assert [Path(one.path).name for one in reader.quarantined()] == ["empty.md"]
            (folder / "here").rename(tmp_path / "away")
            assert await process.happened() == {("removed", "kettle.md")}
            (folder / "last.md").write_text("# Last\n\nOnly to know that the step before is over.\n")
            assert await process.happened() == {("added", "last.md")}
            assert reader.quarantined() == ()
            assert reader.search("who repairs the kettle") == ()


def test_a_file_that_is_still_written_is_not_imported_half(library: DomainLibrary, folder: Path) -> None:
    """Only when nobody wrote to it for a while is it read, and then once."""
    seconds = 0.0
    seen: list[ImportOutcome] = []
    follower = Follower(library, [folder], PERSONAL_OWNER, (), seen.append, clock=lambda: seconds)
    path = folder / "long.md"
    path.write_text("# Long\n\nThe first half. ")
    follower.note({path})
    for part in ("The second half. ", "The end.\n"):
        seconds += QUIET_SECONDS
        with path.open("a") as file:
            file.write(part)
        follower.act()
    assert seen == []
    seconds += QUIET_SECONDS * 0.9
    follower.act()
    assert seen == []
    seconds += QUIET_SECONDS * 0.2
    follower.act()
    follower.act()
    assert [(one.status.value, library.show(one.path).version) for one in seen] == [("added", 1)]
    assert "second half. The end." in library.read(str(path)).text


def test_a_file_that_comes_back_is_not_removed(library: DomainLibrary, folder: Path) -> None:
    """Programs that save by deleting and writing again lose no document for a moment."""
    library.import_folder(folder)
    seen: list[ImportOutcome] = []
    follower = Follower(library, [folder], PERSONAL_OWNER, (), seen.append)
    path = folder / "boiler.md"
    text = path.read_text()
    path.unlink()
    follower.note({path})
    path.write_text(text)
    follower.act()
    assert seen == []
    assert len(library.list()) == 1


def test_watching_needs_a_folder(tmp_path: Path) -> None:
    """There is nothing to follow in a single file."""
    (tmp_path / "a.md").write_text("A kettle stands here.")
    result = CliRunner().invoke(commands, ["--store", str(tmp_path / "s"), "import", "--watch", str(tmp_path / "a.md")])
    assert result.exit_code == 2
    assert "Name a folder to watch." in result.stderr
