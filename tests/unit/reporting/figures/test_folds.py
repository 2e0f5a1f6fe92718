import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit
from neuro_divergent.reporting.figures.figure import Figure, Spans
from neuro_divergent.reporting.figures.folds import folds_figure


def _panel(lengths: list[int]) -> Panel:
    start = np.datetime64("2024-01-01", "us")
    frame = pl.DataFrame(
        {
            "unique_id": np.repeat([f"s{number}" for number in range(len(lengths))], lengths),
            "ds": np.concatenate([start + np.arange(length).astype("timedelta64[h]") for length in lengths]),
            "y": np.arange(float(sum(lengths))),
        }
    )
    return build_panel(frame, Schema())


def _spans(figure: Figure) -> dict[str, Spans]:
    return {mark.label: mark for mark in figure.marks if isinstance(mark, Spans)}


@pytest.mark.parametrize("rows", [200, 3_000])
def test_folds_show_the_times_that_the_splitter_gives(rows):
    splitter = TimeSeriesSplit(n_splits=3, test_size=30, gap=12)
    panel = _panel([rows, rows])
    figure = folds_figure(splitter, panel)
    marks = _spans(figure)
    assert list(marks) == ["train", "gap and purge", "test"]
    expected = splitter.spans(panel).filter(pl.col("series") == 0)
    exact = np.timedelta64(rows // 1_000, "h")  # a thousandth of the time
    for role, label in (("train", "train"), ("test", "test"), ("gap", "gap and purge")):
        times = expected.filter(pl.col("role") == role)
        mark = marks[label]
        assert list(mark.rows) == [f"fold {number}" for number in times["fold"]]
        assert (np.abs(mark.begin - times["first"].to_numpy()) <= exact).all()
        assert (np.abs(mark.end - np.timedelta64(1, "h") - times["last"].to_numpy()) <= exact).all()
    assert figure.alt_text.startswith("3 folds of 2 series from 2024-01-01")


def test_series_that_differ_have_rows_of_their_own():
    figure = folds_figure(TimeSeriesSplit(n_splits=2, test_size=10), _panel([200, 150, 150]))
    train = _spans(figure)["train"]
    assert list(dict.fromkeys(train.rows)) == [f"fold {fold}, {count} series" for fold in (0, 1) for count in (2, 1)]


def test_a_panel_that_cannot_be_split_is_an_error():
    with pytest.raises(DataError):
        folds_figure(TimeSeriesSplit(n_splits=5, test_size=100), _panel([50]))


def test_series_that_are_not_shown_are_counted_in_the_note():
    figure = folds_figure(TimeSeriesSplit(n_splits=1, test_size=5), _panel([60, 50, 40, 30, 20, 2]))
    assert figure.note == "Fold 0: 2 more with other layouts, 1 series left out."


def test_a_table_gives_the_same_figure_as_its_panel():
    frame = pl.DataFrame({"day": range(20), "sold": [float(day) for day in range(20)]})
    panel = build_panel(frame, Schema(time="day", target="sold"))
    splitter = TimeSeriesSplit(n_splits=2, test_size=5)
    one, two = folds_figure(splitter, frame, time="day", target="sold"), folds_figure(splitter, panel)
    assert one.alt_text == two.alt_text
    assert [(mark.label, list(mark.rows)) for mark in one.marks] == [
        (mark.label, list(mark.rows)) for mark in two.marks
    ]
