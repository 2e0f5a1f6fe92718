"""Intervals of a combination, from its errors on windows that its weights were not made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.conformal.bounds import POINT, Bounds, widen
from neuro_divergent.evaluation.conformal.calibration import Calibration
from neuro_divergent.evaluation.conformal.scores import Scores, names
from neuro_divergent.evaluation.conformal.settings import ConformalSettings
from neuro_divergent.evaluation.conformal.spread import spread_before
from neuro_divergent.search.auto.cutoffs import Cutoffs

_SETTINGS = ConformalSettings(method="split", by="step", per="all", scaled=True, symmetric=True)


@dataclass(frozen=True, eq=False)
class ErrorIntervals:
    """Split-conformal intervals: errors by step of the horizon, in units of the spread of the history of each series.

    A level that needs more errors than there are is extrapolated from the highest one that has enough, as if the errors
    were normal; so one short series has intervals too, without the guarantee.

    Attributes:
        errors: Observed minus forecast, divided by the spread, ``(windows, horizon)``; NaN where nothing was observed.
        history: Rows that the spread is measured over.
    """

    errors: Floats
    history: int

    @classmethod
    def of(cls, cutoffs: Cutoffs, forecast: Floats, history: int) -> ErrorIntervals:
        """Measure the errors of out-of-fold forecasts; of the naive forecast within the series if there are none."""
        usable = cutoffs.usable
        series, targets = cutoffs.series[np.nonzero(usable)[1]], cutoffs.targets[usable]
        errors = (cutoffs.actual - forecast)[usable] if len(cutoffs) else np.zeros((0, cutoffs.horizon))
        errors = errors / spread_at(cutoffs.panel, series, targets, history)[:, None]
        if np.isfinite(errors).any():
            return cls(errors, history)
        return cls(_naive_errors(cutoffs.panel, cutoffs.horizon, history), history)

    def bounds(self, point: Floats, spread: Floats, levels: Sequence[float]) -> dict[float, tuple[Floats, Floats]]:
        """Return the lower and upper bounds of each level in percent around forecasts ``(windows, horizon)``."""
        if not levels:
            return {}
        widths = np.stack([self.width(level) for level in levels])[None, :, None]
        widths = np.repeat(widths, len(point), axis=0)
        return widen(Bounds(point[None], point[None]), POINT, levels, spread, widths, whole=False)

    def width(self, level: float) -> Floats:
        """Return the width of a level at each step, in units of the spread."""
        count = int(np.isfinite(self.errors).sum())
        highest = 100 * count / (count + 1) - 1e-6
        if level <= highest:
            width: Floats = self._calibration.widths_now([level], names([None]))[0, 0, 0]
            return width
        known = self._calibration.widths_now([highest], names([None]))[0, 0, 0]
        normal = NormalDist()
        ratio = normal.inv_cdf(0.5 + level / 200) / normal.inv_cdf(0.5 + highest / 200)
        return np.asarray(known * ratio, np.float64)

    @cached_property
    def _calibration(self) -> Calibration:
        shape = self.errors.shape
        times = np.zeros(shape, np.int64)
        scores = Scores(POINT, names([None] * shape[0]), times, -self.errors[None], self.errors[None])
        return Calibration(_SETTINGS, scores)


def spread_at(panel: Panel, series: Ints, targets: Ints, history: int) -> Floats:
    """Return the standard deviation of the last rows before each target; 1 for a constant history."""
    if not len(series):
        return np.zeros(0)
    longer = panel.lengthened(panel.lengths + history)
    rows = targets + history * (series + 1)
    return spread_before(longer, rows, history)


def _naive_errors(panel: Panel, horizon: int, history: int) -> Floats:
    """Return changes from row to row, growing with the root of the step, for series too short for a back-test."""
    series = np.repeat(np.arange(panel.num_series), panel.lengths)
    same = series[1:] == series[:-1]
    if panel.mask is not None:
        same &= panel.mask[1:] & panel.mask[:-1]
    changes = np.diff(panel.y.astype(np.float64))[same]
    owners = series[1:][same]
    spread = spread_at(panel, np.arange(panel.num_series), panel.offsets[1:], history)
    if not len(changes):
        changes, owners = np.ones(1), np.zeros(1, np.int64)
    errors: Floats = changes[:, None] / spread[owners][:, None] * np.sqrt(np.arange(1, horizon + 1))
    return errors
