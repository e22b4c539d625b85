"""The snippets of the hosts page use what there is."""

import ast
import importlib
import re
import textwrap
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "hosts.md").read_text()
SNIPPETS = [textwrap.dedent(code) for code in re.findall(r"```python\n(.*?)```", PAGE, re.S)]


@pytest.mark.filterwarnings("ignore:'audioop' is deprecated:DeprecationWarning")
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda code: code.splitlines()[0])
def test_a_snippet_is_python_and_imports_what_exists(snippet: str) -> None:
    """A name that was renamed must not live on in the handbook."""
    imports = [node for node in ast.walk(ast.parse(snippet)) if isinstance(node, ast.ImportFrom)]
    for node in imports:
        module = importlib.import_module(node.module or "")
        assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_each_host_has_a_snippet_an_install_line_and_an_example() -> None:
    """Ten lines, the command, and a script that runs."""
    assert len(SNIPPETS) == 6
    assert all(len(snippet.strip().splitlines()) <= 11 for snippet in SNIPPETS)
    assert PAGE.count("pip install ") == 5
