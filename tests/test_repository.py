"""The repository keeps its own promises: exports, imports, the wheel, and documents that run."""

import ast
import importlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.guard

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("knowledge_provider", "gateway", "adapters", "local_library", "knowledge_service")
VENDORS = {
    "langchain_core",
    "llama_index",
    "haystack",
    "openai",
    "mcp",
    "httpx2",
    "httpx",
    "agents",
    "pipecat",
    "livekit",
}


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def files_of_packages() -> set[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *PACKAGES]
    listing = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return {name for name in listing.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_typed(package: str) -> None:
    """Type checkers of users read our annotations only beside a marker file."""
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_exports_equal_all(package: str) -> None:
    """What a package imports for its users is what ``__all__`` lists, no more and no less."""
    tree = ast.parse((ROOT / package / "__init__.py").read_text())
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    exported = set(getattr(importlib.import_module(package), "__all__", ()))
    assert imported <= exported
    assert all(hasattr(importlib.import_module(package), name) for name in exported)


@pytest.mark.parametrize("package", ["knowledge_provider", "gateway", "adapters"])
def test_importing_a_package_loads_no_vendor(package: str) -> None:
    """A host that mounts its own provider pays for no retrieval library (design, section 1)."""
    code = f"import sys, json, {package}; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {name.partition(".")[0] for name in json.loads(output.stdout)}
    assert not loaded & (VENDORS | {"local_library", "knowledge_service", "tantivy", "numpy"})


def test_the_wheel_holds_the_packages_and_nothing_else(tmp_path: Path) -> None:
    """Users get five packages with their typing markers and the page; no tests, examples or caches."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert {name for name in names if ".dist-info/" not in name} == files_of_packages()
    assert {"gateway/web/index.html", *(f"{package}/py.typed" for package in PACKAGES)} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".orig", ".rej"))]


def test_the_readme_shows_the_quickstart_as_it_is() -> None:
    """The first code a newcomer reads is a file that the tests run."""
    readme = (ROOT / "README.md").read_text()
    code = (ROOT / "examples" / "quickstart.py").read_text()
    shown = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert code.split('"""\n\n', 1)[1] in shown


def test_no_document_names_a_registry_or_a_machine_path() -> None:
    """What is committed must serve on every machine."""
    listing = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT)
    files = listing.stdout.split("\n")
    pattern = re.compile(
        r"(?<![\w.])/(?:work|farm|root)/[a-z]|--(?:extra-)?index-url\s+https?:|\"resolved\":\s*\"https?:"
    )
    texts = [ROOT / name for name in files if name and name != "tests/test_repository.py" and (ROOT / name).is_file()]
    guilty = [str(path) for path in texts if pattern.search(path.read_text(encoding="utf-8", errors="ignore"))]
    assert guilty == []
