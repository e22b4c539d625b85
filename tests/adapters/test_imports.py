"""An adapter costs nothing until it is built, and says what it needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (ROOT / "adapters").glob("[!_]*.py"))
VENDORS = {"langchain_core", "langsmith", "llama_index", "haystack", "openai", "mcp", "httpx2", "httpx", "numpy"}


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=60).stdout


@pytest.mark.parametrize("module", MODULES)
def test_importing_an_adapter_loads_no_vendor_and_no_other_adapter(module: str) -> None:
    """The gateway may list and load what is installed without paying for it."""
    loaded = json.loads(run(f"import sys, json, adapters.{module}; print(json.dumps(list(sys.modules)))"))
    assert not {name.partition(".")[0] for name in loaded} & VENDORS
    own = {name.removeprefix("adapters.") for name in loaded if name.startswith("adapters.") and "._" not in name}
    assert own <= ({module, "http_service"} if module == "dify" else {module})


@pytest.mark.parametrize(
    ("vendor", "code", "command"),
    [
        (
            "httpx2",
            "from adapters.http_service import HttpProvider; HttpProvider('http://x.example', key='a', label='A')",
            "HttpProvider needs the 'httpx2' package: pip install 'earpiece[http]'",
        ),
        (
            "httpx2",
            "from adapters.ragflow import RAGFlowProvider as R; R('http://x.example', 'k', ['d'], key='a', label='A')",
            "RAGFlowProvider needs the 'httpx2' package: pip install 'earpiece[ragflow]'",
        ),
        (
            "mcp",
            "from adapters.mcp import McpProvider; McpProvider('http://x.example', 'search', key='a', label='A')",
            "McpProvider needs the 'mcp' package: pip install 'earpiece[mcp]'",
        ),
        (
            "openai",
            "from adapters.openai_file_search import from_config as f; "
            "f({'key': 'a', 'label': 'A', 'vector_stores': ['v']})",
            "OpenAIFileSearchProvider needs the 'openai' package: pip install 'earpiece[openai]'",
        ),
    ],
)
def test_a_missing_package_is_answered_with_the_exact_command(vendor: str, code: str, command: str) -> None:
    """The sentence can be pasted into a terminal."""
    script = f"""
import sys
sys.modules[{vendor!r}] = None
try:
    exec({code!r})
except ImportError as error:
    print(error)
"""
    assert run(script).strip() == command


@pytest.mark.parametrize("module", MODULES)
def test_building_an_adapter_opens_no_connection(module: str) -> None:
    """At composition nothing is reached for: a gateway starts while its systems are down."""
    code = {
        "function": "from adapters.function import FunctionProvider as P; P(print, key='a', label='A')",
        "http_service": "from adapters.http_service import HttpProvider as P; "
        "P('http://127.0.0.1:9', key='a', label='A')",
        "dify": "from adapters.dify import dify_provider as p; "
        "p('http://127.0.0.1:9', 'k', key='a', label='A', api_key='k')",
        "ragflow": "from adapters.ragflow import RAGFlowProvider as P; "
        "P('http://127.0.0.1:9', 'k', ['d'], key='a', label='A')",
        "mcp": "from adapters.mcp import McpProvider as P; P('http://127.0.0.1:9', 'search', key='a', label='A')",
        "openai_file_search": "import openai; from adapters.openai_file_search import OpenAIFileSearchProvider as P; "
        "P(openai.AsyncOpenAI(api_key='k', base_url='http://127.0.0.1:9'), ['v'], key='a', label='A')",
        "composite": "from adapters.function import FunctionProvider as F; "
        "from adapters.composite import CompositeProvider as P; "
        "P({'a': F(print, key='a', label='A')}, key='a', label='A')",
        "langchain": "from langchain_core.runnables import RunnableLambda as R; "
        "from adapters.langchain import LangChainProvider as P; P(R(str), key='a', label='A')",
        "llama_index": "from llama_index.core import SummaryIndex as S; "
        "from adapters.llama_index import LlamaIndexProvider as P; P(S(nodes=[]), key='a', label='A')",
        "haystack": "from haystack.document_stores.in_memory import InMemoryDocumentStore as S; "
        "from haystack.components.retrievers.in_memory import InMemoryBM25Retriever as R; "
        "from adapters.haystack import HaystackProvider as P; P(R(S()), key='a', label='A')",
    }[module]
    script = f"""
import os, socket
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
def refuse(*arguments, **options):
    raise AssertionError("a connection was opened")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
exec({code!r})
print("built")
"""
    assert run(script).strip() == "built"
