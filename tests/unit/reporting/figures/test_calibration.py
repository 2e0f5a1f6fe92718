import numpy as np
import pandas as pd
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.calibration import calibration_figure, pit_figure
from neuro_divergent.reporting.figures.figure import Bars, Line, Points, Rule

LEVELS = [{"level": 80.0, "coverage": 71.0, "width": 1.0}, {"level": 50.0, "coverage": 52.0, "width": 0.5}]


def test_calibration_figure_shows_coverage_against_level_with_the_diagonal():
    figure = calibration_figure({"part": "test", "levels": LEVELS})
    diagonal, line, points = figure.marks
    assert isinstance(diagonal, Line)
    assert isinstance(line, Line)
    assert isinstance(points, Points)
    assert diagonal.x.tolist() == diagonal.y.tolist() == [0, 100]
    assert (points.x.tolist(), points.y.tolist()) == ([50, 80], [52, 71])
    assert figure.x.limits == figure.y.limits == (0, 100)
    assert figure.alt_text == (
        "Coverage: 52.0 % in the 50 % interval, 71.0 % in the 80 % interval. Farthest off is the 80 % "
        "interval, 9.0 percentage points too narrow."
    )
    assert figure.note.startswith("On the test part.")


def test_tables_and_undefined_numbers_work():
    expected = calibration_figure({"levels": LEVELS}).alt_text
    broken = [*LEVELS, {"level": 95.0, "coverage": None, "width": None}]
    assert calibration_figure({"levels": broken}).alt_text == expected
    assert calibration_figure(pl.DataFrame(LEVELS)).alt_text == expected
    assert calibration_figure(pd.DataFrame(LEVELS)).alt_text == expected
    right = calibration_figure(pl.DataFrame({"level": [50.0], "coverage": [50.0]}))
    assert right.alt_text.endswith("Farthest off is the 50 % interval, which is right.")


@pytest.mark.parametrize(
    "calibration", [{}, {"levels": []}, {"levels": None}, {"levels": [{"level": 80.0, "coverage": None}]}]
)
def test_no_interval_is_an_error(calibration):
    with pytest.raises(InputError, match="there are no intervals"):
        calibration_figure(calibration)


def _pit(values: np.ndarray, edges: np.ndarray) -> dict[str, object]:
    counts, _ = np.histogram(values, edges)
    return {"pit": {"edges": edges.tolist(), "shares": (counts / len(values)).tolist()}}


def test_even_bins_are_bars_and_uneven_ones_steps_of_the_same_density():
    values = np.random.default_rng(0).uniform(size=100_000) ** 2  # density 1 / (2 sqrt(u))
    even, uneven = np.linspace(0, 1, 11), np.array([0, 0.025, 0.1, 0.5, 0.9, 0.975, 1])
    bars, rule = pit_figure(_pit(values, even)).marks
    steps, _ = pit_figure(_pit(values, uneven)).marks
    assert isinstance(bars, Bars)
    assert isinstance(steps, Line)
    assert rule == Rule(y=1.0, label="as it should be")
    np.testing.assert_allclose(bars.lengths, np.diff(np.sqrt(even)) / np.diff(even), rtol=0.05)
    np.testing.assert_allclose(steps.y[:-1], np.diff(np.sqrt(uneven)) / np.diff(uneven), rtol=0.05)
    assert steps.y[-1] == steps.y[-2]
    assert steps.steps
    assert steps.x.tolist() == uneven.tolist()


@pytest.mark.parametrize(
    ("power", "words"),
    [
        (
            lambda u: u,
            "20 % of the values fell into the outer fifth of their distributions, and 50 % above the median.",
        ),
        (lambda u: 0.5 + 0.5 * np.sign(u - 0.5) * np.abs(2 * u - 1) ** 0.4, "so these are too narrow"),
        (lambda u: 0.5 + 0.5 * np.sign(u - 0.5) * np.abs(2 * u - 1) ** 2, "so these are too wide"),
        (lambda u: u**0.5, "so forecasts are too low"),
        (lambda u: u**2, "so forecasts are too high"),
    ],
    ids=["even", "narrow", "wide", "low", "high"],
)
def test_pit_alt_text_names_the_shape(power, words):
    values = power((np.arange(10_000) + 0.5) / 10_000)
    assert words in pit_figure(_pit(values, np.linspace(0, 1, 21))).alt_text


@pytest.mark.parametrize(
    "pit",
    [
        None,
        {},
        {"edges": [0, 1], "shares": []},
        {"edges": [0, 0.5, 1], "shares": [1]},
        {"edges": [0, 0], "shares": [1]},
    ],
)
def test_pit_that_is_missing_or_damaged_is_an_error(pit):
    with pytest.raises(InputError, match="calibration"):
        pit_figure({"pit": pit})
