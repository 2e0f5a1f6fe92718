import numpy as np
import pytest

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.reporting.figures.figure import Line
from neuro_divergent.reporting.figures.schedule import schedule_figure
from neuro_divergent.training.schedules.base import Plan, Schedule


def test_a_schedule_is_drawn_as_its_factors_say():
    schedule = Schedule.from_dict("warmup_cosine")
    figure = schedule_figure(schedule, 200, lr=0.5)
    (line,) = figure.marks
    assert isinstance(line, Line)
    expected = [0.5 * schedule.factor(step, Plan(200, 50)) for step in range(200)]
    np.testing.assert_allclose(line.y, expected)
    assert line.x.tolist() == list(range(200))
    assert figure.title == "Learning rate, warmup_cosine"
    assert not figure.note


def test_several_are_drawn_together():
    figure = schedule_figure(["constant", "warmup_cosine"], 100)
    assert [mark.label for mark in figure.marks if isinstance(mark, Line)] == ["constant", "warmup_cosine"]
    assert figure.alt_text.startswith("constant goes from 0.001 to 0.001, at most 0.001; warmup_cosine goes from ")


def test_one_that_reacts_to_validation_says_so():
    figure = schedule_figure("plateau", 3_000)
    line = figure.marks[0]
    assert isinstance(line, Line)
    assert line.y[-1] < line.y[0]
    assert figure.note.startswith(
        "plateau reacts to validation: this is what it does when a loss, measured every 50 steps"
    )


def test_wrong_arguments_are_refused():
    with pytest.raises(ConfigError, match="Did you mean"):
        schedule_figure("warmup_cosin")
    for arguments in ({"total_steps": 0}, {"steps_per_epoch": 0}, {"lr": 0.0}, {"lr": float("inf")}):
        with pytest.raises(InputError):
            schedule_figure("constant", **arguments)
    with pytest.raises(InputError, match="none to show"):
        schedule_figure([])
