"""Every adapter has an example that runs as it is written, without a network."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = {
    "adapter_composite.py": "Not searched: mailbox. Say that the answer may be incomplete.",
    "adapter_dify.py": "releases.md: Releases require two reviewers. (score 0.98)",
    "adapter_function.py": "bob hears: Bob's train leaves at nine.",
    "adapter_haystack.py": "drafts found: 0",
    "adapter_http.py": "asked: Who reviews a release? for ann",
    "adapter_langchain.py": "Releases: A release needs two reviewers. (score ",
    "adapter_llama_index.py": "Releases: A release needs two reviewers. (score ",
    "adapter_mcp.py": "Releases: ann needs two reviewers for a release.",
    "adapter_openai_file_search.py": "releases.md: Releases require two reviewers. (score 0.91)",
    "adapter_ragflow.py": "releases.pdf, page=3: Releases require two reviewers.",
}


def test_every_adapter_has_an_example_and_a_page() -> None:
    """A new adapter without them fails here."""
    modules = {path.stem for path in (ROOT / "adapters").glob("[!_]*.py")}
    examples = {path.stem.removeprefix("adapter_") for path in (ROOT / "examples").glob("adapter_*.py")}
    pages = {path.stem for path in (ROOT / "docs" / "adapters").glob("*.md")}
    assert {name.replace("http_service", "http") for name in modules} == examples
    assert pages == modules
    assert {path.name for path in (ROOT / "examples").glob("adapter_*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_runs_and_finds_what_it_says(name: str) -> None:
    """Warnings are errors, in the libraries too."""
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / name)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=ROOT, check=False)
    assert finished.returncode == 0, finished.stderr
    assert EXPECTED[name] in finished.stdout
    assert "reviewers" in finished.stdout or name == "adapter_http.py"
