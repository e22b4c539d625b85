"""The command line as a person meets it: real processes, real documents, exit statuses and one clear line on errors."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

ROOT = Path(__file__).resolve().parents[3]
HANDBOOK = ROOT / "examples" / "handbook"
EARPIECE = [sys.executable, "-c", "from gateway.cli import main; main()"]


def earpiece(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*EARPIECE, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **environment},
        check=False,
    )


def complains(finished: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert finished.returncode == 1
    assert "Traceback" not in finished.stderr
    assert len(finished.stderr.strip().splitlines()) == 1
    assert all(part in finished.stderr for part in parts)


def test_the_demo_answers_two_questions_and_honestly_not_the_third() -> None:
    """From a clone to a cited answer: right documents, in two languages, and an honest no."""
    finished = earpiece("demo")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "According to Release handbook" in finished.stdout
    assert "two reviewers" in finished.stdout
    assert "费用报销制度" in finished.stdout
    assert "Release handbook <https://handbook.lanternfish.example/releases>" in finished.stdout
    assert "no_results" in finished.stdout


def test_the_demo_fails_over_documents_that_do_not_answer_it(tmp_path: Path) -> None:
    """The demo's exit status is earned: other documents make it fail."""
    (tmp_path / "gardening.md").write_text("# Gardening\n\nWater the tomatoes in the morning.\n")
    assert earpiece("demo", "--library", str(tmp_path)).returncode == 1


def test_ask_prints_the_answer_and_its_source() -> None:
    """One question, one spoken answer, one source."""
    finished = earpiece("ask", "How long is a release kept for rollback?", "--library", str(HANDBOOK))
    assert finished.returncode == 0, finished.stderr
    assert "fourteen days" in finished.stdout
    assert "Release handbook  <https://handbook.lanternfish.example/releases>" in finished.stdout


def test_a_document_without_a_public_page_is_named_with_its_place() -> None:
    """A path is private: it is no citation, and the person still learns where the answer stands."""
    finished = earpiece("ask", "How long does probation last?", "--library", str(HANDBOOK))
    assert "six months" in finished.stdout
    assert "onboarding.txt" in finished.stdout


def test_an_answer_from_a_document_with_a_link_in_its_title_is_an_answer(tmp_path: Path) -> None:
    """The title is spoken without its link, and the source is named in the same way."""
    (tmp_path / "fees.md").write_text("# Fees https://intranet.example/fees\n\nThe conference fee is forty euros.\n")
    finished = earpiece("ask", "How much is the conference fee?", "--library", str(tmp_path))
    assert finished.returncode == 0, finished.stderr
    assert "forty euros" in finished.stdout.splitlines()[0]
    assert finished.stdout.splitlines()[1].startswith("  Fees intranet.example  ")


def test_ask_takes_the_embedder_that_serve_would_take() -> None:
    """A wrong one is refused instead of being passed over."""
    wrong = {"EARPIECE_DOMAIN_LIBRARY_EMBEDDER": "crystal-ball"}
    finished = earpiece("ask", "Anything?", "--library", str(HANDBOOK), **wrong)  # type: ignore[arg-type]
    complains(finished, "EARPIECE_DOMAIN_LIBRARY_EMBEDDER")


def test_ask_json_is_the_whole_envelope() -> None:
    """Programs get query, status, answer, sources and times."""
    finished = earpiece("ask", "年假有多少天？", "--library", str(HANDBOOK), "--json")
    envelope = json.loads(finished.stdout)
    assert envelope["status"] == "ok"
    assert "十五天" in envelope["answer"]
    assert envelope["sources"][0]["title"] == "年假制度"
    assert envelope["milliseconds"] > 0


def test_ask_says_when_the_documents_are_silent() -> None:
    """Nothing found is not an error of the program, and not a success either."""
    finished = earpiece("ask", "Who won the chess olympiad?", "--library", str(HANDBOOK))
    assert finished.returncode == 3
    assert "nothing" in finished.stdout


def test_an_unknown_path_is_one_clear_line(tmp_path: Path) -> None:
    """The person reads which path and what to do."""
    complains(earpiece("ask", "Anything?", "--library", str(tmp_path / "none")), "none", "--library")


def test_an_empty_folder_is_one_clear_line(tmp_path: Path) -> None:
    """An empty folder is not answered with an empty search."""
    complains(earpiece("ask", "Anything?", "--library", str(tmp_path)), "is empty")


def test_a_file_in_place_of_a_folder_is_one_clear_line() -> None:
    """The person learns that the folder which holds it is wanted."""
    complains(earpiece("ask", "Anything?", "--library", str(ROOT / "README.md")), "not a folder")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("EARPIECE_BUDGET_CHARACTERS", "100"),
        ("EARPIECE_TIMEOUT_SECONDS", "inf"),
        ("EARPIECE_RECONNECT_ATTEMPTS", "-1"),
        ("EARPIECE_DRAIN_SECONDS", "-5"),
        ("EARPIECE_UPSTREAM", "ws://"),
        ("EARPIECE_TOKENS_FILE", str(ROOT / "README.md")),
    ],
)
def test_a_setting_that_would_break_later_is_refused_at_start(variable: str, value: str) -> None:
    """Nobody finds out in a voice turn."""
    finished = earpiece("serve", "--port", "0", **{variable: value})  # type: ignore[arg-type]  # none is called cwd
    complains(finished, "token file" if "TOKENS" in variable else variable)


def test_nonsense_is_answered_with_nothing_found() -> None:
    """What was looked at and not used is no source of the answer, and the status says so."""
    finished = earpiece("ask", "xxxxxxxx", "--library", str(HANDBOOK))
    assert finished.returncode == 3
    assert finished.stdout.strip() == "I found nothing about that in the documents."


def test_an_empty_question_is_one_clear_line() -> None:
    """White space is no question."""
    complains(earpiece("ask", "  ", "--library", str(HANDBOOK)), "question is empty")


def test_a_wrong_setting_names_its_variable() -> None:
    """The variable and what it may be are in the line."""
    complains(earpiece("serve", EARPIECE_TIMEOUT_SECONDS="soon"), "EARPIECE_TIMEOUT_SECONDS", "number")


def test_a_busy_port_is_one_clear_line() -> None:
    """The person learns which port, and that another can be chosen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        complains(earpiece("serve", "--port", port), port, "busy")


def test_a_remote_bind_without_tokens_refuses_to_start() -> None:
    """Nobody is served to the network by accident (design, section 6)."""
    complains(earpiece("serve", "--host", "0.0.0.0", "--port", "0"), "token")


def test_two_providers_at_once_are_refused() -> None:
    """One gateway mounts one provider; the sentence says so."""
    complains(earpiece("serve", "--provider", "http", "--library", str(HANDBOOK)), "one provider")


def test_doctor_fails_when_a_local_folder_shadows_a_package(tmp_path: Path) -> None:
    """A folder called adapters in the working directory is found and named."""
    assert earpiece("doctor", EARPIECE_PORT="0").returncode == 0
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "__init__.py").touch()
    finished = earpiece("doctor", cwd=tmp_path, EARPIECE_PORT="0")
    assert finished.returncode == 1
    assert "same name" in finished.stdout


def test_help_lists_every_command_with_a_sentence() -> None:
    """A newcomer sees what there is."""
    finished = earpiece("--help")
    for command in ("ask", "check", "demo", "doctor", "library", "providers", "serve", "token"):
        assert command in finished.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_closes_on_a_signal(number: signal.Signals) -> None:
    """A supervisor's SIGTERM and a person's Ctrl-C end the gateway with status 0."""
    command = [*EARPIECE, "serve", "--library", str(HANDBOOK), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert "http://127.0.0.1:" in running.stdout.readline()
        running.send_signal(number)
        running.communicate(timeout=20)
        assert running.returncode == 0


async def test_a_session_that_is_open_at_sigterm_is_told_that_the_gateway_goes() -> None:
    """The listener goes first, a session at rest is closed with 1001, and the process ends with status 0."""
    arguments = [*EARPIECE, "serve", "--library", str(HANDBOOK), "--port", "0"]
    async with asyncio.timeout(60):
        running = await asyncio.create_subprocess_exec(*arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
        assert running.stdout is not None
        lines = [(await running.stdout.readline()).decode() for _ in range(2)]
        async with aiohttp.ClientSession() as http, http.ws_connect(lines[1].split()[1]) as socket:
            assert (await socket.receive_json())["type"] == "session.created"
            running.send_signal(signal.SIGTERM)
            while (await socket.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
            assert socket.close_code == aiohttp.WSCloseCode.GOING_AWAY
        assert await running.wait() == 0
