from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from neuro_divergent.runs import series_table
from neuro_divergent.runs.mean_errors import mean_errors
from neuro_divergent.runs.series_table import ParquetSeriesTable


def backtest(names: list[str | None]) -> pl.DataFrame:
    """Return a backtest in which some values are missing or not finite, and of one series all."""
    chance = random.Random(5)
    special = [None, float("nan"), float("inf")]
    rows = [
        (name, *(chance.choice(special) if chance.random() < 0.1 or name == "e" else chance.gauss(0, 1) for _ in "abc"))
        for name in names
        for _ in range(chance.randint(1, 25))
    ]
    kinds = {"store": pl.String, "actual": pl.Float32, "forecast": pl.Float32, "naive": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


@pytest.mark.parametrize("reference", ["naive", "not there"])
def test_mean_errors_are_those_of_the_whole_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    monkeypatch.setattr(series_table, "_ROWS_AT_ONCE", 30)
    frame = backtest(["a", None, "b", "e", "c", *(f"s{number:02d}" for number in range(50)), None])
    frame.write_parquet(tmp_path / "backtest.parquet")
    used = ["forecast", *(["naive"] if reference == "naive" else [])]
    errors = [(pl.col("actual").cast(pl.Float64) - pl.col(name)).abs().alias(name) for name in used]
    wanted = (
        frame.drop_nulls("store")
        .with_columns(errors)
        .filter(pl.all_horizontal(pl.col(name).is_finite() for name in used))
        .group_by("store", maintain_order=True)
        .agg(pl.col(used).mean())
        .with_columns(actual=pl.lit(0.0))
    )
    found = mean_errors(ParquetSeriesTable(tmp_path / "backtest.parquet", "store"), reference)
    assert found is not None
    assert "e" not in found["store"]
    assert_frame_equal(found, wanted)


def test_mean_errors_need_what_was_observed_and_consecutive_rows(tmp_path: Path) -> None:
    frame = backtest(list("abc"))
    frame.drop("actual").write_parquet(tmp_path / "forecasts.parquet")
    assert mean_errors(ParquetSeriesTable(tmp_path / "forecasts.parquet", "store"), "naive") is None
    pl.concat([frame, frame]).write_parquet(tmp_path / "twice.parquet")
    assert mean_errors(ParquetSeriesTable(tmp_path / "twice.parquet", "store"), "naive") is None
