"""What was found becomes the response to a search: cited, framed as data, and typed where it is empty."""

from knowledge_provider import KnowledgeResponse, RetrievalRequest

from .citations import TurnCitations
from .normalization import NormalizedResults
from .projection import NOTICE


def cited_response(request: RetrievalRequest, found: NormalizedResults, citations: TurnCitations) -> KnowledgeResponse:
    """Return the response; ``citations`` counts on in its turn."""
    if not found.results:
        return KnowledgeResponse(status="no_results", query=request.query, more=found.more, partial=found.partial)
    cited, pages = citations.cite(found.results, found.truncated_ids)
    return KnowledgeResponse(
        status="ok",
        query=request.query,
        results=cited,
        citations=pages,
        truncated=bool(found.truncated_ids),
        more=found.more,
        notice=NOTICE,
        partial=found.partial,
    )


__all__ = ["cited_response"]
