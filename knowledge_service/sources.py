"""What is to be indexed, and where: the declaration of one knowledge source.

The content is one of three kinds, and each kind has keys of its own: a key of one kind on another is refused by name.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AnyHttpUrl, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from .errors import InvalidSource, InvalidWhere
from .where import check_where

SOURCE_ID_PATTERN = r"^[a-z_][a-z0-9_]*$"

Name = Annotated[str, StringConstraints(min_length=1, max_length=120)]
FieldName = Annotated[str, StringConstraints(min_length=1, max_length=120, pattern=r"^[^$*]")]


def _checked_condition(where: dict[str, Any] | None) -> dict[str, Any] | None:
    if where is not None:
        try:
            check_where(where)
        except InvalidWhere as error:
            raise ValueError(str(error)) from error
    return where


def _only_once(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("names something twice")
    return names


class _Declaration(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class ObjectContent(_Declaration):
    """The named fields of every record of one object that meets ``where``; there is no "all fields", which would
    index tokens and hashes as well.

    ``version_field`` names a whole number that grows with every write; with it, an older state never replaces a newer
    one.
    """

    kind: Literal["object"]
    object: Name
    content_fields: Annotated[tuple[FieldName, ...], Field(min_length=1), AfterValidator(_only_once)]
    metadata_fields: Annotated[tuple[FieldName, ...], AfterValidator(_only_once)] = ()
    title_field: FieldName | None = None
    version_field: FieldName | None = None
    where: Annotated[dict[str, Any] | None, AfterValidator(_checked_condition)] = None


class FileContent(_Declaration):
    """Every file under a prefix of the host's file store; ``mime_types`` empty means all."""

    kind: Literal["file"]
    prefix: str
    mime_types: Annotated[tuple[str, ...], AfterValidator(_only_once)] = ()


class HttpContent(_Declaration):
    """The pages at these addresses, and no others."""

    kind: Literal["http"]
    urls: Annotated[tuple[AnyHttpUrl, ...], Field(min_length=1)]
    user_agent: str | None = None


CONTENT_KINDS: dict[str, type[_Declaration]] = {"object": ObjectContent, "file": FileContent, "http": HttpContent}


class Refresh(_Declaration):
    """``on_record_change`` false leaves an object source to an outside indexer: no sync and no reap guard.

    ``cron`` is kept for the host's scheduler; the service itself schedules nothing.
    """

    on_record_change: bool = True
    cron: str | None = Field(default=None, pattern=r"^\S+( \S+){4}$")


class KnowledgeSource(_Declaration):
    """One source: its content, the index adapter that holds it, and who may ask it at all.

    ``audience`` lists grants (``*``, ``role:agent``, ``user:7``, a permission); a caller with none of them does not
    search it. ``ai_exposed`` false hides it from models, also when they name it.
    """

    id: str = Field(pattern=SOURCE_ID_PATTERN, max_length=64)
    label: Name
    description: str = Field(default="", max_length=300)
    version: int = Field(default=1, ge=1)
    adapter: Name
    adapter_config: dict[str, Any] = Field(default_factory=dict)
    source: Annotated[ObjectContent | FileContent | HttpContent, Field(discriminator="kind")]
    refresh: Refresh = Field(default_factory=Refresh)
    ai_exposed: bool = True
    audience: tuple[str, ...] = ("*",)

    def fingerprint(self) -> str:
        """Changes with any key but the version."""
        facts = json.dumps(self.model_dump(mode="json", exclude={"version"}), sort_keys=True)
        return hashlib.sha256(facts.encode()).hexdigest()

    def object_content(self) -> ObjectContent | None:
        return self.source if isinstance(self.source, ObjectContent) else None

    def document_id(self, record_id: str) -> str:
        """The document of a record; the same record always has the same document."""
        return f"{self.id}:{record_id}"

    def record_id(self, document_id: str) -> str | None:
        """The record a document id stands for, or `None` where it is no document of this source."""
        source, separator, record = document_id.partition(":")
        return record if separator and record and source == self.id else None


def source_from(declaration: Mapping[str, Any]) -> KnowledgeSource:
    """A source from plain data. Raises `InvalidSource`, which names the first wrong key and says what to do."""
    try:
        return KnowledgeSource.model_validate(declaration)
    except ValidationError as error:
        raise InvalidSource(str(declaration.get("id", "?")), _problem(declaration, error)) from error


def sources_from(declarations: Iterable[Mapping[str, Any]]) -> list[KnowledgeSource]:
    """Several sources; two of one id are refused. Raises `InvalidSource`."""
    found: dict[str, KnowledgeSource] = {}
    for declaration in declarations:
        source = source_from(declaration)
        if source.id in found:
            raise InvalidSource(source.id, "is declared twice. Give each source an id of its own.")
        found[source.id] = source
    return list(found.values())


def _problem(declaration: Mapping[str, Any], error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = [str(part) for part in first["loc"]]
    key = place[-1] if place else "?"
    content = declaration.get("source")
    kind = str(content.get("kind")) if isinstance(content, Mapping) else ""
    if first["type"] == "extra_forbidden":
        if place[0] == "source":
            return _foreign_key(key, kind)
        return f"has no key {key!r}. Known: {_known(KnowledgeSource)}."
    if first["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return f"'source.kind' must be one of {', '.join(map(repr, CONTENT_KINDS))}."
    return f"{'.'.join(part for part in place if part != kind)!r} is wrong: {first['msg']}."


def _foreign_key(key: str, kind: str) -> str:
    owners = [name for name, model in CONTENT_KINDS.items() if name != kind and key in _keys(model)]
    if owners:
        return f"{key!r} is a key of kind {owners[0]!r}, not of kind {kind!r}. Remove it or change the kind."
    return f"kind {kind!r} has no key {key!r}. Known: {_known(CONTENT_KINDS[kind])}."


def _keys(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields) | {to_camel(name) for name in model.model_fields}


def _known(model: type[BaseModel]) -> str:
    return ", ".join(to_camel(name) for name in model.model_fields)


__all__ = [
    "FileContent",
    "HttpContent",
    "KnowledgeSource",
    "ObjectContent",
    "Refresh",
    "source_from",
    "sources_from",
]
