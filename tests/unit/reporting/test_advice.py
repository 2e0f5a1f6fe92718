"""What is said about a model that is worse than a naive forecast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.evaluation.evaluate import Evaluation
from neuro_divergent.forecasting.task import Task
from neuro_divergent.reporting.advice import Advice, advise

TASK = Task(horizon=4, input_size=12)


def evaluation(own: float, naive: float) -> Evaluation:
    errors = [own, naive + 1, naive, naive + 2]
    rows = {"model": ["nhits", "last value", "seasonal naive", "drift"], "mae": errors, "mase": errors}
    nothing = pl.DataFrame()
    return Evaluation("nhits", "validation", "", 12, 5, pl.DataFrame(rows), nothing, nothing, nothing)


def test_a_model_that_beats_all_baselines_needs_no_advice() -> None:
    assert advise(evaluation(1.0, 1.5), nd.NHITS(), TASK) is None
    assert advise(evaluation(float("nan"), 1.5), nd.NHITS(), TASK) is None


def test_a_model_that_loses_is_compared_with_the_best_baseline_and_told_what_to_try() -> None:
    found = advise(evaluation(1.2, 1.0), nd.NHITS(), TASK)
    assert found is not None
    assert found.ratio == pytest.approx(1.2)
    assert not found.is_warning
    assert found.text.startswith(
        "nhits is worse than the seasonal naive forecast on the validation part: mean absolute error 1.2, that of the "
        "other 1."
    )
    assert found.text.endswith(
        "What to try: train what corrects a seasonal naive forecast (--baseline seasonal_naive); give it two seasons "
        "of history (--input-size 24); try a simpler model (--model nlinear)."
    )


def test_a_model_of_twice_the_error_must_not_be_used() -> None:
    found = advise(evaluation(2.5, 1.0), nd.NHITS(), TASK)
    assert found is not None
    assert found.is_warning
    assert "Do not use these forecasts." in found.text
    assert Advice.read({"advice": found._asdict()}) == found
    exact = advise(evaluation(2.5, 0.0), nd.NHITS(), TASK)
    assert exact is not None
    assert exact.is_warning
    assert Advice.read({}) is None
    assert Advice.read({"advice": {"ratio": "much", "finding": 3}}) is None


def test_advice_fits_the_model() -> None:
    found = advise(evaluation(1.2, 1.0), nd.NLinear(), TASK.replace(input_size=24, baseline="seasonal_naive"))
    assert found is not None
    assert found.text.endswith("More data or other covariates may help.")


def test_forecasts_of_a_hopeless_run_come_with_a_warning_everywhere(tmp_path: Path) -> None:
    times = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 4, 29), eager=True)
    frame = pl.DataFrame({"ds": times, "y": 1000 + np.arange(120.0)})
    frame.write_csv(tmp_path / "table.csv")
    training = nd.TrainingConfig(max_steps=1, threads=1)
    model = nd.Forecaster("mlp", horizon=7, scaler="identity", training=training)
    with pytest.warns(nd.errors.ForecastWarning, match="Do not use these forecasts"):
        model.fit(tmp_path / "table.csv", run=tmp_path / "run")
    scores = json.loads((tmp_path / "run" / "scores.json").read_bytes())
    assert scores["advice"]["ratio"] > 2
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert page.index("Do not use these forecasts") < page.index('id="forecast"')
    command = [sys.executable, "-m", "neuro_divergent.interfaces.cli.main"]
    made = subprocess.run(
        [*command, "predict", str(tmp_path / "run")], capture_output=True, text=True, check=False, timeout=120
    )
    assert made.returncode == 0, made.stderr
    assert "Do not use these forecasts" in made.stderr
