"""Sources written down in YAML: a list of declarations, or a mapping with a ``sources`` list."""

from pathlib import Path
from typing import Any

import yaml

from .errors import InvalidSource
from .sources import KnowledgeSource, sources_from


class _UniqueKeys(yaml.SafeLoader):
    """YAML keeps the last of two equal keys in silence; a declaration with two is a mistake."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise InvalidSource("?", f"line {key_node.start_mark.line + 1} repeats the key {key!r}.")
        seen.add(key)
    return loader.construct_mapping(node, deep)


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def yaml_from(text: str, name: str) -> Any:
    """The plain data of a YAML text. Raises `InvalidSource` with the line where it cannot be read."""
    try:
        return yaml.load(text, _UniqueKeys)  # noqa: S506  (a SafeLoader with one more check)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise InvalidSource(name, f"line {line} is not YAML: {error.problem}.") from error


def load_sources(path: Path) -> list[KnowledgeSource]:
    """The sources of a YAML file. Raises `InvalidSource`; an unreadable file raises its own `OSError`."""
    data = yaml_from(path.read_text(encoding="utf-8"), path.name)
    declared = data.get("sources") if isinstance(data, dict) and "sources" in data else data
    declared = [declared] if isinstance(declared, dict) else declared
    if not isinstance(declared, list) or not all(isinstance(one, dict) for one in declared):
        raise InvalidSource(path.name, "holds no list of sources. Write 'sources:' and a list under it.")
    return sources_from(declared)


__all__ = ["load_sources", "yaml_from"]
