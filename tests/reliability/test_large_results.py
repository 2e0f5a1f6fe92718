"""Results for twenty million rows of two hundred thousand series, with a gigabyte of own memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.reliability.large_results import HORIZON, SERIES, run_stage, write_panel

pytestmark = pytest.mark.long

MEGABYTES = 1_000


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_run_report_forecasts_by_parts_evaluation_intervals_and_a_fold_need_bounded_memory(place: Path) -> None:
    panel, run = place / "panel", place / "run"
    write_panel(panel)
    assert run_stage("train", panel, place, MEGABYTES) == {"windows": SERIES, "shown": 1_000}
    assert (run / "report.html").stat().st_size > 50_000
    assert not (run / "forecasts.csv").exists()
    forecasts = pl.scan_parquet(run / "forecasts.parquet")
    found = forecasts.select(pl.len(), pl.col("unique_id").n_unique(), pl.col("forecast").is_finite().all()).collect()
    assert found.row(0) == (SERIES * HORIZON, SERIES, True)
    assert pl.scan_parquet(run / "backtest.parquet").select(pl.len()).collect().item() <= 2**20

    used = run_stage("use", panel, place, MEGABYTES)
    assert (used["parts"], used["rows"], used["windows"], used["forecasts"]) == (
        -(-SERIES * HORIZON // 2**20), SERIES * HORIZON, SERIES, SERIES * 6,
    )  # fmt: skip
    assert used["kept"] <= 2**20
    assert "calibrated on 32,768 windows" in used["calibrated"]
    # Scoring reads the ends of the series anew, and forecasts what the run did.
    written = pl.scan_parquet(place / "forecasts" / "*.parquet").select("unique_id", "ds", "forecast")
    both = written.join(forecasts, on=["unique_id", "ds"], suffix="_of_run")
    distance = (pl.col("forecast") - pl.col("forecast_of_run")).abs().max()
    assert both.select(distance).collect().item() < 1e-4
