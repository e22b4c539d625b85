"""What is registered with a service right now: index adapters, sources, and the permission rules of sources."""

from .adapter import KnowledgeAdapter
from .caller import ExecutionContext
from .errors import InvalidSource, SourceVersionConflict, UnknownAdapter, UnknownSource
from .events import SourceOutcome
from .readers import PermissionRule
from .search import Asked
from .sources import KnowledgeSource


class Registry:
    """Adapters and sources by id. Nothing here waits, and nothing here touches an index."""

    def __init__(self) -> None:
        self.adapters: dict[str, KnowledgeAdapter] = {}
        self.sources: dict[str, KnowledgeSource] = {}
        self.permissions: dict[str, PermissionRule] = {}

    def adapter(self, adapter_id: str) -> KnowledgeAdapter:
        if adapter_id not in self.adapters:
            raise UnknownAdapter(adapter_id, list(self.adapters))
        return self.adapters[adapter_id]

    def source(self, source_id: str) -> KnowledgeSource:
        if source_id not in self.sources:
            raise UnknownSource(source_id, list(self.sources))
        return self.sources[source_id]

    def put(self, source: KnowledgeSource, permissions: PermissionRule | None) -> bool:
        """Register or replace a source; says whether there was one of its id."""
        registered = self.sources.get(source.id)
        if permissions is not None and source.object_content() is not None:
            raise InvalidSource(
                source.id, "is an object source: its rows are checked, so it takes no permissions rule."
            )
        if registered is not None and registered.fingerprint() != source.fingerprint():
            self._check_replacement(registered, source)
        self.sources[source.id] = source
        self.permissions.pop(source.id, None)
        if permissions is not None:
            self.permissions[source.id] = permissions
        return registered is not None

    def drop(self, source_id: str) -> None:
        del self.sources[source_id]
        self.permissions.pop(source_id, None)

    def on_object(self, object_name: str) -> list[KnowledgeSource]:
        """The sources that project an object and are kept in step with it."""
        contents = ((source, source.object_content()) for _, source in sorted(self.sources.items()))
        return [
            source
            for source, content in contents
            if content is not None and content.object == object_name and source.refresh.on_record_change
        ]

    def asked(
        self, caller: ExecutionContext, source_ids: list[str] | None, *, for_model: bool
    ) -> tuple[list[Asked], list[SourceOutcome]]:
        """The sources that a caller's search goes to, and what is to be said of the others."""
        asked: list[Asked] = []
        others: list[SourceOutcome] = []
        for source_id in dict.fromkeys(self.sources if source_ids is None else source_ids):
            source = self.sources.get(source_id)
            if source is None or not _may_ask(source, caller, for_model=for_model):
                # A source that is not for this caller looks like one that does not exist.
                if source_ids is not None:
                    others.append(
                        SourceOutcome(source_id=source_id, status="skipped", code=UnknownSource.code, complete=False)
                    )
            elif source.adapter not in self.adapters:
                others.append(
                    SourceOutcome(source_id=source_id, status="failed", code=UnknownAdapter.code, complete=False)
                )
            else:
                asked.append((source, self.adapters[source.adapter]))
        return asked, others

    def _check_replacement(self, registered: KnowledgeSource, source: KnowledgeSource) -> None:
        if source.version <= registered.version:
            raise SourceVersionConflict(source.id, registered=registered.version, offered=source.version)
        if self._place(registered) != self._place(source):
            raise InvalidSource(
                source.id,
                f"still has its documents in {registered.adapter!r} as it was declared. "
                "Remove the source, then register it.",
            )

    def _place(self, source: KnowledgeSource) -> tuple[str, str]:
        """Where a source's documents lie, as far as its adapter can say."""
        place_of = getattr(self.adapters.get(source.adapter), "place_of", None)
        return source.adapter, place_of(source) if place_of is not None else ""


def _may_ask(source: KnowledgeSource, caller: ExecutionContext, *, for_model: bool) -> bool:
    if caller.is_anonymous or (for_model and not source.ai_exposed):
        return False
    return caller.is_system or not caller.grants().isdisjoint(source.audience)


__all__ = ["Registry"]
