"""The gateway opens its library with the embedder that the settings name."""

import threading
from pathlib import Path

import pytest

from gateway import create_gateway_application
from gateway.settings import GatewaySettings


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """A folder with one English document."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "leave.md").write_text("# Annual leave\n\nEvery employee has thirty days of annual leave per year.\n")
    return folder


@pytest.mark.parametrize(("embedder", "found"), [("offline", 1), ("off", 0)])
async def test_a_question_in_another_language_reaches_the_passage(
    documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: str, found: int
) -> None:
    """With the offline embedder a German question is answered from an English document; without, it is not."""
    from local_library import DomainLibrary, embedder_named

    monkeypatch.setattr("local_library.semantic.second_opinion._LOADING_SECONDS", 20.0)  # on a busy machine, too
    with DomainLibrary.for_folder(documents, store=tmp_path / "store", embedder=embedder_named("offline")) as library:
        library.semantic.embed_missing()
    settings = GatewaySettings.from_environment(
        {"EARPIECE_DOMAIN_LIBRARY_EMBEDDER": embedder}, default_port=0, timeout_seconds=30.0
    )
    application = create_gateway_application(library=documents, store=tmp_path / "store", settings=settings)
    async with application:
        response = await application.runtime.search("Wie viele Urlaubstage habe ich im Jahr?", owner_id="personal")
    assert len(response.results) == found


async def test_a_library_that_the_gateway_opened_is_closed_with_it(documents: Path, tmp_path: Path) -> None:
    """Nothing goes on embedding behind a gateway that has ended; a library of the host's own stays open."""
    from local_library import DomainLibrary

    settings = GatewaySettings(domain_library_embedder="offline")
    async with create_gateway_application(library=documents, store=tmp_path / "store", settings=settings):
        pass
    assert not [thread for thread in threading.enumerate() if thread.name == "earpiece-embedding"]
    with DomainLibrary(tmp_path / "store") as own:
        async with create_gateway_application(library=own, settings=settings):
            pass
        assert own.size() == 1
