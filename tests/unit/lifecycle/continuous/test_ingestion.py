"""Rows that come in: accepted, revised, or put in quarantine."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.continuous.ingestion import Ingestion
from neuro_divergent.lifecycle.continuous.journal import Journal
from neuro_divergent.lifecycle.continuous.observations import Observations
from neuro_divergent.lifecycle.continuous.sources.base import Delivery

AT = "2026-01-01T00:00:00+00:00"
SCHEMA = Schema()
VALUES = {name: 50 + 5 * np.sin(np.arange(2400) / 24 * 2 * np.pi) + np.random.default_rng(number).normal(size=2400)
          for number, name in enumerate("ab")}  # fmt: skip


def rows(first: int, last: int, series: str = "ab", factor: float = 1.0) -> pl.DataFrame:
    begin = datetime(2026, 1, 1)
    parts = [
        pl.DataFrame(
            {
                "unique_id": [name] * (last - first),
                "ds": [begin + timedelta(hours=hour) for hour in range(first, last)],
                "y": VALUES[name][first:last] * factor,
            }
        )
        for name in series
    ]
    return pl.concat(parts)


class Feed:
    """Deliveries to one ingestion."""

    def __init__(self, place: Path) -> None:
        self.journal = Journal(place, create=True)
        self.observations = Observations(place / "observations", SCHEMA)
        self.ingestion = Ingestion(self.journal, self.observations, SCHEMA, 24)

    def take(self, table: pl.DataFrame) -> bool:
        return self.ingestion.take(Delivery(table, {}), AT)

    @property
    def view(self) -> pl.DataFrame:
        found = self.observations.view(self.journal.value("batch", 0))
        assert found is not None
        return found


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    feed = Feed(tmp_path)
    feed.take(rows(0, 1440))
    return feed


def test_rows_that_are_known_make_no_batch(feed: Feed) -> None:
    assert not feed.take(rows(1400, 1440))
    assert feed.journal.value("batch") == 1


def test_broken_series_is_kept_out_and_the_other_goes_in(feed: Feed) -> None:
    assert feed.take(pl.concat([rows(1440, 1464, "a"), rows(1440, 1464, "b", 1000)]))
    assert feed.view.filter(pl.col("unique_id") == "a").height == 1464
    assert feed.view.filter(pl.col("unique_id") == "b").height == 1440
    (incident,) = feed.journal.incidents()
    assert (incident["state"], incident["rows"]) == ("quarantined", 24)


def test_the_same_broken_rows_again_stay_in_quarantine_without_another_incident(feed: Feed) -> None:
    feed.take(rows(1440, 1464, "b", 1000))
    assert not feed.take(pl.concat([rows(1400, 1440, "b"), rows(1440, 1464, "b", 1000)]))
    assert len(feed.journal.incidents()) == 1


def test_healthy_rows_after_a_quarantine_are_accepted_although_values_between_are_missing(feed: Feed) -> None:
    feed.take(rows(1440, 1488, factor=1000))
    assert feed.take(rows(1488, 1512))
    assert len(feed.journal.incidents()) == 1
    assert feed.view.height == 2 * (1440 + 24)


def test_corrected_rows_end_the_quarantine(feed: Feed) -> None:
    feed.take(rows(1440, 1464, factor=1000))
    assert feed.take(rows(1440, 1464))
    assert feed.view.height == 2 * 1464
    assert float(feed.view["y"].max()) < 100  # type: ignore[arg-type]


def test_accepting_an_incident_by_hand_takes_its_rows_in(feed: Feed) -> None:
    feed.take(rows(1440, 1464, "b", 1000))
    feed.ingestion.accept(1, AT)
    assert feed.journal.incidents()[0]["state"] == "accepted"
    assert feed.view.filter(pl.col("unique_id") == "b").height == 1464
    assert feed.journal.decisions()[-1].kind == "accepted"


def test_revised_rows_are_counted_and_replace_the_old_values(feed: Feed) -> None:
    assert feed.take(rows(1430, 1440).with_columns(pl.col("y") + 0.5))
    (entry,) = feed.journal.value("revised")
    assert entry["rows"] == 20
    newest = feed.view.filter(
        (pl.col("unique_id") == "a") & (pl.col("ds") == datetime(2026, 1, 1) + timedelta(hours=1439))
    )
    assert newest["y"].item() == pytest.approx(VALUES["a"][1439] + 0.5)


def test_accepted_quarantine_leaves_what_was_corrected_since(feed: Feed) -> None:
    feed.take(pl.concat([rows(1440, 1452, "b"), rows(1452, 1464, "b", 1000)]))  # good rows and broken ones in one batch
    assert feed.take(rows(1452, 1464, "b"))
    assert feed.view.filter(pl.col("unique_id") == "b").height == 1452
    feed.ingestion.accept(1, AT)
    assert (
        feed.view.drop("_batch").sort("unique_id", "ds").filter(pl.col("unique_id") == "b").equals(rows(0, 1464, "b"))
    )
