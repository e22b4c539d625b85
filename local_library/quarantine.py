"""Files that could not be imported: listed with their reason until they are read, dismissed, or gone."""

from collections.abc import Iterable

from .catalog import Catalog
from .errors import DocumentNotFound, DocumentRejected
from .records import ImportOutcome, ImportStatus, QuarantinedFile
from .workspace import Workspace


class Quarantine:
    """What could not be imported, of every owner; a caller sees and changes only one owner's."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def files(self, owner_id: str) -> tuple[QuarantinedFile, ...]:
        with self._workspace.reading() as catalog:
            return tuple(catalog.quarantined(owner_id))

    def file(self, owner_id: str, file: str) -> QuarantinedFile:
        """One by its id or path. Raises `DocumentNotFound`."""
        found = next((one for one in self.files(owner_id) if file in (one.document_id, one.path)), None)
        if found is None:
            raise DocumentNotFound(file)
        return found

    def keep(self, owner_id: str, path: str, error: DocumentRejected) -> None:
        """Put a file here, or renew its reason."""
        with self._workspace.writing(), self._workspace.unit_of_work(owner_id) as work:
            work.quarantine(path, error.reason_code, str(error))

    def release(self, owner_id: str, paths: Iterable[str]) -> None:
        """Forget these files; they are not touched."""
        with self._workspace.writing(), self._workspace.unit_of_work(owner_id) as work:
            for path in paths:
                work.release(path)

    def settle(self, catalog: Catalog, owner_id: str, outcomes: Iterable[ImportOutcome]) -> None:
        """Release what an import found to be as it was when it could be read; only inside `writing`."""
        waiting = {one.path for one in catalog.quarantined(owner_id)}
        readable = waiting and {one.path for one in outcomes if one.status is ImportStatus.UNCHANGED}
        if waiting & readable:
            self.release(owner_id, waiting & readable)


__all__ = ["Quarantine"]
