"""The diagnosis says which model is meant and whether it can be reached."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

from gateway.cli.doctor import doctor


@pytest.fixture
def model_port() -> Iterator[int]:
    """Something on loopback that speaks HTTP, as a model's address does before the websocket is opened."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join(5)


def diagnosed(**environment: str) -> tuple[int, str]:
    variables = {"COLUMNS": "400", "EARPIECE_PORT": "0", "EARPIECE_UPSTREAM_KEY": "", "OPENAI_API_KEY": ""}
    finished = CliRunner().invoke(doctor, env={**variables, **environment})
    return finished.exit_code, finished.stdout


def test_a_model_that_answers_is_reachable(model_port: int) -> None:
    """Whatever it answers: that somebody is there is all that is asked."""
    status, said = diagnosed(EARPIECE_UPSTREAM=f"ws://127.0.0.1:{model_port}/v1/realtime")
    assert status == 0
    assert f"ws://127.0.0.1:{model_port}/v1/realtime is reachable" in said


def test_a_model_that_is_not_there_is_wrong() -> None:
    """Found before the first user finds it."""
    with socket.socket() as bound_and_deaf:
        bound_and_deaf.bind(("127.0.0.1", 0))
        port = bound_and_deaf.getsockname()[1]
        status, said = diagnosed(EARPIECE_UPSTREAM=f"ws://127.0.0.1:{port}/v1/realtime")
    assert status == 1
    assert "cannot be reached from here" in said


def test_a_model_elsewhere_without_a_key_is_wrong() -> None:
    """Nothing is sent there to find out."""
    status, said = diagnosed(EARPIECE_UPSTREAM="wss://model.invalid/v1/realtime")
    assert status == 1
    assert "set EARPIECE_UPSTREAM_KEY" in said


def test_without_settings_the_embedded_model_and_no_library_are_named() -> None:
    """What is configured is said also where nothing is."""
    status, said = diagnosed()
    assert status == 0
    assert "the embedded model; set EARPIECE_UPSTREAM" in said
    assert "off; set EARPIECE_DOMAIN_LIBRARY=on" in said


def test_a_wrong_setting_is_one_finding() -> None:
    """The diagnosis of broken settings does not break over them."""
    status, said = diagnosed(EARPIECE_TIMEOUT_SECONDS="soon")
    assert status == 1
    assert "EARPIECE_TIMEOUT_SECONDS" in said


def test_an_embedder_that_is_set_and_not_installed_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway would not start with it; the exact command is in the finding."""

    def missing(package: str) -> NoReturn:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("local_library.semantic.sentence_encoder.version", missing)
    assert diagnosed(EARPIECE_DOMAIN_LIBRARY_EMBEDDER="off")[0] == 0
    status, said = diagnosed(EARPIECE_DOMAIN_LIBRARY_EMBEDDER="offline")
    finding = next(line for line in said.splitlines() if "embedder" in line)
    assert (status, "wrong" in finding, 'pip install "earpiece[semantic]"' in finding) == (1, True, True)


def test_the_browser_of_the_desktop_window_is_named(tmp_path: Path) -> None:
    """Or which ones would do, where there is none."""
    chromium = tmp_path / "chromium"
    chromium.write_text("#!/bin/sh\n")
    chromium.chmod(0o755)
    assert f"{chromium} (earpiece desktop)" in diagnosed(PATH=str(tmp_path))[1]
    assert "earpiece desktop needs Chromium, Chrome, Edge or Brave" in diagnosed(PATH="")[1]
