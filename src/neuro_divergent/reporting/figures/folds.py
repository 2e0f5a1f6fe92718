"""Figures of the folds of a splitter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.formatting import format_count
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.splitters.fold_layout import fold_layouts, show_ends
from neuro_divergent.evaluation.splitters.fold_text import meanings_of
from neuro_divergent.evaluation.splitters.segment_table import segments_of
from neuro_divergent.evaluation.splitters.timeline import first_steps
from neuro_divergent.reporting.figures.columns import places_of
from neuro_divergent.reporting.figures.figure import Axis, Figure, Spans, Tone

if TYPE_CHECKING:
    from neuro_divergent.evaluation.splitters.base import Splitter

_COLUMNS = 1_000
_TONES: dict[str, Tone] = {"train": "train", "gap": "neutral", "test": "forecast", "embargo": "bad"}


def folds_figure(splitter: Splitter, data: Any, **schema: Any) -> Figure:
    """Show the training and test parts of each fold.

    A fold is one row, or up to three where its series differ: the most common layouts, each with its number of series.
    Over more than 1,000 rows of time, ends are exact to a thousandth of it. ``schema`` has the fields of ``Schema``
    where the data is no panel.
    """
    panel = data if isinstance(data, Panel) else build_panel(data, Schema(**schema))
    segments = segments_of(splitter.split(panel))
    total = int((first_steps(panel) + panel.lengths).max())
    columns = min(total, _COLUMNS)
    times = _times(panel, total, columns)
    found: dict[str, list[tuple[str, int, int]]] = {role: [] for role in _TONES}
    rows, remarks = [], []
    for fold in fold_layouts(segments, panel, columns):
        for place, layout in enumerate(fold.layouts):
            name = f"fold {fold.number}" if fold.is_uniform else f"fold {fold.number}, {layout.count:,} series"
            name += "" if name not in rows else f" ({place + 1})"
            rows.append(name)
            begin = 0
            for role, width in layout.runs:
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
