"""What the terminal shows at the end of a run, and in which order."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.interfaces.cli.screen import Screen
from neuro_divergent.interfaces.cli.summary import describe_training, draw_forecasts, show_outcome
from neuro_divergent.workflow.outcome import Outcome
from neuro_divergent.workflow.train_run import train_run


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("data") / "table.csv"
    Synthetic(num_series=5, length=60).frame().write_csv(path)
    values = {
        "data": {"path": str(path)},
        "model": {"name": "nlinear"},
        "task": {"horizon": 4, "input_size": 12, "test": 8},
        "training": {"max_steps": 20, "threads": 1, "log_every": 2},
    }
    return train_run(RunConfig.from_dict(values), path.with_name("run"))


def shown(outcome: Outcome, capsys: pytest.CaptureFixture[str], **options: object) -> str:
    show_outcome(outcome, Screen(), **options)  # type: ignore[arg-type]
    return capsys.readouterr().out


def test_forecast_comes_first_then_the_verdict_then_training(
    outcome: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(outcome, capsys)
    places = [
        text.index(words)
        for words in (
            "observed",
            "mean absolute error",
            "The 80 % interval holds",
            "seasonal naive  ",
            "trained for 20",
        )
    ]
    assert places == sorted(places)
    assert text.count(" interval\n") == 2  # the legends of two charts


def test_typical_series_are_those_in_the_middle_of_the_ranking(
    outcome: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome.evaluation is not None
    errors = outcome.evaluation.forecasts.group_by("unique_id").agg(
        (
            (pl.col("forecast") - pl.col("actual")).abs().mean()
            / (pl.col("seasonal naive") - pl.col("actual")).abs().mean()
        ).alias("relative")
    )
    middle = errors.sort("relative")["unique_id"].to_list()[1:3]
    charts = draw_forecasts(outcome, Screen())
    capsys.readouterr()
    assert [chart.plain.split("\n")[0].strip() for chart in charts] == middle


def test_named_series_are_drawn(outcome: Outcome) -> None:
    charts = draw_forecasts(outcome, Screen(), ["series-4"])
    assert [chart.plain.split("\n")[0].strip() for chart in charts] == ["series-4"]


def test_forecasts_are_drawn_where_nothing_was_held_out(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(dataclasses.replace(outcome, evaluation=None), capsys)
    assert "series-0" in text
    assert "baseline" not in text


def test_nothing_is_drawn_without_forecasts(outcome: Outcome) -> None:
    assert draw_forecasts(dataclasses.replace(outcome, evaluation=None, forecasts=None), Screen()) == []


def test_quiet_and_json_show_nothing(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    for screen in (Screen(quiet=True), Screen(as_json=True)):
        show_outcome(outcome, screen)
    assert capsys.readouterr().out == ""


def test_describe_training_names_parameters_steps_and_best_loss(outcome: Outcome) -> None:
    text = describe_training(outcome)
    parameters = outcome.forecaster.num_parameters
    assert text.startswith(f"nlinear with {parameters:,} parameters, trained for 20 steps in ")
    assert "lowest validation loss" in text
