"""The same scores of the same table as utilsforecast, wherever it has the metric.

Runs where ``utilsforecast`` is installed (it comes with the ``bench`` extra) and is skipped elsewhere. It calls shares
what percentages are here (MAPE, WAPE, coverage, calibration, the scaled CRPS), and its sMAPE ends at 1 instead of 200.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.evaluation.scoring.score import score

losses = pytest.importorskip(
    "utilsforecast.losses", reason="utilsforecast is not installed: pip install neuro-divergent[bench]"
)

MODELS = ["nhits", "naive"]
SERIES, CUTOFF, HORIZON, SEASON = 7, 60, 12, 6
QUANTILES = np.array([0.025, 0.1, 0.5, 0.9, 0.975])
COLUMNS = {model: [f"{model}-{part}" for part in ("lo-95", "lo-80", "q-0.5", "hi-80", "hi-95")] for model in MODELS}


def make_tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a history and forecasts of several series of different size, one of which is zero now and then."""
    random = np.random.default_rng(0)
    history, forecasts = [], []
    for series in range(SERIES):
        values = 10.0 ** (series - 3) * random.gamma(2.0, size=CUTOFF + HORIZON)
        values[random.random(len(values)) < 0.2 * (series == 3)] = 0
        name, times = f"series {series}", np.arange(1, len(values) + 1)
        history.append(pl.DataFrame({"unique_id": name, "ds": times[:CUTOFF], "y": values[:CUTOFF]}))
        ahead = {"unique_id": name, "ds": times[CUTOFF:], "cutoff": CUTOFF, "y": values[CUTOFF:]}
        for model in MODELS:
            point = values[CUTOFF:] + values.mean() * random.normal(size=HORIZON)
            ahead[model] = point
            for column, share in zip(COLUMNS[model], QUANTILES, strict=True):
                ahead[column] = point + values.std() * (share - 0.45)
        forecasts.append(pl.DataFrame(ahead))
    return pl.concat(history), pl.concat(forecasts)


HISTORY, FORECASTS = make_tables()
SCALED = {"seasonality": SEASON, "train_df": HISTORY}


def of_quantile(place: int) -> dict[str, str]:
    return {model: COLUMNS[model][place] for model in MODELS}


CASES: dict[str, tuple[Callable[[], Any], float]] = {
    "mae": (lambda: losses.mae(FORECASTS, MODELS), 1),
    "mse": (lambda: losses.mse(FORECASTS, MODELS), 1),
    "rmse": (lambda: losses.rmse(FORECASTS, MODELS), 1),
    "bias": (lambda: losses.bias(FORECASTS, MODELS), 1),
    "smape": (lambda: losses.smape(FORECASTS, MODELS), 200),
    "wape": (lambda: losses.wape(FORECASTS, MODELS), 100),
    "mase": (lambda: losses.mase(FORECASTS, MODELS, **SCALED), 1),
    "rmsse": (lambda: losses.rmsse(FORECASTS, MODELS, **SCALED), 1),
    "pinball-0.1": (lambda: losses.quantile_loss(FORECASTS, of_quantile(1), q=0.1), 1),
    "pinball-0.5": (lambda: losses.quantile_loss(FORECASTS, of_quantile(2), q=0.5), 1),
    "pinball": (lambda: losses.mqloss(FORECASTS, COLUMNS, QUANTILES), 1),
    "crps": (lambda: losses.mqloss(FORECASTS, COLUMNS, QUANTILES), 2),
    "scaled_crps": (lambda: losses.scaled_crps(FORECASTS, COLUMNS, QUANTILES), 100),
    "coverage-80": (lambda: losses.coverage(FORECASTS, MODELS, 80), 100),
    "coverage-95": (lambda: losses.coverage(FORECASTS, MODELS, 95), 100),
    "winkler-80": (lambda: losses.winkler_score(FORECASTS, MODELS, 80), 1),
    "calibration-0.9": (lambda: losses.calibration(FORECASTS, of_quantile(3)), 100),
}


def ours(metric: str, **settings: Any) -> pl.DataFrame:
    scores = score(FORECASTS, metrics=metric, target="y", train=HISTORY, season_length=SEASON, **settings)
    return scores.pivot("model", index="unique_id", values=metric).sort("unique_id")


@pytest.mark.parametrize("metric", CASES)
def test_scores_are_those_of_utilsforecast(metric: str) -> None:
    theirs, factor = CASES[metric][0]().sort("unique_id"), CASES[metric][1]
    found = ours(metric, by="unique_id")
    for model in MODELS:
        np.testing.assert_allclose(found[model], factor * theirs[model], rtol=1e-9)


def test_mape_is_that_of_utilsforecast_where_nothing_is_zero() -> None:
    theirs, found = losses.mape(FORECASTS, MODELS).sort("unique_id"), ours("mape", by="unique_id")
    zeros = FORECASTS.group_by("unique_id").agg((pl.col("y") == 0).any()).sort("unique_id")["y"]
    assert 0 < zeros.sum() < SERIES
    for model in MODELS:
        np.testing.assert_allclose(found[model].filter(~zeros), 100 * theirs[model].filter(~zeros), rtol=1e-9)


def test_skill_is_what_the_relative_error_of_utilsforecast_leaves() -> None:
    theirs = losses.rmae(FORECASTS, MODELS, baseline="naive").sort("unique_id")
    found = ours("skill", by="unique_id", reference="naive")
    np.testing.assert_allclose(found["nhits"], 1 - theirs["nhits"], rtol=1e-9)
