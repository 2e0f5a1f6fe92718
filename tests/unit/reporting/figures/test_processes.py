"""The figure of processes that train together."""

from __future__ import annotations

import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Line
from neuro_divergent.reporting.figures.processes import MOST_LINES, processes_figure
from neuro_divergent.reporting.svg.inline import render_inline_svg


def frame(busy: list[float | None], steps: tuple[int, ...] = (10, 20, 30)) -> pl.DataFrame:
    rows = [(step, rank, f"node-{rank}", value) for step in steps for rank, value in enumerate(busy)]
    return pl.DataFrame(rows, schema=["step", "rank", "host", "busy_seconds"], orient="row")


def test_there_is_a_named_line_for_each_process_in_milliseconds() -> None:
    figure = processes_figure(frame([0.02, 0.05]))
    lines = [mark for mark in figure.marks if isinstance(mark, Line)]
    assert [line.label for line in lines] == ["process 0 on node-0", "process 1 on node-1"]
    assert lines[1].x.tolist() == [10, 20, 30]
    assert lines[1].y.tolist() == [50, 50, 50]
    assert "process 1 takes longest (50 ms per step)" in figure.alt_text
    assert "process 1 on node-1" in render_inline_svg(figure)


def test_of_many_processes_the_slowest_are_shown() -> None:
    figure = processes_figure(frame([0.01 * rank for rank in range(1, 13)]))
    labels = [mark.label for mark in figure.marks if isinstance(mark, Line)]
    assert labels == [f"process {rank} on node-{rank}" for rank in range(12 - MOST_LINES, 12)]
    assert figure.note.startswith("The 8 slowest of 12 processes.")


def test_without_a_measured_step_there_is_no_figure() -> None:
    with pytest.raises(InputError, match="several processes"):
        processes_figure(frame([None, None]))
    with pytest.raises(InputError, match="processes: there is none"):
        processes_figure(None)
