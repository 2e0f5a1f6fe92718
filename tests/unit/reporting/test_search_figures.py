"""Figures of a search, from tables of trials."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.dependence import contour_figure, partial_dependence_figure
from neuro_divergent.reporting.figures.figure import Bars, Figure, Heatmap, Line, Points
from neuro_divergent.reporting.figures.search import (
    convergence_figure,
    parallel_coordinates_figure,
    parameter_importance_figure,
    pareto_figure,
    slice_figure,
)
from neuro_divergent.reporting.plotly.figure import to_plotly
from neuro_divergent.reporting.svg.file import render_svg

TABLE = pl.DataFrame(
    {
        "trial": [0, 1, 2, 3, 4],
        "state": ["complete", "failed", "complete", "complete", "complete"],
        "feasible": [True, True, True, False, True],
        "mae": [3.0, None, 4.0, 0.1, 2.0],
        "parameters": [10.0, None, 5.0, 1.0, 20.0],
        "training.optimizer.lr": [1e-4, 1e-3, 1e-2, 1e-1, 1e-1],
        "training.optimizer": ["adamw", "sgd", "sgd", "adamw", "sgd"],
        "training.optimizer.momentum": [None, 0.9, 0.5, None, 0.1],
    }
)
FIGURES = {
    "convergence": convergence_figure(TABLE, "mae"),
    "importances": parameter_importance_figure({"training.optimizer.lr": 0.7, "training.optimizer": 0.3}),
    "slice of numbers": slice_figure(TABLE, "mae", "training.optimizer.lr"),
    "slice of choices": slice_figure(TABLE, "mae", "training.optimizer"),
    "parallel coordinates": parallel_coordinates_figure(TABLE, "mae"),
    "partial dependence on numbers": partial_dependence_figure(
        "mae", "training.optimizer.lr", [1e-4, 1e-2], np.array([2.0, 3.0]), np.array([1.0, 2.5]), np.array([3.0, 3.5])
    ),
    "partial dependence on choices": partial_dependence_figure(
        "mae", "training.optimizer", ["adamw", [1, 2]], np.array([2.0, 3.0]), np.array([1.0, 2.5]), np.array([3.0, 3.5])
    ),
    "contour": contour_figure(
        "mae",
        ("training.optimizer.lr", "training.optimizer"),
        ([1e-4, 1e-3, 1e-2], ["adamw", "sgd"]),
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        (np.array([0.0, 1.5]), np.array([0.0, 1.0])),
        best=0,
    ),
    "pareto front": pareto_figure(TABLE, "mae", "parameters", [2, 0, 4], 0),
}


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_figure_is_drawn_as_svg_and_by_plotly(figure: Figure) -> None:
    assert render_svg(figure).startswith("<svg")
    assert to_plotly(figure).data
    assert figure.alt_text


def test_convergence_shows_complete_feasible_trials_and_the_best_so_far() -> None:
    points, line = FIGURES["convergence"].marks
    assert isinstance(points, Points)
    assert isinstance(line, Line)
    np.testing.assert_array_equal(points.y, [3.0, 4.0, 2.0])
    np.testing.assert_array_equal(line.y, [3.0, 3.0, 2.0])
    other = convergence_figure(TABLE, "mae", maximize=True).marks[1]
    assert isinstance(other, Line)
    np.testing.assert_array_equal(other.y, [3.0, 4.0, 4.0])


def test_slice_of_choices_has_mean_and_range_of_each() -> None:
    (bars,) = FIGURES["slice of choices"].marks
    assert isinstance(bars, Bars)
    assert list(bars.places) == ["adamw", "sgd"]
    np.testing.assert_array_equal(bars.lengths, [3.0, 3.0])
    assert bars.high is not None
    np.testing.assert_array_equal(bars.high, [3.0, 4.0])


def test_parallel_coordinates_leave_out_settings_that_a_trial_does_not_have() -> None:
    lines = [mark for mark in FIGURES["parallel coordinates"].marks if isinstance(mark, Line)]
    assert sorted(len(line.x) for line in lines) == [2, 3, 3]
    assert all(((line.x >= 0) & (line.x <= 1)).all() for line in lines)


def test_contour_has_the_first_value_of_the_second_setting_at_the_bottom() -> None:
    heat, trials, best = FIGURES["contour"].marks
    assert isinstance(heat, Heatmap)
    assert isinstance(trials, Points)
    assert isinstance(best, Points)
    assert list(heat.y) == ["sgd", "adamw"]
    np.testing.assert_array_equal(heat.values[1], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(trials.y, [1.0, 0.0])  # rows are counted from the top
    np.testing.assert_array_equal((best.x[0], best.y[0]), (0.0, 1.0))
    assert (
        "least, 1, where training.optimizer.lr is 0.0001 and training.optimizer is adamw" in FIGURES["contour"].alt_text
    )


def test_figures_without_complete_trials_say_so() -> None:
    with pytest.raises(InputError, match="none is complete yet"):
        convergence_figure(TABLE.filter(pl.col("state") == "failed"), "mae")
    with pytest.raises(InputError, match="there are none"):
        parameter_importance_figure({})
