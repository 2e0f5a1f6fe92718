"""Rows of versions: finding, inserting and tagging them inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.core.formatting import format_count
from neuro_divergent.core.storage import strict_json
from neuro_divergent.lifecycle.dependency import load_sqlalchemy
from neuro_divergent.lifecycle.registry.address import CHAMPION, Address
from neuro_divergent.lifecycle.registry.blobs import Blobs
from neuro_divergent.lifecycle.registry.model_version import ModelVersion
from neuro_divergent.lifecycle.registry.semantic_version import FIRST, SemanticVersion, Signature, next_version
from neuro_divergent.lifecycle.registry.tables import ALIASES, MODELS, TAGS, VERSIONS

if TYPE_CHECKING:
    import sqlalchemy as sa
else:
    sa = load_sqlalchemy()

# Statements are made once: to construct one takes longer than to run it.
_NEW_MODEL = sa.text(
    "INSERT INTO registry_models (name, last, revision, created) VALUES (:name, 0, 0, :now) "
    "ON CONFLICT (name) DO NOTHING"
)
_MODEL = sa.select(MODELS).where(MODELS.c.name == sa.bindparam("model_name"))
_LOCKED_MODEL = _MODEL.with_for_update()
_OF_MODEL = VERSIONS.c.model == sa.bindparam("model_id")
_FOUND = sa.select(VERSIONS.c.number, VERSIONS.c.archived).where(_OF_MODEL)
_BY_DIGEST = _FOUND.where(VERSIONS.c.digest == sa.bindparam("sought"))
_BY_NUMBER = _FOUND.where(VERSIONS.c.number == sa.bindparam("sought"))
_BY_VERSION = _FOUND.where(
    VERSIONS.c.major == sa.bindparam("sought_major"),
    VERSIONS.c.minor == sa.bindparam("sought_minor"),
    VERSIONS.c.patch == sa.bindparam("sought_patch"),
)
_BY_ALIAS = _FOUND.join(
    ALIASES, sa.and_(ALIASES.c.model == VERSIONS.c.model, ALIASES.c.number == VERSIONS.c.number)
).where(ALIASES.c.alias == sa.bindparam("sought"))
_NEWEST = _FOUND.where(sa.not_(VERSIONS.c.archived)).order_by(VERSIONS.c.number.desc()).limit(1)
_COUNTED = (
    sa.update(MODELS)
    .where(MODELS.c.id == sa.bindparam("model_id"))
    .values(last=MODELS.c.last + 1)
    .returning(MODELS.c.last)
)
_ALL = sa.select(MODELS.c.name, VERSIONS).join(MODELS, MODELS.c.id == VERSIONS.c.model)
_ONE = _ALL.where(_OF_MODEL, VERSIONS.c.number == sa.bindparam("sought"))
_TAGS_OF_ONE = sa.select(TAGS).where(TAGS.c.model == sa.bindparam("model_id"), TAGS.c.number == sa.bindparam("sought"))
_ALIASES_OF_ONE = sa.select(ALIASES).where(
    ALIASES.c.model == sa.bindparam("model_id"), ALIASES.c.number == sa.bindparam("sought")
)
_INSERT = sa.insert(VERSIONS)
_RECORD = ("kind", "run", "config", "interface", "data", "code", "environment", "scores", "gate", "privacy", "formats")


@dataclass(frozen=True)
class Candidate:
    """A version that is about to be inserted; its files are stored already.

    Attributes:
        name: Name of the model.
        digest: Of its files.
        evidence: Digest of the files of its run, if there are any.
        signature: What decides about its semantic version.
        record: Everything that is only read, as JSON.
        parent: Number of the parent; ``None`` for the present champion.
        tags: Text by name.
    """

    name: str
    digest: str
    evidence: str | None
    signature: Signature
    record: str
    parent: int | None
    tags: Mapping[str, str]


def now() -> str:
    """Return the present time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def find_model(connection: sa.Connection, name: str, *, lock: bool = False) -> Any:
    """Return the row of a model; if locked, no other transaction changes it before this one ends.

    Raises:
        InputError: If there is no such model.
    """
    row = connection.execute(_LOCKED_MODEL if lock else _MODEL, {"model_name": name}).one_or_none()
    if row is None:
        names = list(connection.scalars(sa.select(MODELS.c.name).where(MODELS.c.last > 0).order_by(MODELS.c.name)))
        raise InputError(f"There is no model {name!r} in the registry.{did_you_mean(name, names)}")
    return row


def insert_version(connection: sa.Connection, candidate: Candidate) -> tuple[int, int]:
    """Insert a version and return the id of its model and its number; files that are there keep their version.

    Raises:
        InputError: If the parent is not a version of the model.
    """
    named = {"model_name": candidate.name}
    model = connection.execute(_LOCKED_MODEL, named).one_or_none()
    if model is None:
        connection.execute(_NEW_MODEL, {"name": candidate.name, "now": now()})
        model = connection.execute(_LOCKED_MODEL, named).one()
    same = connection.execute(_BY_DIGEST, {"model_id": model.id, "sought": candidate.digest}).one_or_none()
    if same is not None:
        return model.id, same.number
    values = {
        **_next_version(connection, model, candidate.signature)._asdict(),
        "model": model.id,
        "digest": candidate.digest,
        "evidence": candidate.evidence,
        "interface": candidate.signature.interface,
        "recipe": candidate.signature.recipe,
        "parent": _parent(connection, model, candidate),
        "created": now(),
        "archived": False,
        "record": candidate.record,
    }
    number = int(connection.execute(_COUNTED, {"model_id": model.id}).scalar_one())
    connection.execute(_INSERT, {**values, "number": number})
    write_tags(connection, model.id, number, candidate.tags)
    return model.id, number


def find_version(connection: sa.Connection, model: Any, address: Address) -> Any:
    """Return the number of the version of a model that an address names, and whether it is archived.

    Raises:
        InputError: If there is none; the message says what there is.
    """
    values = {"model_id": model.id}
    if address.alias is not None:
        query, values = _BY_ALIAS, {**values, "sought": address.alias}
    elif address.number is not None:
        query, values = _BY_NUMBER, {**values, "sought": address.number}
    elif address.version is not None:
        major, minor, patch = address.version
        query, values = _BY_VERSION, {**values, "sought_major": major, "sought_minor": minor, "sought_patch": patch}
    else:
        query = _NEWEST
    row = connection.execute(query, values).one_or_none()
    if row is None:
        raise InputError(f"{address}: there is no such version; {_present(connection, model)}.")
    return row


def read_version(connection: sa.Connection, blobs: Blobs, model: int, number: int) -> ModelVersion:
    """Return one version, which is there."""
    place = {"model_id": model, "sought": number}
    row = connection.execute(_ONE, place).one()
    return _versions([row], connection.execute(_TAGS_OF_ONE, place), connection.execute(_ALIASES_OF_ONE, place), blobs)[
        0
    ]


def read_versions(connection: sa.Connection, blobs: Blobs, *conditions: Any) -> list[ModelVersion]:
    """Return the versions that meet some conditions, by name and number."""
    rows = connection.execute(_ALL.where(*conditions).order_by(MODELS.c.name, VERSIONS.c.number)).all()
    return _versions(rows, connection.execute(sa.select(TAGS)), connection.execute(sa.select(ALIASES)), blobs)


def write_tags(connection: sa.Connection, model: int, number: int, tags: Mapping[str, str | None]) -> None:
    """Set tags of a version; ``None`` removes one."""
    if not tags:
        return
    mine = sa.and_(TAGS.c.model == model, TAGS.c.number == number)
    connection.execute(sa.delete(TAGS).where(mine, TAGS.c.key.in_(list(tags))))
    rows = [
        {"model": model, "number": number, "key": key, "value": value}
        for key, value in tags.items()
        if value is not None
    ]
    if rows:
        connection.execute(sa.insert(TAGS), rows)


def _parent(connection: sa.Connection, model: Any, candidate: Candidate) -> int | None:
    if candidate.parent is None:
        champion = connection.execute(_BY_ALIAS, {"model_id": model.id, "sought": CHAMPION}).one_or_none()
        return None if champion is None else int(champion.number)
    if not 1 <= candidate.parent <= model.last:
        raise InputError(f"parent: {model.name} has no version v{candidate.parent}; {_present(connection, model)}.")
    return candidate.parent


def _next_version(connection: sa.Connection, model: Any, signature: Signature) -> SemanticVersion:
    newest = connection.execute(_ONE, {"model_id": model.id, "sought": model.last}).one_or_none()
    if newest is None:
        return FIRST
    formats = strict_json.loads(newest.record, "record").get("formats", {})
    before = Signature(newest.interface, newest.recipe, formats)
    return next_version(SemanticVersion(newest.major, newest.minor, newest.patch), before, signature)


def _present(connection: sa.Connection, model: Any) -> str:
    """Return what there is of a model, in words."""
    query = sa.select(ALIASES.c.alias).where(ALIASES.c.model == model.id).order_by(ALIASES.c.alias)
    aliases = ", ".join(connection.scalars(query))
    named = f"the aliases {aliases}" if aliases else "no aliases"
    return f"{model.name} has {format_count(model.last, 'version')} and {named}"


def _versions(rows: Iterable[Any], tags: Iterable[Any], aliases: Iterable[Any], blobs: Blobs) -> list[ModelVersion]:
    """Return versions from their rows and those of tags and aliases, of which there can be others too."""
    tags_of: dict[tuple[int, int], dict[str, str]] = {}
    for tag in tags:
        tags_of.setdefault((tag.model, tag.number), {})[tag.key] = tag.value
    aliases_of: dict[tuple[int, int], list[str]] = {}
    for alias in aliases:
        aliases_of.setdefault((alias.model, alias.number), []).append(alias.alias)
    found = []
    for row in rows:
        record = strict_json.loads(row.record, f"{row.name}==v{row.number}")
        place = row.model, row.number
        version = ModelVersion(
            name=row.name,
            number=row.number,
            version=str(SemanticVersion(row.major, row.minor, row.patch)),
            digest=row.digest,
            parent=row.parent,
            tags=dict(sorted(tags_of.get(place, {}).items())),
            aliases=tuple(sorted(aliases_of.get(place, ()))),
            created=row.created,
            archived=bool(row.archived),
            evidence=row.evidence,
            blobs=blobs,
            **{name: record.get(name) for name in _RECORD},
        )
        found.append(version)
    return found
