import numpy as np
import pandas as pd
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Line, Rule
from neuro_divergent.reporting.figures.history import (
    gradient_figure,
    loss_figure,
    losses_figure,
    rate_figure,
    speed_figure,
)

HISTORY = pl.DataFrame(
    {
        "step": [10, 20, 25, 30, 40, 50],
        "train_loss": [1.0, 0.5, None, float("nan"), 0.3, float("inf")],
        "validation_loss": [None, None, 0.8, None, 0.4, 0.6],
        "learning_rate": [1e-3, 2e-3, 2e-3, 1e-3, 5e-4, 1e-4],
        "gradient_norm": [0.5, 2.0, 0.5, 4.0, 0.5, 0.25],
        "samples_per_second": [100.0, 200.0, 300.0, 200.0, 250.0, 150.0],
    }
)


def test_losses_are_drawn_where_they_were_measured_and_the_lowest_is_marked():
    figure = loss_figure(HISTORY)
    train, validation, rule = figure.marks
    assert isinstance(train, Line)
    assert isinstance(validation, Line)
    assert isinstance(rule, Rule)
    assert (train.x.tolist(), train.y.tolist(), train.tone) == ([10, 20, 40], [1.0, 0.5, 0.3], "train")
    assert (validation.x.tolist(), validation.y.tolist()) == ([25, 40, 50], [0.8, 0.4, 0.6])
    assert (rule.x, rule.label) == (40.0, "lowest at step 40")
    assert figure.alt_text == (
        "The training loss went from 1 to 0.3. "
        "The validation loss went from 0.8 to 0.6 and was lowest at step 40 with 0.4."
    )
    assert figure.y.logarithmic is None


def test_a_history_without_validation_has_no_mark_of_it():
    assert len(loss_figure(HISTORY.drop("validation_loss")).marks) == 1
    assert len(loss_figure(HISTORY.with_columns(validation_loss=pl.lit(None))).marks) == 1


def test_rate_gradient_and_speed_figures_have_alt_text():
    assert rate_figure(HISTORY).alt_text == (
        "The learning rate went from 0.001 to 0.0001; it was highest at step 20 with 0.002."
    )
    assert gradient_figure(HISTORY).alt_text == "The gradient norm has a median of 0.5 and is 4 at most."
    clipped = gradient_figure(HISTORY, clip=1.0)
    assert clipped.alt_text.endswith("33 % of the values are above the 1 at which it is clipped.")
    assert clipped.marks[1] == Rule(y=1.0, label="clipped at 1")
    assert speed_figure(HISTORY).alt_text == "The median speed is 200 windows per second, between 100 and 300."


def test_runs_are_shown_together_by_name():
    other = HISTORY.with_columns(validation_loss=pl.col("validation_loss") / 2)
    none = HISTORY.drop("validation_loss")
    figure = losses_figure({"one": HISTORY, "<script>": other, "none": none})
    assert [mark.label for mark in figure.marks if isinstance(mark, Line)] == ["one", "<script>"]
    assert figure.alt_text == "Lowest validation loss: 0.2 in <script>, 0.4 in one."
    assert figure.note == "1 without validation loss left out."
    assert losses_figure({"one": none}, "train_loss").title == "Training loss"


def test_a_million_steps_keep_their_extremes():
    loss = np.linspace(2, 1, 1_000_000)
    loss[123_456], loss[777_777] = 9.0, 0.1
    figure = loss_figure(pl.DataFrame({"step": np.arange(1_000_000), "train_loss": loss}))
    line = figure.marks[0]
    assert isinstance(line, Line)
    assert len(line.x) < 5_000
    assert (line.x[0], line.x[-1]) == (0, 999_999)
    assert line.x[line.y.argmax()] == 123_456
    assert line.x[line.y.argmin()] == 777_777


def test_pandas_works_as_well():
    ours, theirs = loss_figure(HISTORY), loss_figure(HISTORY.to_pandas())
    assert isinstance(HISTORY.to_pandas(), pd.DataFrame)
    assert ours.alt_text == theirs.alt_text


@pytest.mark.parametrize("make", [loss_figure, rate_figure, gradient_figure, speed_figure])
def test_history_figure_without_its_column_is_an_error(make):
    with pytest.raises(InputError, match="recorded"):
        make(HISTORY.select("step"))
    with pytest.raises(InputError, match="no column 'step'"):
        make(HISTORY.drop("step"))
    with pytest.raises(InputError, match="no data rows"):
        make(HISTORY.clear())
    with pytest.raises(InputError, match="there is none"):
        make(None)


def test_no_run_with_the_column_is_an_error():
    with pytest.raises(InputError, match="none of 1 has values of 'loss'"):
        losses_figure({"one": HISTORY}, "loss")
