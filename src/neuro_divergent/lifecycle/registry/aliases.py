"""Aliases of a model: each change is one transaction, one revision and one row of the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConflictError, InputError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.lifecycle.dependency import load_sqlalchemy
from neuro_divergent.lifecycle.registry.address import CHALLENGER, CHAMPION, PREVIOUS, Address
from neuro_divergent.lifecycle.registry.alias_change import AliasChange
from neuro_divergent.lifecycle.registry.tables import ALIASES, CHANGES, MODELS
from neuro_divergent.lifecycle.registry.versions import find_model, find_version, now

if TYPE_CHECKING:
    import sqlalchemy as sa
else:
    sa = load_sqlalchemy()

Aliases = dict[str, int]
# Statements are made once: to construct one takes longer than to run it.
_OF_MODEL = sa.select(ALIASES).where(ALIASES.c.model == sa.bindparam("model_id"))
_COUNTED = (
    sa.update(MODELS)
    .where(MODELS.c.id == sa.bindparam("model_id"), MODELS.c.revision == sa.bindparam("seen"))
    .values(revision=MODELS.c.revision + 1)
)
_SET = sa.text(
    "INSERT INTO registry_aliases (model, alias, number) VALUES (:model, :alias, :number) "
    "ON CONFLICT (model, alias) DO UPDATE SET number = excluded.number"
)
_REMOVE = sa.delete(ALIASES).where(ALIASES.c.model == sa.bindparam("model_id"), ALIASES.c.alias == sa.bindparam("name"))
_RECORD = sa.insert(CHANGES)


@dataclass(frozen=True)
class Motive:
    """Why aliases change, and from which state.

    Attributes:
        reason: In words.
        evidence: What the decision rests on.
        expect: The revision that the decision was made at; ``None`` accepts any.
    """

    reason: str = ""
    evidence: Mapping[str, Any] | None = None
    expect: int | None = None


def read_aliases(connection: sa.Connection, model: int) -> Aliases:
    """Return the aliases of a model and the numbers they point at."""
    rows = connection.execute(_OF_MODEL, {"model_id": model})
    return dict(sorted((row.alias, row.number) for row in rows))


def promote(connection: sa.Connection, address: Address, alias: str, motive: Motive) -> int:
    """Point an alias at a version and return the revision; nothing happens if it points there already.

    When the champion moves, the old one becomes ``previous``, and a challenger that became champion is none any more.

    Raises:
        InputError: If there is no such version or it is archived.
        ConflictError: If the revision is not the expected one.
    """
    model = find_model(connection, address.name, lock=True)
    number, is_archived = find_version(connection, model, address)
    if is_archived:
        raise InputError(
            f"{address.name}==v{number}: is archived, and cannot be {alias}. Take it out of the archive first."
        )

    def moved(before: Aliases) -> Aliases:
        after = {**before, alias: number}
        if alias == CHAMPION and before.get(CHAMPION, number) != number:
            after[PREVIOUS] = before[CHAMPION]
        if alias == CHAMPION and before.get(CHALLENGER) == number:
            del after[CHALLENGER]
        return after

    return _change(connection, model, "promote", alias, motive, moved)


def rollback(connection: sa.Connection, name: str, motive: Motive) -> int:
    """Make the previous champion champion again and return the revision; there is no ``previous`` then.

    Raises:
        InputError: If there is no previous champion.
        ConflictError: If the revision is not the expected one.
    """

    def moved(before: Aliases) -> Aliases:
        if PREVIOUS not in before:
            raise InputError(f"{name}: has no previous champion to go back to. Promote the version that you want.")
        return {**{key: value for key, value in before.items() if key != PREVIOUS}, CHAMPION: before[PREVIOUS]}

    return _change(connection, find_model(connection, name, lock=True), "rollback", CHAMPION, motive, moved)


def remove_alias(connection: sa.Connection, name: str, alias: str, motive: Motive) -> int:
    """Remove an alias and return the revision; nothing happens if it is not there."""

    def moved(before: Aliases) -> Aliases:
        return {key: value for key, value in before.items() if key != alias}

    return _change(connection, find_model(connection, name, lock=True), "remove", alias, motive, moved)


def read_changes(connection: sa.Connection, model: int) -> list[AliasChange]:
    """Return the history of the aliases of a model, the oldest first."""
    rows = connection.execute(sa.select(CHANGES).where(CHANGES.c.model == model).order_by(CHANGES.c.revision))
    return [_alias_change(row) for row in rows]


def _change(
    connection: sa.Connection,
    model: Any,
    action: str,
    alias: str,
    motive: Motive,
    moved: Callable[[Aliases], Aliases],
) -> int:
    """Write the aliases as ``moved`` returns them; the row of the model is locked."""
    before = read_aliases(connection, model.id)
    revision = int(model.revision)
    has_conflict = motive.expect is not None and motive.expect != revision
    if has_conflict and action == "rollback":  # done twice, it would be something else
        raise ConflictError(model.name, expected=motive.expect or 0, found=revision)
    after = moved(before)
    if after == before:  # also when it is repeated after a crash
        return revision
    if has_conflict:
        raise ConflictError(model.name, expected=motive.expect or 0, found=revision)
    if connection.execute(_COUNTED, {"model_id": model.id, "seen": revision}).rowcount != 1:
        raise ConflictError(model.name, expected=revision, found=revision + 1)
    for name in before.keys() - after.keys():
        connection.execute(_REMOVE, {"model_id": model.id, "name": name})
    for name, number in after.items():
        if before.get(name) != number:
            connection.execute(_SET, {"model": model.id, "alias": name, "number": number})
    change = {
        "model": model.id,
        "revision": revision + 1,
        "action": action,
        "alias": alias,
        "before": _json(before),
        "after": _json(after),
        "reason": motive.reason,
        "evidence": None if motive.evidence is None else _json(motive.evidence),
        "created": now(),
    }
    connection.execute(_RECORD, change)
    return revision + 1


def _json(value: Mapping[str, Any]) -> str:
    return strict_json.dumps(dict(value)).decode("utf-8")


def _alias_change(row: Any) -> AliasChange:
    place = f"history, revision {row.revision}"
    before, after = strict_json.loads(row.before, place), strict_json.loads(row.after, place)
    return AliasChange(
        revision=row.revision,
        action=row.action,
        alias=row.alias,
        before=before.get(row.alias),
        after=after.get(row.alias),
        aliases_before=before,
        aliases=after,
        reason=row.reason,
        evidence=None if row.evidence is None else strict_json.loads(row.evidence, place),
        created=row.created,
    )
