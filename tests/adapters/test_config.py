"""Adapters of objects that a host builds itself are mounted from a config by import path."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters import function, haystack, langchain, llama_index
from knowledge_provider import ProviderContractError
from tests.adapters.asking import context_for, request_for

Make = Callable[..., Any]

HOST = """
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

def search(request, context):
    return [{"id": "1", "content": "for " + context.owner_id}]

def chain():
    return RunnableLambda(lambda query: [Document(page_content="from a chain")])

def index():
    from llama_index.core import SummaryIndex
    from llama_index.core.schema import TextNode
    return SummaryIndex(nodes=[TextNode(text="from an index")])

def retriever():
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from tests.adapters.haystack_targets import in_memory_store
    store = in_memory_store()
    store.write_documents([Document(content="from a store")])
    return InMemoryBM25Retriever(store)

def owner_filter(context):
    return {"field": "meta.owner", "operator": "==", "value": context.owner_id}

def broken():
    raise ValueError("password=hunter2")
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The module of a host, on the path."""
    (tmp_path / "host_of_adapters.py").write_text(HOST)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "host_of_adapters"


@pytest.mark.parametrize(
    ("factory", "target", "expected"),
    [
        (langchain.from_config, "chain", "from a chain"),
        (llama_index.from_config, "index", "from an index"),
        (haystack.from_config, "retriever", "from a store"),
    ],
)
async def test_a_target_is_named_by_its_import_path(factory: Make, target: str, expected: str, host: str) -> None:
    """A function there is called and makes the object; other values are options of the adapter."""
    provider = factory({"key": "mine", "label": "Mine", "target": f"{host}:{target}", "workers": 2})
    found = await provider.retrieve(request_for("from"), context_for())
    assert [result.content for result in found] == [expected]
    await provider.close()


async def test_a_function_is_named_by_its_import_path(host: str) -> None:
    """It is the function itself that is asked, with the trusted context."""
    provider = function.from_config({"key": "mine", "label": "Mine", "function": f"{host}:search"})
    assert await provider.retrieve(request_for(), context_for("ann")) == [{"id": "1", "content": "for ann"}]
    await provider.close()


async def test_owner_filters_are_named_the_same_way(host: str) -> None:
    """The rule that keeps owners apart is the host's code, wherever the rest is configured."""
    config = {"key": "mine", "label": "Mine", "target": f"{host}:retriever", "filters": True}
    provider = haystack.from_config({**config, "owner_filters": f"{host}:owner_filter"})
    assert await provider.retrieve(request_for("from"), context_for()) == []
    await provider.close()


@pytest.mark.parametrize("path", ["host_of_adapters:nothing", "no_such_module_here:x", "host_of_adapters", ":", ""])
def test_a_path_that_leads_nowhere_is_named(path: str, host: str) -> None:
    """What was written, what happened, and how to write it."""
    with pytest.raises(ProviderContractError, match=r"package\.module:name") as caught:
        langchain.from_config({"key": "mine", "label": "Mine", "target": path})
    assert repr(path) in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"unheard": "s3cret"}, "'unheard' is not known"),
        ({"workers": "s3cret"}, "'workers' is wrong"),
        ({"key": "S3cret Key"}, "'key' is wrong"),
        ({"label": ""}, "'label' is wrong"),
        ({"timeout_seconds": 0}, "'timeout_seconds' is wrong"),
    ],
)
def test_every_wrong_key_is_named_and_no_value_shown(wrong: dict[str, Any], said: str, host: str) -> None:
    """A value may be a secret that was pasted into the wrong place."""
    with pytest.raises(ProviderContractError, match=said) as caught:
        langchain.from_config({"key": "mine", "label": "Mine", "target": f"{host}:chain", **wrong})
    assert "s3cret" not in str(caught.value).lower()
