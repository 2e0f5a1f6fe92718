from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.future import read_future
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

SCHEMA = Schema(future=("price", "weather"), calendar=("hour", "is_weekend"))


@pytest.fixture
def whole() -> pl.DataFrame:
    return Synthetic(num_series=3, length=60, covariates=True, frequency="1h", seed=2).frame()


@pytest.fixture
def panel(whole: pl.DataFrame) -> Panel:
    return build_panel(whole.filter(pl.col("ds") < datetime(2020, 1, 3)), SCHEMA)


def test_values_are_those_that_a_longer_panel_has(whole: pl.DataFrame, panel: Panel, tmp_path: Path) -> None:
    expected = build_panel(whole, SCHEMA, fitted=panel).future_x
    assert expected is not None
    expected = expected.reshape(3, 60, 4)[:, 48:55]
    table = whole.drop("y", "visitors", "size", "region")
    np.testing.assert_array_equal(read_future(table, panel, 7), expected)
    np.testing.assert_array_equal(read_future(table.sample(fraction=1.0, shuffle=True, seed=0), panel, 7), expected)
    np.testing.assert_array_equal(read_future(table.to_pandas(), panel, 7), expected)
    table.write_csv(tmp_path / "future.csv")
    np.testing.assert_array_equal(read_future(tmp_path / "future.csv", panel, 7), expected)


def test_nothing_is_needed_without_covariates(whole: pl.DataFrame) -> None:
    assert read_future(None, build_panel(whole), 5) is None
    panel = build_panel(whole, Schema(calendar="hour"))
    values = read_future(None, panel, 24)
    assert values is not None
    assert values.shape == (3, 24, 1)
    np.testing.assert_allclose(values[2, :, 0], (np.arange(60, 84) % 24) / 23 - 0.5, atol=1e-6)


def test_a_single_series_needs_no_id() -> None:
    frame = pl.DataFrame({"ds": [1, 2, 3], "y": [1.0, 2.0, 3.0], "x": [1, 2, 3]})
    panel = build_panel(frame, Schema(future="x"))
    values = read_future(pl.DataFrame({"ds": [5, 4], "x": [50, 40]}), panel, 2)
    assert values is not None
    assert values.tolist() == [[[40], [50]]]


def test_keys_of_another_type_match_where_nothing_is_lost() -> None:
    frame = pl.DataFrame(
        {"unique_id": [1, 1], "ds": [date(2024, 1, 1), date(2024, 1, 2)], "y": [1.0, 2.0], "x": [1, 2]}
    )
    panel = build_panel(frame, Schema(future="x"))
    table = pl.DataFrame({"unique_id": ["1"], "ds": [datetime(2024, 1, 3)], "x": [7]})
    values = read_future(table, panel, 1)
    assert values is not None
    assert values.tolist() == [[[7]]]


def test_unknown_categories_may_be_allowed(whole: pl.DataFrame) -> None:
    panel = build_panel(whole.head(60), SCHEMA.replace(unknown_category="unknown"))
    table = pl.DataFrame(
        {"unique_id": "series-0", "ds": [datetime(2020, 1, 3, 12)], "price": [1.0], "weather": ["hail"]}
    )
    values = read_future(table, panel, 1)
    assert values is not None
    assert values[0, 0, 1] == 0
