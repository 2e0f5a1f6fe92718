"""Figures of the folds of a splitter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from neuro_divergent.core.formatting import format_count
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.splitters.drawing import meanings_of
from neuro_divergent.evaluation.splitters.fold_layout import look_at, show_ends
from neuro_divergent.evaluation.splitters.segment_table import segments_of
from neuro_divergent.evaluation.splitters.timeline import first_steps
from neuro_divergent.reporting.figures.columns import places_of
from neuro_divergent.reporting.figures.figure import Array, Axis, Figure, Spans, Tone

if TYPE_CHECKING:
    from neuro_divergent.evaluation.splitters.base import Splitter

_COLUMNS = 1_000
_TONES: dict[str, Tone] = {"train": "train", "gap": "neutral", "test": "forecast", "embargo": "bad"}


def folds_figure(splitter: Splitter, panel: Panel) -> Figure:
    """Show the training and test parts of each fold.

    A fold is one row, or a few where its series differ: the most common looks, with the number of series that look like
    this. Over more than 1,000 rows of time, ends are exact to a thousandth of it.

    Args:
        splitter: What makes the folds.
        panel: The series.

    Raises:
        DataError: If the panel cannot be split like this.
    """
    segments = segments_of(splitter.split(panel))
    total = int((first_steps(panel) + panel.lengths).max())
    columns = min(total, _COLUMNS)
    times = _times(panel, total, columns)
    found: dict[str, list[tuple[str, int, int]]] = {role: [] for role in _TONES}
    rows, remarks = [], []
    for fold in look_at(segments, panel, columns):
        for place, look in enumerate(fold.looks):
            name = f"fold {fold.number}" if fold.is_plain else f"fold {fold.number}, {look.count:,} series"
            name += "" if name not in rows else f" ({place + 1})"
            rows.append(name)
            begin = 0
            for role, width in look.runs:
                if role:
                    found[role].append((name, begin, begin + width))
                begin += width
        if fold.remark:
            remarks.append(f"Fold {fold.number}: {fold.remark}.")
    first = next(role for role in _TONES if found[role])
    known = {name for name, _, _ in found[first]}
    # Rows stand in the order in which they are met, so the first mark has them all.
    found[first] += [(name, 0, 0) for name in rows if name not in known]
    found[first].sort(key=lambda item: rows.index(item[0]))
    marks = []
    for role, meaning in meanings_of(segments).items():
        if found[role]:
            names, begins, ends = zip(*found[role], strict=True)
            marks.append(Spans(names, times[list(begins)], times[list(ends)], label=meaning, tone=_TONES[role]))
    number = int(segments["fold"].n_unique())
    return Figure(
        title=f"Folds of {splitter.name}",
        marks=tuple(marks),
        x=Axis(panel.schema.time),
        note=" ".join(remarks[:3]),
        alt_text=f"{format_count(number, 'fold')} of {format_count(panel.num_series, 'series', 'series')} from "
        f"{' to '.join(show_ends(panel))}.",
    )


def _times(panel: Panel, total: int, columns: int) -> Array:
    """Return the time at the border of each column, from the first row of the panel to behind its last."""
    steps = np.round(np.arange(columns + 1) * total / columns).astype(np.int64)
    starts = pl.Series([panel.starts.min()] * len(steps), dtype=panel.starts.dtype)
    return places_of(panel.frequency.time_at(starts, steps))
