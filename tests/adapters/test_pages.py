"""The pages of the adapters say what the code does: every option, every translated error, code that parses."""

import ast
import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSTRUCTORS = {
    "composite": "CompositeProvider",
    "dify": "dify_provider",
    "function": "FunctionProvider",
    "haystack": "HaystackProvider",
    "http_service": "HttpProvider",
    "langchain": "LangChainProvider",
    "llama_index": "LlamaIndexProvider",
    "mcp": "McpProvider",
    "openai_file_search": "OpenAIFileSearchProvider",
    "ragflow": "RAGFlowProvider",
}
EVERYWHERE = {"key", "label", "options", "url", "target", "client", "function", "base_url", "api_key"}


def page(name: str) -> str:
    return (ROOT / "docs" / "adapters" / f"{name}.md").read_text()


@pytest.mark.parametrize(("module", "constructor"), CONSTRUCTORS.items())
def test_a_page_names_every_option(module: str, constructor: str) -> None:
    """An option that is not on the page cannot be found, and one that is gone misleads."""
    made: Callable[..., Any] = getattr(importlib.import_module(f"adapters.{module}"), constructor)
    options = set(inspect.signature(made).parameters) - EVERYWHERE
    assert {option for option in options if f"`{option}`" not in page(module)} == set()


@pytest.mark.parametrize("module", CONSTRUCTORS)
def test_a_page_has_every_error_of_the_adapters_table_beside_its_code(module: str) -> None:
    """The table a reader sees is the table that is used."""
    code = importlib.import_module(f"adapters.{module}")
    table: dict[Any, Any] = next(
        (getattr(code, name) for name in ("ERRORS", "CODES", "ERROR_CODES") if hasattr(code, name)), {}
    )
    rows = [line for line in page(module).splitlines() if line.startswith("|")]
    for name, error in table.items():
        found = [row for row in rows if f"`{name}`" in row and f"`{error('x').code}`" in row]
        assert found, (name, error("x").code)


@pytest.mark.parametrize("module", CONSTRUCTORS)
def test_the_code_of_a_page_parses_and_uses_options_that_exist(module: str) -> None:
    """What a reader copies is Python, with this adapter's own names."""
    (block,) = re.findall(r"```python\n(.*?)```", page(module), flags=re.DOTALL)
    tree = ast.parse(block)
    constructor = CONSTRUCTORS[module]
    made = getattr(importlib.import_module(f"adapters.{module}"), constructor)
    (call,) = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == constructor]
    positional = [object()] * len(call.args)
    inspect.signature(made).bind(*positional, **{str(keyword.arg): object() for keyword in call.keywords})


def test_the_overview_has_a_row_for_every_adapter_and_its_links_lead_somewhere() -> None:
    """One table, one line of code each, and what each cannot do."""
    text = (ROOT / "docs" / "adapters.md").read_text()
    links = re.findall(r"\]\((adapters/[a-z_]+\.md)\)", text)
    assert {Path(link).stem for link in links} == set(CONSTRUCTORS)
    assert all((ROOT / "docs" / link).is_file() for link in links)
    assert all(f"`{name}(" in text for name in CONSTRUCTORS.values())
    assert {"adapter"} == {path.stem.split("_")[0] for path in (ROOT / "examples").glob("adapter_*.py")}
