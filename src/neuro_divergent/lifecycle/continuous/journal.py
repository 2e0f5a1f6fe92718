"""The state of continuous training in a database: what was read and trained, and every decision.

Every step of a tick ends with one transaction. What a step makes besides (files, versions in the registry) is written
before it, under names that the state determines, so that a step that was interrupted is repeated with the same result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.lifecycle.database import Database
from neuro_divergent.lifecycle.dependency import load_sqlalchemy

if TYPE_CHECKING:
    import sqlalchemy as sa

DATABASE = "state.db"


@dataclass(frozen=True)
class Decision:
    """A decision with its evidence.

    Attributes:
        kind: Kind of decision, such as ``promoted`` or ``incident``.
        sentence: The decision and its reason for a reader.
        evidence: Numbers behind it.
        number: Its number, from 1; 0 before it is written.
        at: When, as ISO 8601 in UTC.
        delivered: Whether its hooks have run.
    """

    kind: str
    sentence: str
    evidence: dict[str, Any] = field(default_factory=dict)
    number: int = 0
    at: str = ""
    delivered: bool = False


@dataclass(frozen=True)
class Attempt:
    """One training of a challenger, from the decision to train to what became of it.

    Attributes:
        number: Its number, from 1.
        state: ``planned``, ``trained``, ``judged``, ``registered``, ``shadow``, ``champion``, ``rejected``,
            ``expired``, ``replaced`` or ``failed``.
        mode: ``incremental`` or ``full``.
        reason: Why it was begun.
        batch: Batch whose view it is trained on.
        end: Last row that it is trained on, in rows since the beginning (``Timeline``).
        parent: Version that was champion; ``None`` for the first training.
        version: Version of what was trained, once registered.
        gate: The decision of the gate, once it is there.
        changed: Row from which on errors have changed, if that is why it was begun.
    """

    number: int
    state: str
    mode: str
    reason: str
    batch: int
    end: int
    parent: int | None = None
    version: int | None = None
    gate: dict[str, Any] | None = None
    changed: int | None = None

    @property
    def is_unfinished(self) -> bool:
        """Whether a tick has to go on with it."""
        return self.state in ("planned", "trained", "judged", "registered")


class Journal:
    """Reads and writes the state.

    Args:
        directory: Directory of continuous training.
        create: Whether the state is made where there is none.
    """

    def __init__(self, directory: Path, *, create: bool = False) -> None:
        self._sa = load_sqlalchemy()
        self._tables = _tables()
        self._database = Database.open(
            directory / DATABASE, self._tables["values"].metadata, part="continuous training", create=create
        )

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def step(self, at: str) -> Iterator[JournalStep]:
        """Give what a step writes; all of it is there when the block ends, or nothing."""
        with self._database.write() as connection:
            yield JournalStep(connection, self._tables, at)

    def value(self, key: str, default: Any = None) -> Any:
        """Return a value of the state."""
        found = self._rows("values", "key", key)
        return json.loads(found[0]["content"]) if found else default

    def decisions(self, last: int | None = None) -> list[Decision]:
        """Return decisions, the oldest first; only the latest ones if ``last`` is given."""
        rows = self._rows("decisions", order="number", last=last)
        return [
            Decision(
                row["kind"],
                row["sentence"],
                json.loads(row["evidence"]),
                row["number"],
                row["at"],
                bool(row["delivered"]),
            )
            for row in rows
        ]

    def undelivered(self) -> list[Decision]:
        """Return decisions whose hooks have not run."""
        return [decision for decision in self.decisions() if not decision.delivered]

    def attempts(self) -> list[Attempt]:
        """Return all trainings, the oldest first."""
        return [Attempt(**json.loads(row["content"])) for row in self._rows("attempts", order="number")]

    def origins(self, version: int) -> list[int]:
        """Return the cut-offs of the forecasts that a version has made, in rows since the beginning."""
        return [row["origin"] for row in self._rows("forecasts", "version", version, order="origin")]

    def looks(self) -> dict[int, dict[str, Any]]:
        """Return the tests for drift by the last row that they looked at."""
        return {row["origin"]: json.loads(row["content"]) for row in self._rows("looks", order="origin")}

    def incidents(self) -> list[dict[str, Any]]:
        """Return the batches that are in quarantine, or were."""
        return [
            {"number": row["number"], **json.loads(row["content"])} for row in self._rows("incidents", order="number")
        ]

    def _rows(
        self,
        name: str,
        column: str | None = None,
        value: Any = None,
        *,
        order: str | None = None,
        last: int | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        table = self._tables[name]
        query = self._sa.select(table)
        if column is not None:
            query = query.where(table.c[column] == value)
        if order is not None:
            query = query.order_by(table.c[order].desc() if last else table.c[order])
        with self._database.read() as connection:
            rows = [dict(row) for row in connection.execute(query.limit(last) if last else query).mappings()]
        return rows[::-1] if last else rows


class JournalStep:
    """What a step writes into the state.

    Args:
        connection: Of the transaction.
        tables: The tables.
        at: Time of the tick, as ISO 8601 in UTC.
    """

    def __init__(self, connection: sa.Connection, tables: Mapping[str, sa.Table], at: str) -> None:
        self._sa, self._connection, self._tables, self._at = load_sqlalchemy(), connection, tables, at

    def set_value(self, key: str, content: Any) -> None:
        """Set a value of the state."""
        self._replace("values", "key", key, content=_text(content))

    def decide(self, decision: Decision) -> None:
        """Record a decision."""
        self._connection.execute(
            self._sa.insert(self._tables["decisions"]).values(
                at=self._at,
                kind=decision.kind,
                sentence=decision.sentence,
                evidence=_text(decision.evidence),
                delivered=0,
            )
        )

    def set_delivered(self, number: int) -> None:
        """Record that the hooks of a decision have run."""
        table = self._tables["decisions"]
        self._connection.execute(self._sa.update(table).where(table.c.number == number).values(delivered=1))

    def set_attempt(self, attempt: Attempt) -> None:
        """Record a training as it is now."""
        self._replace("attempts", "number", attempt.number, content=_text(vars(attempt)))

    def set_forecast(self, version: int, origin: int) -> None:
        """Record that a version has forecast from a cut-off."""
        table = self._tables["forecasts"]
        same = (table.c.version == version) & (table.c.origin == origin)
        if self._connection.execute(self._sa.select(table).where(same)).first() is None:
            self._connection.execute(self._sa.insert(table).values(version=version, origin=origin, at=self._at))

    def set_look(self, origin: int, content: Mapping[str, Any]) -> None:
        """Record a test for drift."""
        self._replace("looks", "origin", origin, content=_text(content))

    def set_incident(self, number: int, content: Mapping[str, Any]) -> None:
        """Record a batch in quarantine."""
        self._replace("incidents", "number", number, content=_text(content))

    def _replace(self, name: str, key: str, value: Any, **content: Any) -> None:
        table = self._tables[name]
        changed = self._connection.execute(self._sa.update(table).where(table.c[key] == value).values(**content))
        if not changed.rowcount:
            self._connection.execute(self._sa.insert(table).values(**{key: value}, **content))


def _text(content: Any) -> str:
    return json.dumps(finite_or_none(content), ensure_ascii=False, default=str)


def _tables() -> dict[str, sa.Table]:
    sqlalchemy = load_sqlalchemy()
    metadata = sqlalchemy.MetaData()

    def number() -> Any:
        return sqlalchemy.Column("number", sqlalchemy.Integer, primary_key=True, autoincrement=True)

    def content() -> Any:
        return sqlalchemy.Column("content", sqlalchemy.Text, nullable=False)

    tables = [
        sqlalchemy.Table("values", metadata, sqlalchemy.Column("key", sqlalchemy.Text, primary_key=True), content()),
        sqlalchemy.Table(
            "decisions",
            metadata,
            number(),
            sqlalchemy.Column("at", sqlalchemy.Text, nullable=False),
            sqlalchemy.Column("kind", sqlalchemy.Text, nullable=False),
            sqlalchemy.Column("sentence", sqlalchemy.Text, nullable=False),
            sqlalchemy.Column("evidence", sqlalchemy.Text, nullable=False),
            sqlalchemy.Column("delivered", sqlalchemy.Integer, nullable=False),
        ),
        sqlalchemy.Table("attempts", metadata, number(), content()),
        sqlalchemy.Table(
            "forecasts",
            metadata,
            sqlalchemy.Column("version", sqlalchemy.Integer, primary_key=True),
            sqlalchemy.Column("origin", sqlalchemy.Integer, primary_key=True),
            sqlalchemy.Column("at", sqlalchemy.Text, nullable=False),
        ),
        sqlalchemy.Table(
            "looks", metadata, sqlalchemy.Column("origin", sqlalchemy.Integer, primary_key=True), content()
        ),
        sqlalchemy.Table("incidents", metadata, number(), content()),
    ]
    return {table.name: table for table in tables}
