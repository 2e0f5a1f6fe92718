"""The doctor does not get tired: very long histories, and very many series."""

from __future__ import annotations

import time
import tracemalloc
from datetime import datetime, timedelta

import numpy as np
import polars as pl

from neuro_divergent.diagnostics.doctor import examine
from neuro_divergent.diagnostics.evidence import Evidence


def test_history_of_a_million_rows_is_checked_quickly_in_little_memory() -> None:
    rows = 1_000_000
    steps = np.arange(1, rows + 1)
    noise = np.random.default_rng(0).normal(0, 0.01, rows)
    history = pl.DataFrame(
        {
            "step": steps,
            "epoch": steps // 1000,
            "seconds": steps / 100,
            "train_loss": 0.5 + 1 / (1 + steps / 10_000) + noise,
            "learning_rate": np.full(rows, 1e-3),
            "gradient_norm": 1 + 10 * np.abs(noise),
            "samples_per_second": np.full(rows, 3200.0),
            "waiting_share": np.full(rows, 0.1),
            "validation_loss": np.where(steps % 100 == 0, 0.55 + 1 / (1 + steps / 10_000), np.nan),
        }
    ).with_columns(pl.col("validation_loss").fill_nan(None))
    tracemalloc.start()
    began = time.process_time()
    diagnosis = examine(Evidence(history=history, state="finished"))
    seconds, (_, most) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {"overfitting", "plateau", "oscillation"} <= set(diagnosis.checked)
    assert not diagnosis.of("problem", "warning")
    assert seconds < 10
    assert most < 500e6


def test_forecasts_of_many_series_are_checked_quickly() -> None:
    series, horizon, cutoffs = 5_000, 6, 3
    begin = datetime(2026, 1, 1)
    index = np.arange(series * horizon * cutoffs)
    step = index % horizon + 1
    cutoff = (index // horizon) % cutoffs * horizon
    noise = np.random.default_rng(0).normal(size=len(index))
    backtest = pl.DataFrame(
        {
            "unique_id": (index // (horizon * cutoffs)).astype(str),
            "ds": [begin + timedelta(days=int(day)) for day in cutoff + step],
            "cutoff": [begin + timedelta(days=int(day)) for day in cutoff],
            "step": step,
            "actual": noise,
            "forecast": np.zeros(len(index)),
            "last value": np.ones(len(index)),
            "seasonal naive": np.ones(len(index)),
            "drift": np.ones(len(index)),
        }
    )
    began = time.process_time()
    diagnosis = examine(Evidence(backtest=backtest, id="unique_id", state="finished"))
    assert "residual_autocorrelation" in diagnosis.checked
    assert not diagnosis.of("problem", "warning")
    assert time.process_time() - began < 5
