"""What every adapter says of itself when the gateway is composed."""

from collections.abc import Iterable

from knowledge_provider import PROTOCOL_VERSION, KnowledgeBase, ProviderDescription


def description(
    key: str, label: str, *, filters: bool = False, scores: bool = False, knowledge_bases: Iterable[str] = ()
) -> ProviderDescription:
    """Describe an adapter; raises pydantic's ValidationError when ``key`` or ``label`` break the contract."""
    bases = tuple(KnowledgeBase(id=name, label=name) for name in knowledge_bases)
    return ProviderDescription(
        protocol_version=PROTOCOL_VERSION,
        key=key,
        label=label,
        capabilities={"filters": filters, "scores": scores, "citations": True},
        knowledge_bases=bases or None,
    )


__all__ = ["description"]
