"""Keeps a store sound: finishes what a crash cut off, mends the index, erases without a trace."""

import contextlib
from collections.abc import Callable, Collection

from .catalog import Catalog
from .errors import LibraryBusy, LibraryStorageFailed
from .importing import Importer
from .originals import owner_tag
from .workspace import Workspace

ERASED_AT_ONCE_PASSAGES = 5_000
"""Up to this many passages the index is made anew on each removal; above, `compact` does it."""


class Upkeep:
    """Work on a whole store; all but `mend` only inside the workspace's `writing`."""

    def __init__(self, workspace: Workspace, importer: Importer) -> None:
        self._workspace = workspace
        self._importer = importer

    def mend(self) -> None:
        """Finish what a killed writer left, wherever that is needed; a writer that is still at work is left alone."""
        with self._workspace.reading() as catalog:
            if not (self._workspace.was_cut_off() or self.needs_recovery(catalog)):
                return
        if self._workspace.is_read_only:
            raise LibraryStorageFailed(self._workspace.store, "its index has to be made anew, and it may only be read")
        with contextlib.suppress(LibraryBusy), self._workspace.writing(wait_seconds=0) as catalog:
            self.recover(catalog)

    def recover(self, catalog: Catalog) -> None:
        """Finish index work, mend an index that is missing or damaged, and drop originals nobody refers to."""
        for owner_id in catalog.owners():
            if not self.is_sound(catalog, owner_id):
                self._importer.rebuild(catalog, owner_id)
        self._importer.catch_up(catalog)
        for owner_id in catalog.purges():
            if catalog.counts(owner_id)[1] <= ERASED_AT_ONCE_PASSAGES:
                self._purge(catalog, owner_id)
        self._drop_strays(catalog)
        self._workspace.settle()

    def needs_recovery(self, catalog: Catalog) -> bool:
        return bool(catalog.index_work()) or not all(self.is_sound(catalog, owner) for owner in catalog.owners())

    def is_sound(self, catalog: Catalog, owner_id: str) -> bool:
        """Whether the owner's index can be read and holds what the records say, or is still to take it over."""
        index = self._workspace.index
        try:
            held = index.count(owner_id)
        except (ValueError, OSError):
            return False
        if not index.exists(owner_id):
            return catalog.counts(owner_id)[1] == 0
        pending = any(owner == owner_id for _, owner, _ in catalog.index_work())
        return pending or held == catalog.counts(owner_id)[1]

    def erase_documents(self, catalog: Catalog, owner_id: str, document_ids: Collection[str]) -> bool:
        """Erase documents everywhere; false when words of them stay in a large index until `compact`."""
        hashes = {one for document_id in document_ids for one in catalog.hashes(owner_id, document_id)}
        with self._workspace.unit_of_work(owner_id) as work:
            for document_id in document_ids:
                work.erase_document(document_id)
            work.plan_purge()
        self._workspace.vectors.forget(owner_id, document_ids)
        for source_content_hash in hashes:
            if not catalog.uses_hash(owner_id, source_content_hash):
                self._workspace.originals.erase(owner_id, source_content_hash)
        if catalog.counts(owner_id)[1] > ERASED_AT_ONCE_PASSAGES:
            self._importer.catch_up(catalog)
            self._workspace.settle()
            return False
        self._purge(catalog, owner_id)
        return self._workspace.settle()

    def erase_owner(self, catalog: Catalog, owner_id: str) -> None:
        """Erase everything of an owner: records, originals, index."""
        hashes = catalog.all_hashes(owner_id)
        with self._workspace.unit_of_work(owner_id) as work:
            work.erase_owner()
        self._workspace.index.erase(owner_id)
        self._workspace.vectors.erase(owner_id)
        for source_content_hash in hashes:
            self._workspace.originals.erase(owner_id, source_content_hash)
        self._workspace.originals.drop_empty(owner_id)
        self._workspace.settle()

    def compact(self, catalog: Catalog, progress: Callable[[int, int], None] | None = None) -> bool:
        """Finish every erasure and give space back; false when another reader keeps the records' log."""
        for owner_id in catalog.purges():
            self._purge(catalog, owner_id, progress)
        self._drop_strays(catalog)
        self._workspace.shrink()
        return self._workspace.settle()

    def _purge(self, catalog: Catalog, owner_id: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Take the words of what was erased or replaced out of an owner's index and vectors."""
        self._importer.rebuild(catalog, owner_id, progress)
        self._workspace.vectors.compact(owner_id)

    def _drop_strays(self, catalog: Catalog) -> None:
        """Remove what no record refers to: of an import cut off before its records, of an erasure after them."""
        owners = catalog.owners()
        known = {owner_tag(owner_id): catalog.all_hashes(owner_id) for owner_id in owners}
        for path in self._workspace.originals.stored():
            if path.name not in known.get(path.parent.parent.name, ()):
                path.unlink(missing_ok=True)
        self._workspace.index.drop_strays(owners)
        self._workspace.vectors.drop_strays({owner_id: catalog.document_ids(owner_id) for owner_id in owners})


__all__ = ["ERASED_AT_ONCE_PASSAGES", "Upkeep"]
