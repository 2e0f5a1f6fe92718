"""Cutting each series by time into training, validation and test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Bools, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.io.table import describe
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows

MIN_HISTORY = 3  # observed rows that a level and a spread can be told from


@dataclass(frozen=True, eq=False)
class Split:
    """Windows of the three parts. Targets of a part lie inside it; histories may reach back into the part before."""

    train: Windows
    validation: Windows
    test: Windows


def split_by_time(
    panel: Panel,
    *,
    input_size: int,
    horizon: int,
    validation: int | float = 0.2,
    test: int | float = 0,
    step: int = 1,
    joint: bool = False,
) -> Split:
    """Cut the end of each series off for validation and test, which comes last.

    ``validation`` and ``test`` are a fraction of the observed part of a series (below 1, at least one horizon) or a
    number of rows; 0 for none. A series that has no room for a training window before its cut is used for training
    alone. The history of a window may begin before the first observed row, where the series has masked rows there, but
    has at least ``MIN_HISTORY`` rows from there on. Training windows are ``step`` rows apart; validation and test
    windows are one horizon apart, so each value is forecast at most once.

    Raises:
        DataError: If no series is long enough for a single training window.
    """
    ends = panel.offsets[1:]
    lengths = ends - panel.first_observed
    held_out = _rows(test, lengths, horizon)
    checked = _rows(validation, lengths, horizon)
    begins = panel.first_observed + min(MIN_HISTORY, input_size)
    room = ends - np.maximum(begins, panel.offsets[:-1] + input_size)
    too_short = room - checked - held_out < horizon
    checked = np.where(too_short, 0, checked)
    held_out = np.where(too_short & (room - held_out < horizon), 0, held_out)
    test_begin = ends - held_out
    validation_begin = test_begin - checked

    def windows(first: Ints, last: Ints, apart: int) -> Windows:
        return Windows(panel, input_size, horizon, first, last, apart, joint)

    split = Split(
        train=windows(begins, validation_begin, step),
        validation=windows(validation_begin, test_begin, horizon),
        test=windows(test_begin, ends, horizon),
    )
    if not len(split.train):
        is_padded = (panel.first_observed > panel.offsets[:-1]).any()
        history = min(MIN_HISTORY, input_size) if is_padded else input_size
        message = (
            f"no series is long enough: a window needs {history + horizon} rows ({history} history + {horizon} "
            f"horizon), the longest series has {int(lengths.max(initial=0))}. Lower input_size or horizon."
        )
        raise DataError(describe(panel.source, message))
    return split


def rows_before(panel: Panel, ends: Ints, block: slice) -> Bools:
    """Return which rows of a block lie before the row ``ends`` of their series, one flag per row of the block.

    Args:
        panel: The series.
        ends: Row after the last one that counts, per series, counted over all rows of the panel.
        block: Consecutive rows of the panel; it may begin and end inside a series.
    """
    offsets, first, last = panel.offsets, int(block.start), int(block.stop)
    begin, end = int(np.searchsorted(offsets, first, side="right")) - 1, int(np.searchsorted(offsets, last))
    edges = np.clip(offsets[begin : end + 1], first, last)
    stops = np.clip(ends[begin:end], edges[:-1], edges[1:])
    runs = np.stack([stops - edges[:-1], edges[1:] - stops], axis=1).reshape(-1)
    return np.repeat(np.tile(np.array([True, False]), end - begin), runs)


def _rows(amount: int | float, lengths: Ints, horizon: int) -> Ints:
    """Return the number of rows of each series for a fraction or a count."""
    if amount == 0:
        return np.zeros_like(lengths)
    if amount < 1:
        return np.maximum(np.round(amount * lengths).astype(np.int64), horizon)
    if amount < horizon:
        raise DataError(f"{amount} rows are fewer than one horizon ({horizon}); hold out at least {horizon}.")
    return np.full_like(lengths, int(amount))
