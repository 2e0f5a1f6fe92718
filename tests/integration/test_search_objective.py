"""The objective that a study has if none is given, and the curve that its pruner sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.models.base import Architecture
from neuro_divergent.search.study import Study

SIZES = (1.0, 10_000.0)


def panel(num_series: int = 280, rows: int = 40) -> pl.DataFrame:
    """Return series of two sizes, enough for validation windows that do not overlap."""
    draw = np.random.default_rng(0)
    values = [
        SIZES[number % 2] * (5 + np.sin(np.arange(rows)) + draw.normal(size=rows)) for number in range(num_series)
    ]
    return pl.DataFrame(
        {
            "unique_id": np.repeat([f"{number:03}" for number in range(num_series)], rows),
            "ds": np.tile(np.arange(rows), num_series),
            "y": np.concatenate(values),
        }
    )


def study_of(
    data: pl.DataFrame, directory: Path, model: str = "nlinear", validation: float = 0.1, **config: Any
) -> Study:
    training = nd.TrainingConfig(max_steps=20, threads=1, validate_every=20, early_stopping=None)
    settings = {} if model == "nlinear" else {"hidden_size": 8, "num_heads": 2, "num_layers": 1}
    architecture = Architecture.from_dict({"name": model, **settings})
    forecaster = nd.Forecaster(architecture, horizon=4, input_size=8, validation=validation, training=training)
    space = {"training.optimizer.lr": [1e-3]}
    return Study(forecaster, directory, space, **{"method": "random", **config}).run(data, trials=1)


@pytest.mark.parametrize(("objective", "model"), [("mase", "nlinear"), ("mae", "nlinear"), ("mase", "itransformer")])
def test_last_report_to_the_pruner_is_the_value_of_the_objective(objective: str, model: str, tmp_path: Path) -> None:
    data, rows = (panel(), 4) if model == "nlinear" else (panel(num_series=4, rows=1200), 4 * 256)
    (trial,) = study_of(data, tmp_path / "study", model, rows, objectives=objective).trials
    assert trial.reports[20] == pytest.approx(trial.values[objective], rel=1e-4)


def test_search_by_mase_serves_the_many_small_series_where_one_by_mae_serves_the_large_one(tmp_path: Path) -> None:
    """A large random walk needs its last values only; small series have a season that a short history does not show."""
    draw, rows, horizon = np.random.default_rng(1), 260, 14
    season = np.sin(2 * np.pi * np.arange(rows) / 14)
    small = [10 + season + 0.1 * draw.normal(size=rows) for _ in range(8)]
    large = [1000 * draw.normal(size=rows).cumsum() for _ in range(2)]
    data = pl.concat(
        pl.DataFrame({"unique_id": f"{number}", "ds": np.arange(rows), "y": values})
        for number, values in enumerate([*small, *large])
    )
    train, test = data.filter(pl.col("ds") < rows - horizon), data.filter(pl.col("ds") >= rows - horizon)
    training = nd.TrainingConfig(max_steps=150, threads=1, early_stopping=None)
    errors = {}
    for objective in ("mae", "mase"):
        forecaster = nd.Forecaster("nlinear", horizon=horizon, validation=4 * horizon, training=training)
        space = {"task.input_size": [2, 28]}
        study = Study(forecaster, tmp_path / objective, space, method="grid", pruner=None, objectives=objective)
        best = study.run(train, trials=2).best
        assert best is not None
        chosen = forecaster.with_settings({"task.input_size": best.settings["task.input_size"]}).fit(train)
        joined = test.rename({"y": "actual"}).join(chosen.predict(), on=["unique_id", "ds"])
        errors[objective] = nd.score(
            joined, models=["forecast"], metrics=["mase"], train=train, train_target="y", season_length=1
        )["mase"][0]
        assert best.settings["task.input_size"] == {"mae": 2, "mase": 28}[objective]
    assert errors["mase"] < 0.8 * errors["mae"]


def test_default_objective_is_mase_in_which_series_of_all_sizes_count_alike(tmp_path: Path) -> None:
    data = panel(num_series=4)
    study = study_of(data, tmp_path / "study")
    (goal,) = study.config.objectives
    assert goal.name == "mase"
    assert Study.load(study.directory).config.objectives == (goal,)


@pytest.mark.filterwarnings("ignore::neuro_divergent.core.errors.DataWarning")
def test_default_objective_of_constant_series_is_the_mean_absolute_error(tmp_path: Path) -> None:
    data = panel(num_series=2).with_columns(y=pl.lit(3.0))
    study = study_of(data, tmp_path / "study")
    assert [goal.name for goal in study.config.objectives] == ["mae"]
    assert [trial.state for trial in study.trials] == ["complete"]


def test_search_of_series_that_are_shorter_than_a_window_pads_them_as_training_does(tmp_path: Path) -> None:
    study = study_of(panel(num_series=20, rows=11), tmp_path / "study")
    assert [trial.state for trial in study.trials] == ["complete"]
