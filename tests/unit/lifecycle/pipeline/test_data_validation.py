"""Expectations on tables, and what becomes of rows and series that violate them."""

from __future__ import annotations

import datetime
import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError, DataError, DataWarning
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.pipeline.data_source import FileDigests, source_artifacts
from neuro_divergent.lifecycle.pipeline.stage import StageContext
from neuro_divergent.lifecycle.pipeline.stages.data_validation import EXPECTATIONS, DataValidation
from tests.unit.lifecycle.pipeline.tables import daily


def validate(
    frame: Any, tmp_path: Path, schema: dict[str, Any] | None = None, **settings: Any
) -> tuple[dict[str, Any], StageContext]:
    context = StageContext("check", tmp_path)
    inputs = source_artifacts(frame, Schema(**(schema or {})), FileDigests(tmp_path / "files.json"))
    return dict(DataValidation(**settings).run(inputs, context)), context


def change(frame: pl.DataFrame, row: int, **values: Any) -> pl.DataFrame:
    return frame.with_columns(
        pl.when(pl.int_range(pl.len()) == row).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )


def test_healthy_table_passes_as_it_is(tmp_path: Path) -> None:
    frame = daily()
    found, _ = validate(
        frame,
        tmp_path,
        required=["y"],
        types={"y": "number"},
        ranges={"y": (0, 100)},
        max_missing=0.0,
        unit_jump=10,
        min_rows=60,
        min_series=2,
    )
    assert found["table"].equals(frame)
    assert found["quarantine"].height == found["findings"].height == 0
    assert found["quarantine"].columns == [*frame.columns, "reason"]


STALE = daily(60, first=datetime.date(2001, 1, 1))
CASES: dict[str, tuple[pl.DataFrame, dict[str, Any], str, int]] = {
    "columns": (daily().drop("y"), {}, "column 'y' is missing; found unique_id, ds", 0),
    "types": (
        daily().with_columns(pl.col("y").cast(pl.String)).pipe(change, 3, y="broken"),
        {},
        "first row 4: not of type number, such as 'broken'",
        1,
    ),
    "ranges": (
        change(daily(), 5, y=1e6),
        {"ranges": {"y": (0, "none"), "ds": ("none", "none")} | {"y": (0, 1000)}},
        "outside 0 to 1,000, such as 1M",
        1,
    ),
    "duplicates": (
        pl.concat([daily(), daily().slice(7, 2)]),
        {},
        "2 values, first row 121: series and time are there before",
        2,
    ),
    "missing": (
        daily().with_columns(
            pl.when((pl.col("unique_id") == "s1") & (pl.int_range(pl.len()) % 3 == 0))
            .then(None)
            .otherwise("y")
            .alias("y")
        ),
        {"max_missing": 0.1},
        "series 's1', column 'y': 33 % missing, at most 10 % expected",
        60,
    ),
    "min_rows": (
        pl.concat([daily(), daily(3, 3).filter(pl.col("unique_id") == "s2")]),
        {"min_rows": 10},
        "series 's2': 3 rows, at least 10 expected",
        3,
    ),
    "min_series": (daily(), {"min_series": 3}, "2 series, at least 3 expected", 0),
    "freshness": (
        STALE,
        {"freshness": "2d"},
        r"series 's0', column 'ds': last row is [\d,]+ d old, at most 2 d expected",
        120,
    ),
    "unit_jumps": (
        daily().with_columns(
            pl.when((pl.col("unique_id") == "s1") & (pl.int_range(pl.len()) >= 90))
            .then(pl.col("y") * 1000)
            .otherwise("y")
            .alias("y")
        ),
        {"unit_jump": 100},
        "series 's1', column 'y': values become 1,00. times larger about 2024-01-31",
        60,
    ),
}


def test_there_is_a_case_for_every_expectation() -> None:
    assert set(CASES) == set(EXPECTATIONS)


@pytest.mark.parametrize("name", CASES)
def test_violation_stops_with_what_is_wrong(name: str, tmp_path: Path) -> None:
    frame, settings, words, _ = CASES[name]
    with pytest.raises(DataError, match=words):
        validate(frame, tmp_path, **settings)


@pytest.mark.parametrize("name", CASES)
def test_violation_that_only_warns_leaves_the_table(name: str, tmp_path: Path) -> None:
    frame, settings, words, _ = CASES[name]
    if name == "columns":
        frame, settings, words = daily(), {"required": ["price"]}, "column 'price' is missing"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        found, context = validate(frame, tmp_path, **settings, actions={name: "warn"})
    assert re.search(words, str(caught[0].message))
    assert found["table"].height == frame.height
    assert found["findings"]["action"].unique().to_list() == ["warn"]
    assert context.notes
    assert context.tables[0]["rows"]


@pytest.mark.parametrize("name", CASES)
def test_violation_in_quarantine_removes_what_it_is_about(name: str, tmp_path: Path) -> None:
    frame, settings, words, rows = CASES[name]
    if not rows or name == "freshness":  # of the whole table, or everything is stale
        words = words if not rows else "no row is left"
        with pytest.raises(DataError, match=words):
            validate(frame, tmp_path, **settings, on_failure="quarantine")
        return
    found, _ = validate(frame, tmp_path, **settings, on_failure="quarantine")
    assert (found["quarantine"].height, found["table"].height) == (rows, frame.height - rows)
    assert found["quarantine"]["reason"].str.starts_with(name).all()
    assert found["findings"]["expectation"].to_list() == [name]
    assert found["findings"]["rows"].to_list() == [rows]


def test_quarantine_of_series_takes_all_their_rows(tmp_path: Path) -> None:
    found, _ = validate(
        change(daily(), 5, y=1e6), tmp_path, ranges={"y": (0, 1000)}, on_failure="quarantine", quarantine="series"
    )
    assert found["table"]["unique_id"].unique().to_list() == ["s1"]
    assert found["quarantine"].height == 60


def test_rows_with_several_reasons_name_all_of_them(tmp_path: Path) -> None:
    frame = pl.concat([daily(), change(daily(), 4, y=-1.0).slice(4, 1)])
    found, _ = validate(frame, tmp_path, ranges={"y": (0, 1000)}, on_failure="quarantine")
    assert found["quarantine"]["reason"].to_list() == ["ranges: y; duplicates: ds"]


def test_csv_with_bad_dates_and_numbers_goes_into_quarantine(tmp_path: Path) -> None:
    rows = [f"s,2024-01-{day:02},{day}" for day in range(1, 29)]
    rows[3], rows[9], rows[11] = "s,31/12/2023,4", "s,,10", "s,2024-01-12,twelve"
    rows[20] = "s,2024-13-45,21"
    (tmp_path / "bad.csv").write_text("\n".join(["unique_id,ds,y", *rows]) + "\n")
    found, _ = validate(str(tmp_path / "bad.csv"), tmp_path, on_failure="quarantine")
    assert found["table"].schema == {"unique_id": pl.String, "ds": pl.Date, "y": pl.Float64}
    assert found["table"].height == 24
    assert found["quarantine"]["reason"].to_list() == ["types: ds", "types: ds", "types: y", "types: ds"]
    assert found["quarantine"]["ds"].to_list() == ["31/12/2023", None, "2024-01-12", "2024-13-45"]


def test_csv_whose_dates_cannot_be_read_at_all_stops(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("unique_id,ds,y\ns,01/02/2024,1\ns,02/02/2024,2\n")
    with pytest.raises(DataError, match="is ambiguous: is the day first or the month"):
        validate(str(tmp_path / "bad.csv"), tmp_path, on_failure="quarantine")
    found, _ = validate(str(tmp_path / "bad.csv"), tmp_path, {"date_format": "%d/%m/%Y"})
    assert found["table"]["ds"].to_list() == [datetime.date(2024, 2, 1), datetime.date(2024, 2, 2)]


def test_infinite_targets_are_found_without_a_range(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="infinite"):
        validate(change(daily(), 9, y=float("inf")), tmp_path)


@pytest.mark.parametrize(
    ("kind", "values", "bad"),
    [
        ("integer", [1.0, 2.5, 3.0, None], 1),
        ("integer", ["1", "2", "x", None], 1),
        ("number", ["1.5", "-2e3", "n/a", None], 1),
        ("text", [1, 2, 3, 4], None),
        ("text", ["a", "b", None, "d"], 0),
        ("boolean", [True, None, False, True], 0),
        ("boolean", [1, 0, 1, 0], None),
        ("time", ["2024-01-01", "x", "2024-01-03", None], 1),
    ],
)
def test_types_of_columns_are_compared(kind: str, values: list[Any], bad: int | None, tmp_path: Path) -> None:
    frame = daily(4, 1).with_columns(pl.Series("column", values))
    if bad == 0:
        validate(frame, tmp_path, types={"column": kind})
        return
    with pytest.raises(DataError, match="expected " + kind if bad is None else f"{bad} value.*not of type {kind}"):
        validate(frame, tmp_path, types={"column": kind})


def test_unit_jump_is_found_wherever_it_begins_and_noise_is_not(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    for place in (5, 11, 30, 55):
        values = np.exp(random.normal(0, 0.5, 60))
        frame = daily(60, 1).with_columns(y=pl.Series(values))
        validate(frame, tmp_path, unit_jump=100)
        jumped = np.where(np.arange(60) >= place, values / 1000, values)
        with pytest.raises(DataError, match="times smaller"):
            validate(frame.with_columns(y=pl.Series(jumped)), tmp_path, unit_jump=100)
        spiked = np.where(np.arange(60) == place, values * 1e6, values)  # an outlier is no change of units
        validate(frame.with_columns(y=pl.Series(spiked)), tmp_path, unit_jump=100)


def test_result_with_freshness_is_valid_until_the_next_series_is_too_old(tmp_path: Path) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    frame = pl.concat(
        [
            daily(10, 1, first=today - datetime.timedelta(days=9)),
            daily(10, 1, first=today - datetime.timedelta(days=10)).with_columns(unique_id=pl.lit("late")),
        ]
    )
    _, context = validate(frame, tmp_path, freshness="3d")
    midnight = datetime.datetime.combine(today, datetime.time(), datetime.UTC).timestamp()
    assert context.expires == midnight + 2 * 86400
    assert context.expires > time.time()


def test_one_series_without_ids_is_checked_too(tmp_path: Path) -> None:
    frame = daily(30, 1).drop("unique_id")
    with pytest.raises(DataError, match="the series: 30 rows, at least 40 expected"):
        validate(frame, tmp_path, min_rows=40)
    jump = pl.when(pl.int_range(pl.len()) > 14).then(pl.col("y") * 1000).otherwise("y")
    with pytest.raises(DataError, match="the series, column 'y': values become"):
        validate(frame.with_columns(y=jump), tmp_path, unit_jump=100)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"freshness": "soon"}, "'soon' is no length of time; write 90min, 36h"),
        ({"actions": {"fresness": "warn"}}, "Unknown expectation 'fresness'. Did you mean 'freshness'"),
        ({"unit_jump": 1.0}, "unit_jump"),
        ({"on_failure": "ignore"}, "on_failure"),
        ({"minrows": 3}, "unknown setting 'minrows'. Did you mean 'min_rows'"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        DataValidation(**settings)


def test_freshness_of_integer_times_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"ds": [1, 2, 3], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="holds integers, which have no age"):
        validate(frame, tmp_path, freshness="1d")
