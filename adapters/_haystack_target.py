"""Where a Haystack target takes a query and where its documents come out, read once from its sockets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_QUERY_NAMES = ("query", "text", "question")


@dataclass(frozen=True, slots=True)
class Place:
    """One input or output: of a component in a pipeline, or of a component alone (``component`` is empty then)."""

    component: str
    name: str


@dataclass(frozen=True, slots=True)
class Target:
    """How to ask. ``filters`` pairs each input for filters with those fixed behind it, which must go on holding."""

    queries: tuple[Place, ...]
    counts: tuple[Place, ...]
    filters: tuple[tuple[Place, tuple[Mapping[str, Any], ...]], ...]
    output: Place
    native: bool

    def arguments(self, query: str, top_k: int, filters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return what ``run`` takes."""
        values: list[tuple[Place, Any]] = [(place, query) for place in self.queries]
        values += [(place, top_k) for place in self.counts]
        if filters:
            values += [(place, {"operator": "AND", "conditions": [*fixed, *filters]}) for place, fixed in self.filters]
        if not self.output.component:
            return {place.name: value for place, value in values}
        arguments: dict[str, dict[str, Any]] = {}
        for place, value in values:
            arguments.setdefault(place.component, {})[place.name] = value
        return {"data": arguments}

    def documents(self, answer: Any) -> Any:
        """Return the documents of an answer, or None where there are none."""
        if self.output.component and isinstance(answer, Mapping):
            answer = answer.get(self.output.component)
        return answer.get(self.output.name) if isinstance(answer, Mapping) else None


def read_target(target: Any, *, query_inputs: Sequence[str], output: str, top_k_inputs: Sequence[str] | None) -> Target:
    """Find the places, or take the host's ("component.socket"); raises TypeError or ValueError saying what to name."""
    inputs, outputs = _sockets(target)
    out = _place(output) if output else _only_output(outputs)
    queries = tuple(map(_place, query_inputs)) or _query_places(inputs, target)
    counts = tuple(Place(out.component, "top_k") for _ in [1] if "top_k" in inputs.get(out.component, {}))
    if top_k_inputs is not None:
        counts = tuple(map(_place, top_k_inputs))
    for place in (*queries, *counts):
        if place.name not in inputs.get(place.component, {}):
            raise ValueError(f"there is no input {place.component + '.' if place.component else ''}{place.name}")
    filters = tuple(
        (Place(name, "filters"), tuple(_fixed_filters(_component(target, name))))
        for name, sockets in inputs.items()
        if "filters" in sockets
    )
    return Target(queries, counts, filters, out, all(_supports_async(part) for part in _components(target)))


def unfiltered(target: Any, filters: Sequence[tuple[Place, Any]]) -> list[str]:
    """Name the components that search a store but take no filters from outside: their documents would slip through."""
    reached = {place.component for place, _ in filters}
    if not is_pipeline(target):
        return [] if reached else [type(target).__name__]
    return [name for name, part in _walk(target) if name not in reached and any(_searchers(part))]


def is_pipeline(target: Any) -> bool:
    return hasattr(target, "get_component") and hasattr(target, "run")


def _sockets(target: Any) -> tuple[dict[str, Mapping[str, bool]], dict[str, list[str]]]:
    """Inputs (socket name -> whether it must be given) and outputs, by component; "" for a component alone."""
    if is_pipeline(target):
        inputs: dict[str, Mapping[str, bool]] = {
            name: {socket: bool(facts["is_mandatory"]) for socket, facts in sockets.items()}
            for name, sockets in target.inputs().items()
        }
        return inputs, {name: list(sockets) for name, sockets in target.outputs().items()}
    if not hasattr(target, "__haystack_input__"):
        raise TypeError(f"HaystackProvider needs a component or a pipeline, not {type(target).__name__}")
    found = target.__haystack_input__._sockets_dict
    return {"": {n: s.is_mandatory for n, s in found.items()}}, {"": list(target.__haystack_output__._sockets_dict)}


def _only_output(outputs: Mapping[str, Sequence[str]]) -> Place:
    places = [Place(name, "documents") for name, sockets in outputs.items() if "documents" in sockets]
    if len(places) != 1:
        names = ", ".join(f"{place.component}.documents" for place in places) or "none"
        raise ValueError(f"name the output that has the documents, as output='component.documents'; found {names}")
    return places[0]


def _query_places(inputs: Mapping[str, Mapping[str, bool]], target: Any) -> tuple[Place, ...]:
    places = tuple(
        Place(name, socket)
        for name, sockets in inputs.items()
        for socket, mandatory in sockets.items()
        if socket in _QUERY_NAMES and (mandatory or not is_pipeline(target))
    )
    if any("query_embedding" in sockets and sockets["query_embedding"] for sockets in inputs.values()):
        raise ValueError(
            "an embedding retriever takes no text: wrap it, TextEmbeddingRetriever(retriever=, text_embedder=)"
        )
    if not places:
        raise ValueError("name the inputs that take the question, as query_inputs=['component.query']")
    return places


def _place(path: str) -> Place:
    component, _, name = path.rpartition(".")
    return Place(component, name)


def _component(target: Any, name: str) -> Any:
    return target.get_component(name) if name else target


def _walk(pipeline: Any) -> Iterator[tuple[str, Any]]:
    for name in pipeline.graph.nodes:
        yield name, pipeline.get_component(name)


def _components(target: Any) -> Iterator[Any]:
    """Every component, also those inside super components and wrappers."""
    pipeline = target if is_pipeline(target) else getattr(target, "pipeline", None)
    if pipeline is not None and is_pipeline(pipeline):
        for _, part in _walk(pipeline):
            yield from _components(part)
        return
    yield target
    for wrapped in (getattr(target, "retriever", None), getattr(target, "text_embedder", None)):
        if hasattr(wrapped, "__haystack_input__"):
            yield from _components(wrapped)


def _searchers(target: Any) -> Iterator[Any]:
    return (part for part in _components(target) if getattr(part, "document_store", None) is not None)


def _fixed_filters(target: Any) -> Iterator[Mapping[str, Any]]:
    """Filters set when a retriever was built; by default a filter given later replaces them."""
    return (part.filters for part in _searchers(target) if getattr(part, "filters", None))


def _supports_async(component: Any) -> bool:
    return bool(getattr(component, "__haystack_supports_async__", False))


__all__ = ["Place", "Target", "is_pipeline", "read_target", "unfiltered"]
