"""Features, none of which looks at later rows."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError, DataError, InputError, MissingDependencyError
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.pipeline.data_source import FileDigests, source_artifacts
from neuro_divergent.lifecycle.pipeline.stage import StageContext
from neuro_divergent.lifecycle.pipeline.stages.feature_engineering import FeatureEngineering
from tests.unit.lifecycle.pipeline.tables import daily


def add(frame: pl.DataFrame, tmp_path: Path, **fields: Any) -> dict[str, Any]:
    inputs = source_artifacts(frame, Schema(), FileDigests(tmp_path / "files.json"))
    return dict(FeatureEngineering(**fields).run(inputs, StageContext("features", tmp_path)))


def test_lags_and_windows_equal_a_loop_over_earlier_rows(tmp_path: Path) -> None:
    frame = daily(30, 2).with_columns(price=pl.int_range(pl.len()).cast(pl.Float64) ** 1.5)
    found = add(
        frame,
        tmp_path,
        lags={"y": [1, 7], "price": [2]},
        warmup="keep",
        rolling={"y": {"windows": [3, 5], "statistics": ["mean", "std", "min", "max", "sum", "median"]}},
    )["table"]
    functions = {
        "mean": np.mean,
        "std": lambda x: np.std(x, ddof=1),
        "min": np.min,
        "max": np.max,
        "sum": np.sum,
        "median": np.median,
    }
    for part in found.partition_by("unique_id"):
        y, price = part["y"].to_numpy(), part["price"].to_numpy()
        for t in range(30):
            assert part["y_lag_7"][t] == (y[t - 7] if t >= 7 else None)
            assert part["y_lag_1"][t] == (y[t - 1] if t >= 1 else None)
            assert part["price_lag_2"][t] == (price[t - 2] if t >= 2 else None)
            for window in (3, 5):
                for name, function in functions.items():
                    value = part[f"y_{name}_{window}"][t]
                    assert value is None if t < window else value == pytest.approx(function(y[t - window : t]))


@settings(max_examples=25)
@given(cut=st.integers(15, 39), seed=st.integers(0, 1000))
def test_built_in_features_do_not_change_when_the_future_does(
    cut: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.getbasetemp()
    frame = daily(40, 2)
    other = np.random.default_rng(seed).normal(0, 100, 80)
    late = pl.col("ds") > datetime.date(2024, 1, 1) + datetime.timedelta(days=cut - 1)
    changed = frame.with_columns(y=pl.when(late).then(pl.Series(other)).otherwise("y"))
    fields: dict[str, Any] = {
        "lags": [1, 3],
        "rolling": {"windows": [4], "statistics": ["mean", "std"]},
        "holidays": "DE",
    }
    one, two = (add(item, place, **fields)["table"].filter(~late) for item in (frame, changed))
    assert one.equals(two)


def test_warmup_drops_first_rows_or_fills_them(tmp_path: Path) -> None:
    dropped = add(daily(30), tmp_path, lags=[7])
    assert dropped["table"].height == 2 * 23
    assert dropped["table"]["y_lag_7"].null_count() == 0
    zero = add(daily(30), tmp_path, lags=[7], warmup="zero")["table"]
    assert zero.height == 60
    assert zero.filter(pl.col("y_lag_7") == 0).height == 14
    kept = add(daily(30), tmp_path, lags=[7], warmup="keep")
    assert Schema.from_dict(kept["schema"]).missing == "mask"
    with pytest.raises(DataError, match="every series is shorter than the longest lag"):
        add(daily(30), tmp_path, lags=[30])


def test_roles_of_new_columns_are_in_the_schema(tmp_path: Path) -> None:
    found = add(daily(30), tmp_path, lags=[1], rolling={"windows": [2]}, calendar=["day_of_week"], holidays="US")
    schema = Schema.from_dict(found["schema"])
    assert (schema.past, schema.future, schema.calendar) == (("y_lag_1", "y_mean_2"), ("is_holiday",), ("day_of_week",))


def test_holidays_are_those_of_the_country_and_reach_beyond_the_end(tmp_path: Path) -> None:
    frame = daily(364, 1, first=datetime.date(2023, 1, 1))
    found = add(frame, tmp_path, holidays="DE-BY", horizon=10)
    free = found["table"].filter(pl.col("is_holiday") == 1)["ds"].to_list()
    assert datetime.date(2023, 10, 3) in free
    assert datetime.date(2023, 6, 8) in free  # in Bavaria, and not in Berlin
    assert datetime.date(2023, 7, 4) not in free
    assert found["future"]["ds"].to_list() == [
        datetime.date(2023, 12, 31) + datetime.timedelta(days=day) - datetime.timedelta(days=1) for day in range(1, 11)
    ]
    assert found["future"].filter(pl.col("is_holiday") == 1)["ds"].to_list() == [
        datetime.date(2024, 1, 1),
        datetime.date(2024, 1, 6),
    ]


def test_unknown_country_and_missing_package_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="holidays: 'XX' is not known"):
        add(daily(), tmp_path, holidays="XX")
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(MissingDependencyError, match=r"neuro-divergent\[holidays\]"):
        add(daily(), tmp_path, holidays="DE")


def honest(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(
        spread=pl.col("y").rolling_max(3).over("unique_id") - pl.col("y").rolling_min(3).over("unique_id")
    )


def whole_mean(table: pl.DataFrame) -> pl.Series:
    return (table["y"] - table["y"].mean()).alias("centred")


def centred_window(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(smooth=pl.col("y").rolling_mean(3, center=True).over("unique_id"))


def next_value(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(ahead=pl.col("y").shift(-1).over("unique_id"))


def far_ahead(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(ahead=pl.col("y").shift(-20).over("unique_id"))


def last_row(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(end=pl.when(pl.int_range(pl.len()) == 0).then(pl.col("y").last()).otherwise(0.0))


def backfill(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(filled=pl.when(pl.int_range(pl.len()) % 5 == 0).then("y").backward_fill().over("unique_id"))


def rank(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(rank=pl.col("y").rank().over("unique_id"))


@pytest.mark.parametrize("function", [whole_mean, centred_window, next_value, far_ahead, last_row, backfill, rank])
def test_function_that_sees_the_future_is_refused_by_name_column_and_time(
    function: Callable[..., Any], tmp_path: Path
) -> None:
    where = r"column '\w+' sees the future: series 's\d', 2024-\d\d-\d\d: .* with all rows"
    words = rf"feature function .*:{function.__name__}: {where}"
    with pytest.raises(DataError, match=words):
        add(daily(60), tmp_path, functions=[function], warmup="keep")


def test_honest_function_becomes_a_past_covariate(tmp_path: Path) -> None:
    found = add(daily(60), tmp_path, functions=[honest])
    assert found["table"]["spread"].null_count() == 0
    assert Schema.from_dict(found["schema"]).past == ("spread",)


def by_date(table: pl.DataFrame) -> pl.Series:
    return table["ds"].dt.weekday().alias("weekday").cast(pl.Float64)


def test_function_known_ahead_must_not_depend_on_the_target(tmp_path: Path) -> None:
    found = add(daily(60), tmp_path, functions=[{"function": by_date, "role": "future"}])
    assert Schema.from_dict(found["schema"]).future == ("weekday",)
    with pytest.raises(DataError, match="column 'spread' sees the future"):
        add(daily(60), tmp_path, functions=[{"function": honest, "role": "future"}])


def test_function_that_is_not_deterministic_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="differs from one call to the next"):
        add(
            daily(60),
            tmp_path,
            functions=[lambda table: pl.Series("noise", np.random.default_rng().normal(size=table.height))],
        )


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda table: table.head(3).select(x="y"), "returned 3 rows for a table of 120"),
        (lambda table: table, "returned no new column"),
    ],
)
def test_function_with_the_wrong_rows_or_columns_is_refused(function: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        add(daily(60), tmp_path, functions=[function])


def test_columns_that_are_there_already_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'y_lag_1' already"):
        add(daily().with_columns(y_lag_1=pl.lit(0.0)), tmp_path, lags=[1])
    with pytest.raises(ConfigError, match="column 'spread' is there already"):
        add(daily(), tmp_path, functions=[honest, honest])


@pytest.mark.parametrize("fields", [{"lags": [0]}, {"lags": {"y": [-1]}}, {"rolling": {"windows": [0]}}])
def test_lags_and_windows_that_look_ahead_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        FeatureEngineering(**fields)


def test_unknown_column_names_the_closest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"column 'prize' missing.*Did you mean 'price'"):
        add(daily().with_columns(price=pl.lit(1.0)), tmp_path, lags={"prize": [1]})
