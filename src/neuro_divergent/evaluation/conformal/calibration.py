"""Calibration: conformity scores, and the widths of intervals that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints, Objects
from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation.conformal.online import scale_of, walk
from neuro_divergent.evaluation.conformal.pool import widths
from neuro_divergent.evaluation.conformal.scores import Scores, names
from neuro_divergent.evaluation.conformal.settings import ConformalSettings


@dataclass(frozen=True, eq=False)
class Calibration:
    """Conformity scores of a model and the widths that follow from them.

    Attributes:
        settings: How widths are computed.
        calibrated: Scores of the windows that the model was calibrated on.
        arrived: Scores of windows whose values were observed since then.
    """

    settings: ConformalSettings
    calibrated: Scores
    arrived: Scores | None = None
    _latest: dict[tuple[float, ...], tuple[Floats, list[Any]]] = field(default_factory=dict, init=False)

    @cached_property
    def scores(self) -> Scores:
        """All scores so far."""
        return self.calibrated if self.arrived is None else self.calibrated.join(self.arrived)

    def updated(self, scores: Scores) -> Calibration:
        """Return the calibration with further scores."""
        return replace(self, arrived=scores if self.arrived is None else self.arrived.join(scores))

    def widths_now(self, levels: Sequence[float], ids: Objects) -> Floats:
        """Return the widths for forecasts made after all scores so far, ``(windows, levels, sides, horizon)``."""
        if not levels:
            return np.empty((len(ids), 0, 1, self.scores.times.shape[1]))
        key = tuple(levels)
        if key not in self._latest:
            is_adaptive = self.settings.method == "adaptive"
            self._latest[key] = self._walk(self.scores, levels)[1:] if is_adaptive else self._start(self.scores, levels)
        last, series = self._latest[key]
        return last[_places(ids, series)]

    def widths_at_cutoffs(self, levels: Sequence[float], scores: Scores) -> Floats:
        """Return the widths that each of some later windows had at its cut-off."""
        latest = self.scores.last_times()
        for name, time in zip(scores.ids.tolist(), scores.times[:, 0].tolist(), strict=True):
            if time <= latest.get(name, time - 1):
                raise InputError(
                    f"series {name!r}: a window begins before the end of what the intervals were calibrated on or "
                    "updated with, so its values are already known. Forecast later windows, or use method='split'."
                )
        return self._walk(self.scores.join(scores), levels)[0][len(self.scores) :]

    def _start(self, scores: Scores, levels: Sequence[float]) -> tuple[Floats, list[Any]]:
        """Return split-conformal widths ``(groups + 1, levels, sides, horizon)`` and the series of the groups."""
        known = self._series(scores)
        groups = _places(scores.ids, known) if self.settings.per == "series" else None
        result = [
            [widths(side, self._quantile(level), by=self.settings.by, groups=groups) for side in sides]
            for level, sides in zip(levels, self._sides(scores, levels), strict=True)
        ]
        return np.moveaxis(np.array(result), 2, 0), known

    def _walk(self, scores: Scores, levels: Sequence[float]) -> tuple[Floats, Floats, list[Any]]:
        """Update widths with scores in the order of time, from the calibration on.

        Returns the widths of each window, the final widths, and the series of the groups; the last group is that of
        series without scores.
        """
        start, known = self._start(self.calibrated, levels)
        middle, scale = scale_of(self._sides(self.calibrated, levels), by=self.settings.by)
        series = self._series(scores)
        start = start[np.append(_places(names(series), known), -1)]
        result = walk(
            np.moveaxis(self._sides(scores, levels), 2, 0),
            scores.times,
            _places(scores.ids, series) % len(start),
            start=start,
            middle=middle,
            scale=scale,
            misses=1 - np.array([[self._quantile(level)] for level in levels]),
            by=self.settings.by,
        )
        return result.widths, result.last, series

    def _series(self, scores: Scores) -> list[Any]:
        """Return the series that have widths of their own."""
        return list(dict.fromkeys(scores.ids.tolist())) if self.settings.per == "series" else []

    def _quantile(self, level: float) -> float:
        """Return the quantile of the scores that is the width of one bound, for a level in percent."""
        return level / 100 if self.settings.symmetric else 0.5 + level / 200

    def _sides(self, scores: Scores, levels: Sequence[float]) -> Floats:
        """Return scores for some levels, ``(levels, sides, windows, horizon)``."""
        return np.stack([scores.for_level(level, symmetric=self.settings.symmetric) for level in levels])


def _places(ids: Objects, known: Sequence[Any]) -> Ints:
    """Return the index of each series among the known ones; -1 for others."""
    places = {name: place for place, name in enumerate(known)}
    return np.array([places.get(name, -1) for name in ids.tolist()], dtype=np.int64)
