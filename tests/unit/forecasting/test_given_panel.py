"""Panels as new data for a trained model: their categories are those of training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd

ROLES = {"past": ["kind"]}


def table(kinds: list[str], rows: int = 60, first: int = 0) -> pl.DataFrame:
    """Return two series whose covariate takes some values in turn."""
    random = np.random.default_rng(3)
    time = np.arange(first, first + rows)
    parts = [
        pl.DataFrame({"unique_id": name, "ds": time, "y": random.normal(5, 1, rows), "kind": np.resize(kinds, rows)})
        for name in ("a", "b")
    ]
    return pl.concat(parts)


def trained(data: object, initial: object = None, **schema: object) -> nd.Forecaster:
    forecaster = nd.Forecaster(
        nd.models.TFT(hidden_size=8), horizon=4, input_size=8, training=nd.TrainingConfig(max_steps=3)
    )
    return forecaster.fit(data, initial=initial, **ROLES, **schema)  # type: ignore[arg-type]


def test_stored_panel_with_appended_categories_is_forecast_like_its_table(tmp_path: Path) -> None:
    forecaster = trained(table(["x", "z"]), unknown_category="unknown")
    before, later = table(["x", "z"]), table(["m", "x"], 6, first=60)
    nd.Panel.build(_parquet(before, tmp_path), tmp_path / "panel", **ROLES)
    nd.Panel.append(tmp_path / "panel", later)
    found = forecaster.predict(tmp_path / "panel")
    expected = forecaster.predict(pl.concat([before, later]))
    assert found.equals(expected.with_columns(pl.col("ds").cast(found["ds"].dtype)))


def test_stored_panel_with_a_category_unknown_in_training_is_refused_by_name(tmp_path: Path) -> None:
    forecaster = trained(table(["x", "z"]))
    nd.Panel.build(_parquet(table(["x", "m"]), tmp_path), tmp_path / "panel", **ROLES)
    with pytest.raises(nd.errors.DataError, match="category 'm' not in training data"):
        forecaster.predict(tmp_path / "panel")


@pytest.mark.parametrize("is_stored", [False, True])
def test_warm_start_on_a_panel_with_other_categories_codes_them_as_in_training_or_says_why_not(
    is_stored: bool, tmp_path: Path
) -> None:
    before = trained(table(["x", "z"]))
    other = table(["z"])
    panel = nd.Panel.build(_parquet(other, tmp_path), tmp_path / "panel", **ROLES)
    if is_stored:
        with pytest.raises(nd.errors.DataError, match="'kind' has other categories"):
            trained(tmp_path / "panel", before)
        return
    in_memory = nd.Panel.open(tmp_path / "panel", mmap=False)
    found, expected = trained(in_memory, before), trained(other, before)
    assert found.panel is not None
    assert found.panel.categories == {"kind": ["x", "z"]}
    assert found.predict().equals(expected.predict())
    assert panel.categories == {"kind": ["z"]}


def _parquet(frame: pl.DataFrame, place: Path) -> Path:
    frame.write_parquet(place / "table.parquet")
    return place / "table.parquet"
