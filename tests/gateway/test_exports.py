"""Importing the gateway is cheap: it brings what a host needs and nothing that it does not."""

import json
import subprocess
import sys

import gateway


def loaded_after(code: str) -> set[str]:
    printed = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", printed], capture_output=True, text=True, check=True).stdout
    return set(json.loads(output))


def test_the_package_exports_four_names() -> None:
    """The runtime, the tool, its outcome, and the composition root."""
    assert gateway.__all__ == ["FrontendKnowledgeRuntime", "KnowledgeTool", "ToolOutcome", "create_gateway_application"]
    assert callable(gateway.create_gateway_application)


def test_a_host_that_wants_the_runtime_loads_no_server() -> None:
    """HTTP, the library and every vendor are loaded by whoever uses them."""
    loaded = loaded_after("import gateway; gateway.FrontendKnowledgeRuntime()")
    assert not loaded & {"aiohttp", "uvloop", "local_library", "adapters", "tantivy", "numpy", "rich", "click"}


def test_the_conformance_kit_loads_nothing_of_the_gateway() -> None:
    """Provider authors need the contract alone."""
    loaded = loaded_after("import knowledge_provider.conformance, knowledge_provider.pytest_plugin")
    assert "gateway" not in loaded
