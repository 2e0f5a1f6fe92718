"""Rows that come in: compared with what is known, checked, and accepted or put in quarantine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from neuro_divergent.core.formatting import format_count
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.continuous.journal import Decision, Journal
from neuro_divergent.lifecycle.continuous.observations import BATCH, Difference, Observations
from neuro_divergent.lifecycle.continuous.rows import id_of, keys_of
from neuro_divergent.lifecycle.continuous.sources.base import Delivery
from neuro_divergent.lifecycle.drift.feed import broken_series, check_feed
from neuro_divergent.lifecycle.drift.incident import Incident


@dataclass(frozen=True, eq=False)
class Ingestion:
    """Takes deliveries of a source in.

    Attributes:
        journal: The state.
        observations: The batches.
        schema: The roles of the columns.
        season_length: Rows in a season; ``None`` before the first training.
    """

    journal: Journal
    observations: Observations
    schema: Schema
    season_length: int | None

    def take(self, delivery: Delivery, at: str) -> bool:
        """Write what is new or changed as a batch, and return whether anything was accepted.

        Rows of series whose feed is broken go into quarantine instead: they are part of no view, so that no model is
        trained on them, until somebody accepts them or the source gives other values.
        """
        number = int(self.journal.value("batch", 0))
        view, held = self.observations.view(number), self._quarantined()
        found = _without_known(self.observations.differences(delivery.rows, view), held, self.schema)
        incidents = [] if view is None else self._check(found, view, held)
        broken = pl.col(id_of(self.schema)).is_in(broken_series(incidents))
        accepted = Difference(found.new.filter(~broken), found.revised.filter(~broken))
        quarantined = found.rows.filter(broken)
        incident = len(self.journal.incidents()) + 1
        if quarantined.height:
            self.observations.write(incident, quarantined, quarantined=True)
        if len(accepted):
            self.observations.write(number + 1, accepted.rows)
        with self.journal.step(at) as step:
            step.set_value("position", delivery.position)
            if quarantined.height:
                content = {"state": "quarantined", "rows": quarantined.height, "batch": number}
                step.set_incident(incident, {**content, "findings": [item.to_dict() for item in incidents]})
                step.decide(_quarantine_decision(incident, quarantined, incidents, self.schema))
            if len(accepted):
                step.set_value("batch", number + 1)
                step.set_value("revised", self._revised(accepted))
        return bool(len(accepted))

    def accept(self, incident: int, at: str) -> None:
        """Take the rows of a quarantine in after all, except those that the source has corrected since."""
        number = int(self.journal.value("batch", 0))
        content = next(item for item in self.journal.incidents() if item["number"] == incident)
        rows, view = self.observations.read(incident, quarantined=True), self.observations.view(number)
        if view is not None:
            corrected = view.filter(pl.col(BATCH) > content.get("batch", number))
            rows = rows.join(corrected, on=keys_of(self.schema), how="anti")
        found = self.observations.differences(rows, view)
        if len(found):
            self.observations.write(number + 1, found.rows)
        with self.journal.step(at) as step:
            step.set_incident(incident, {**content, "state": "accepted"})
            if len(found):
                step.set_value("batch", number + 1)
            step.decide(Decision("accepted", f"The {rows.height:,} rows of incident {incident} were accepted by hand."))

    def _quarantined(self) -> pl.DataFrame | None:
        """Return the rows that are in quarantine, as they came last; ``None`` if there is none."""
        numbers = [item["number"] for item in self.journal.incidents() if item["state"] == "quarantined"]
        parts = [self.observations.read(number, quarantined=True) for number in numbers]
        return pl.concat(parts).unique(keys_of(self.schema), keep="last", maintain_order=True) if parts else None

    def _check(self, found: Difference, view: pl.DataFrame, held: pl.DataFrame | None) -> list[Incident]:
        """Return what is broken in rows that came in, compared with the rows before them."""
        time, target = self.schema.time, self.schema.target
        observed = found.rows.filter(pl.col(target).is_not_null())
        if self.season_length is None or observed.is_empty():
            return []
        last = view[time].max()
        # A season of rows that were accepted is looked at again, since a stretch of equal values takes a while to show;
        # of rows that come very late only those of the last seasons are checked.
        times = view[time].unique().sort()
        begin = max(min(observed[time].min(), times[-self.season_length :][0]), times[-4 * self.season_length :][0])
        past = view.drop(BATCH)
        if held is not None:  # their times are not missing; they only have no value that can be trusted
            past = pl.concat(
                [past, held.join(past, on=keys_of(self.schema), how="anti").with_columns(_none(target, past))]
            )
        new = pl.concat([past.filter(pl.col(time) >= begin), found.rows.filter(pl.col(time) >= begin)])
        new = new.unique(keys_of(self.schema), keep="last").filter(pl.col(time) <= max(last, observed[time].max()))  # type: ignore[type-var]
        past = past.filter(pl.col(time) < begin)
        if past.is_empty() or new.is_empty():
            return []
        incidents = check_feed(
            past, new, season_length=self.season_length, target=target, id=id_of(self.schema), time=time
        )
        known = set() if held is None else set(held[id_of(self.schema)])
        given = set(found.rows[id_of(self.schema)])
        left = [_unexplained(item, known) for item in incidents]
        return [item for item in left if given & set(item.series)]

    def _revised(self, accepted: Difference) -> list[dict[str, object]]:
        """Return revisions that came in since the comparison of versions last began, one entry per batch."""
        before: list[dict[str, object]] = self.journal.value("revised", [])
        if not accepted.revised.height:
            return before
        times = accepted.revised[self.schema.time]
        return [*before, {"rows": accepted.revised.height, "first": str(times.min()), "last": str(times.max())}]


def _without_known(found: Difference, held: pl.DataFrame | None, schema: Schema) -> Difference:
    """Return what is not in quarantine with the same values already."""
    if held is None:
        return found
    same = held.join(found.rows, on=found.rows.columns, how="semi", nulls_equal=True)
    keys = keys_of(schema)
    return Difference(found.new.join(same, on=keys, how="anti"), found.revised.join(same, on=keys, how="anti"))


def _unexplained(incident: Incident, held: set[object]) -> Incident:
    """Return an incident without the series whose values are missing because they are in quarantine."""
    if incident.kind != "missing":
        return incident
    return replace(incident, series=tuple(name for name in incident.series if name not in held))


def _none(target: str, like: pl.DataFrame) -> pl.Expr:
    return pl.lit(None, like.schema[target]).alias(target)


def _quarantine_decision(number: int, rows: pl.DataFrame, incidents: list[Incident], schema: Schema) -> Decision:
    count = format_count(rows[id_of(schema)].n_unique(), "series", "series")
    first = incidents[0].sentence
    more = f" There are {len(incidents) - 1} more findings." if len(incidents) > 1 else ""
    sentence = (
        f"Incident {number}: {rows.height:,} rows of {count} are in quarantine and no model is trained on them. "
        f"{first}{more}"
    )
    return Decision("incident", sentence, {"incident": number, "findings": [item.to_dict() for item in incidents]})
