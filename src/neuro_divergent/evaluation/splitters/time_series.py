"""Rolling-origin splits: successive cut-offs near the end of each series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.io.table import describe
from neuro_divergent.evaluation.splitters.base import MOST_ROWS, Rows, Splitter
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.segments import Range, clip, collect, count_rows, cut_out, keep
from neuro_divergent.evaluation.splitters.timeline import first_steps

if TYPE_CHECKING:
    from typing import Self

    from neuro_divergent.core.arrays import Ints
    from neuro_divergent.data.panel import Panel

SomeRows = Annotated[int, Field(ge=1, le=MOST_ROWS)]


@register("time_series")
class TimeSeriesSplit(Splitter):
    """Trains on the past and tests on what follows, at several cut-offs.

    Folds are counted from the end of each series backwards: the test range of the last fold ends where its series does,
    and that of each fold before ends ``step_size`` rows earlier. Fold 0 is the earliest.

    A training window lies completely in a training segment, targets included, so none overlaps with the test range,
    whatever ``purge`` is. ``gap`` and ``purge`` remove, in addition, exactly the windows whose last target is one of
    the ``gap + purge`` rows before the test range. A purge is needed where a target covers later rows: a sum over k
    rows from its own on needs ``purge=k - 1``. Histories of test windows may reach back into the gap and into
    training rows.

    A series takes part in a fold if it has the training rows that the fold needs, and is in neither part otherwise
    (``Fold.left_out`` names those). With ``align="time"`` a series that ends before the test range is trained on, and
    one that ends within it is tested as far as it goes.

    Attributes:
        n_splits: Number of folds.
        test_size: Rows to test in each fold, or a fraction of each series (of the time from the first row of the panel
            to the last, with ``align="time"``), at least one row.
        gap: Rows between training and test that are neither.
        window: Train on all rows before (``"expanding"``) or on exactly the last ``train_size`` of them
            (``"sliding"``); a series with fewer is left out of the fold.
        train_size: Length of the sliding window, in rows.
        step_size: Rows between two cut-offs; unset, ``test_size``, so that test ranges neither overlap nor leave rows
            out between them.
        purge: Further rows before the test range that are not trained on.
        embargo: Rows after the test range of a fold that later folds do not train on where they test that series, so
            that training falls into several segments.
        min_train_size: Training rows that a series must have in a fold, after all of the above.
        align: Count back from the end of each series, or from the last time of the panel so that all series have the
            same cut-offs.

    Examples:
        Two folds of ten rows; each trains on all rows before its test rows:

        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = pl.DataFrame({"ds": range(10), "y": range(10)})
        >>> spans = nd.splitters.TimeSeriesSplit(n_splits=2, test_size=2).spans(table)
        >>> spans.select("fold", "role", "begin", "end").rows()
        [(0, 'train', 0, 6), (0, 'test', 6, 8), (1, 'train', 0, 8), (1, 'test', 8, 10)]
    """

    n_splits: int = Field(default=5, ge=1, le=10_000)
    test_size: int | float = 0.1
    gap: Rows = 0
    window: Literal["expanding", "sliding"] = "expanding"
    train_size: SomeRows | None = None
    step_size: SomeRows | None = None
    purge: Rows = 0
    embargo: Rows = 0
    min_train_size: SomeRows = 1
    align: Literal["end", "time"] = "end"

    @field_validator("test_size")
    @classmethod
    def _rows_or_fraction(cls, value: int | float) -> int | float:
        if 0 < value < 1:
            return value
        if not 1 <= value <= MOST_ROWS or value != int(value):
            raise ValueError(f"{value!r} must be a fraction between 0 and 1 or an integer number of rows")
        return int(value)

    @model_validator(mode="after")
    def _sizes_agree(self) -> Self:
        if self.window == "sliding" and self.train_size is None:
            raise ValueError("time_series: a sliding window needs train_size, its number of rows")
        if self.window == "expanding" and self.train_size is not None:
            raise ValueError("time_series: train_size is for window='sliding'; an expanding window has no size")
        if self.train_size is not None and self.min_train_size > self.train_size:
            raise ValueError(
                f"time_series: min_train_size ({self.min_train_size}) must be at most train_size ({self.train_size})"
            )
        return self

    def folds(self, panel: Panel) -> Iterator[Fold]:
        """Yield the folds from the earliest to the last."""
        stops, test_size = self._stops(panel)
        step = test_size if self.step_size is None else np.full_like(test_size, self.step_size)
        series = panel.offsets[:-1], panel.offsets[1:]
        embargoes: list[Range] = []
        for number in range(self.n_splits):
            later = (self.n_splits - 1 - number) * step
            test_begins, test_ends = stops - later - test_size, stops - later
            cuts = test_begins - self.gap - self.purge
            window = clip((series[0] if self.train_size is None else cuts - self.train_size, cuts), series)
            train = cut_out(window, embargoes)
            fits = count_rows(train) >= self.min_train_size
            if self.train_size is not None:
                fits &= count_rows([window]) == self.train_size
            test = keep(fits, clip((test_begins, test_ends), series))
            is_tested = test[0] < test[1]
            if not is_tested.any():
                raise self._nothing_left(panel, number, test_size, later)
            yield Fold(
                number,
                *collect([keep(fits, part) for part in train]),
                *collect([test]),
                gap=collect([keep(is_tested, clip((cuts, test_begins), series))]),
                embargo=collect([keep(fits, clip(hole, window)) for hole in embargoes]),
            )
            if self.embargo:
                # An embargo that begins within the previous one starts where that ends, so that no row is in two. For
                # a series that is not tested it is empty.
                free = np.maximum.reduce([test_ends, *(ends for _, ends in embargoes)])
                embargoes.append((np.where(is_tested, free, 0), np.where(is_tested, test_ends + self.embargo, 0)))

    def _stops(self, panel: Panel) -> tuple[Ints, Ints]:
        """Return where the last test range of each series ends, in rows of the panel, and how many rows it has."""
        if self.align == "end":
            stops, lengths = panel.offsets[1:], panel.lengths
        else:
            first = first_steps(panel)
            total = (first + panel.lengths).max()
            stops, lengths = panel.offsets[:-1] - first + total, np.full(panel.num_series, total)
        if self.test_size >= 1:
            return stops, np.full_like(lengths, int(self.test_size))
        return stops, np.maximum(np.round(self.test_size * lengths).astype(np.int64), 1)

    def _nothing_left(self, panel: Panel, number: int, test_size: Ints, later: Ints) -> DataError:
        """Return the error that says how many rows the fold needs."""
        longest = int(panel.lengths.argmax())
        train, between = max(self.min_train_size, self.train_size or 0), self.gap + self.purge
        test, after = int(test_size[longest]), int(later[longest])
        message = (
            f"fold {number} of {self.n_splits}: no series has the rows for it: {train} to train on, {between} of gap "
            f"and purge, {test} to test and {after} for the folds after it are {train + between + test + after}"
            f"{', in addition to those of the embargo' if self.embargo else ''}"
            f"{', back from the last time of the panel' if self.align == 'time' else ''}; the longest series has "
            f"{panel.lengths[longest]}. Lower n_splits, test_size, step_size or the rows to train on."
        )
        return DataError(describe(panel.source, message))
