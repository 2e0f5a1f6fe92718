"""One fold: rows to train on and rows to test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.calendar import show
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.splitters.segments import NOTHING, Segments

_PARTS = ("train", "test")
_ARRAYS = tuple(f"{part}_{array}" for part in _PARTS for array in ("series", "begins", "ends"))


@dataclass(frozen=True, eq=False)
class Fold:
    """Segments of rows to train on and to test.

    Each segment lies within one series. A series may have several training segments, such as one before and one after
    the test segment, and at most one test segment. Rows are counted over all series; ends are exclusive.

    Attributes:
        number: Index of the fold, from 0.
        train_series: The series of each training segment.
        train_begins: First row of each.
        train_ends: Row after the last one of each.
        test_series: The series of each test segment.
        test_begins: First row of each.
        test_ends: Row after the last one of each.
        gap: Rows between training and test that are in neither; for display only, as is ``embargo``.
        embargo: Rows after a test segment that are not trained on.

    Examples:
        One series, trained on before and after the rows that are tested:

        >>> import neuro_divergent as nd
        >>> fold = nd.splitters.Fold(
        ...     0, train_series=[0, 0], train_begins=[0, 7], train_ends=[4, 10],
        ...     test_series=[0], test_begins=[4], test_ends=[6],
        ... )
        >>> fold.training_rows, fold.test_rows
        (7, 2)
    """

    number: int
    train_series: Ints
    train_begins: Ints
    train_ends: Ints
    test_series: Ints
    test_begins: Ints
    test_ends: Ints
    gap: Segments = NOTHING
    embargo: Segments = NOTHING

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            values = np.asarray(getattr(self, name))
            if values.ndim != 1 or (values.dtype.kind not in "iu" and values.size):
                raise DataError(
                    f"fold {self.number}: {name} must be a list of integers; got {values.dtype} shaped {values.shape}."
                )
            object.__setattr__(self, name, values.astype(np.int64))
        for part in _PARTS:
            sizes = [len(getattr(self, f"{part}_{array}")) for array in ("series", "begins", "ends")]
            if len(set(sizes)) > 1:
                raise DataError(
                    f"fold {self.number}: {part}_series, {part}_begins and {part}_ends have {sizes[0]}, {sizes[1]} and "
                    f"{sizes[2]} entries; they must have one for each segment."
                )

    @property
    def training_rows(self) -> int:
        """Number of rows to train on."""
        return int((self.train_ends - self.train_begins).sum())

    @property
    def test_rows(self) -> int:
        """Number of rows to forecast."""
        return int((self.test_ends - self.test_begins).sum())

    def left_out(self, panel: Panel) -> Ints:
        """Return the series that are in neither part."""
        return np.setdiff1d(np.arange(panel.num_series), np.concatenate([self.train_series, self.test_series]))

    def train(self, panel: Panel) -> Panel:
        """Return the training segments, copied, as separate series, so that no window spans two segments."""
        return panel.pieces(self.train_series, self.train_begins, self.train_ends)

    def test_windows(
        self, panel: Panel, input_size: int, horizon: int, step: int | None = None, *, joint: bool = False
    ) -> Windows:
        """Return the windows of the panel whose targets lie in the test segments; histories may begin before them.

        Windows are ``step`` rows apart; unset, one horizon, so that each row is forecast at most once. Joint windows,
        which span all series, need the same test rows in every series.
        """
        begins, ends = panel.offsets[:-1].copy(), panel.offsets[:-1].copy()
        begins[self.test_series] = self.test_begins
        ends[self.test_series] = self.test_ends
        places = begins - panel.offsets[:-1], ends - panel.offsets[:-1]
        if joint and any((place != place[0]).any() for place in places):
            raise DataError(
                f"fold {self.number}: a model that forecasts all series together needs the same test rows in each, and "
                "they differ. Choose a splitter that holds out times and not series, or one model for each series."
            )
        return Windows(panel, input_size, horizon, begins, ends, horizon if step is None else step, joint)

    def check(self, panel: Panel) -> None:
        """Raise ``DataError`` if the fold does not fit a panel, or tests a row it trains on."""
        for part in _PARTS:
            series, begins, ends = (getattr(self, f"{part}_{array}") for array in ("series", "begins", "ends"))
            if not len(series):
                raise DataError(f"fold {self.number}: there is no row to {part}. Each fold needs at least one.")
            strange = series[(series < 0) | (series >= panel.num_series)]
            if len(strange):
                raise DataError(
                    f"fold {self.number}: {part}_series has {strange[0]}, and the panel has the series 0 to "
                    f"{panel.num_series - 1}."
                )
            wrong = (begins >= ends) | (begins < panel.offsets[series]) | (ends > panel.offsets[series + 1])
            for place in np.flatnonzero(wrong)[:1]:
                first, last = panel.offsets[series[place]], panel.offsets[series[place] + 1]
                raise DataError(
                    f"fold {self.number}: the rows {begins[place]} to {ends[place]} (exclusive) to {part} are empty or "
                    f"not all of series {show(panel.ids[int(series[place])])}, whose rows are {first} to {last}."
                )
        repeated = np.flatnonzero(np.bincount(self.test_series) > 1)
        if len(repeated):
            raise DataError(
                f"fold {self.number}: series {show(panel.ids[int(repeated[0])])} is tested on more than one segment. "
                "Make a fold of each."
            )
        self._check_apart(panel)

    def _check_apart(self, panel: Panel) -> None:
        """Raise ``DataError`` if segments share a row."""
        series, begins, ends = (
            np.concatenate([getattr(self, f"{part}_{array}") for part in _PARTS])
            for array in ("series", "begins", "ends")
        )
        order = np.argsort(begins, kind="stable")
        shared = np.flatnonzero(ends[order][:-1] > begins[order][1:])
        if not len(shared):
            return
        one, two = order[shared[0]], order[shared[0] + 1]
        count = len(self.train_series)
        roles = "both to train and to test" if (one < count) != (two < count) else "twice to train"
        raise DataError(
            f"fold {self.number}: row {begins[two]}, of series {show(panel.ids[int(series[two])])}, is {roles}. A row "
            "must be in one segment at most."
        )
