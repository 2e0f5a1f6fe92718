"""Segments of folds as a table."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.splitters.fold import Fold

ROLES = ("train", "gap", "embargo", "test")


def segments_of(folds: Iterable[Fold]) -> pl.DataFrame:
    """Return a row for each segment: ``fold``, ``series``, ``role`` (index in ``ROLES``), ``begin`` and ``end``."""
    pieces = []
    for fold in folds:
        train = fold.train_series, fold.train_begins, fold.train_ends
        test = fold.test_series, fold.test_begins, fold.test_ends
        for role, (series, begins, ends) in enumerate((train, fold.gap, fold.embargo, test)):
            count = len(series)
            pieces.append((np.full(count, fold.number), series, np.full(count, role, np.uint8), begins, ends))
    names = ("fold", "series", "role", "begin", "end")
    columns = (np.concatenate(values) for values in zip(*pieces, strict=True))
    return pl.DataFrame(dict(zip(names, columns, strict=True))).sort("fold", "begin")


def spans_of(folds: Iterable[Fold], panel: Panel) -> pl.DataFrame:
    """Return the segments with ids and times, as ``Splitter.spans`` describes them."""
    frame = segments_of(folds)
    series = frame["series"].to_numpy()
    starts, first = panel.starts.gather(frame["series"]), frame["begin"].to_numpy() - panel.offsets[series]
    rows = (frame["end"] - frame["begin"]).to_numpy()
    return frame.select(
        "fold",
        "series",
        panel.ids.gather(frame["series"]).alias("id"),
        pl.Series("role", ROLES).gather(frame["role"]),
        "begin",
        "end",
        panel.frequency.time_at(starts, first).alias("first"),
        panel.frequency.time_at(starts, first + rows - 1).alias("last"),
    )
