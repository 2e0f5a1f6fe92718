"""Profile of a panel: sizes, missing values, outliers, seasonality and suspicious covariates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuro_divergent.core.arrays import Array, Bools, Floats, Ints
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.calendar import show_time
from neuro_divergent.data.panel import Panel

OUTLIER = 10.0
"""Robust z-score from which a value counts as an outlier; of a normal distribution, one in 10^23 does."""

SHIFTS = 24
"""Rows by which covariates are moved against the target when they are compared."""

_MOST_ROWS = 1_000_000  # a larger panel is judged by some of its series
_CLOSER = (256, 2048)  # series and rows of each that are examined one by one: medians, seasonality
_CLOSEST = (32, 512)  # series and rows of each whose covariates are moved against the target
_FEWEST_SEASONS = 3
_NAMED = 5
_NORMAL_FROM_MEDIAN, _NORMAL_FROM_MEAN = 1.4826, 1.2533  # absolute deviations to standard deviation
_FLAT = 1e-7  # a spread below this fraction of the magnitude is rounding error of float32


def describe_data(panel: Panel, *, train_ends: npt.ArrayLike | None = None, trimmed: bool = False) -> dict[str, Any]:
    """Profile the training data as plain values, for ``data.json``.

    A panel of more than a million rows is sampled by evenly spaced series; ``looked_at`` is how much of it was used.
    The result is deterministic.

    Args:
        panel: The series.
        train_ends: Row after the last one of training, per series, counted over all rows of the panel. Values after it
            are not used. Unset, all are.
        trimmed: Whether rows before the first observed one of each series are left out, as by ``Panel.trimmed``, but
            without a copy.

    Returns:
        ``rows``, ``series``, ``begin``, ``end``, ``frequency`` and ``lengths`` are those of the whole panel. Of the
        rows used: ``missing_share``, and among observed values ``zero_share``, ``negative_share`` and
        ``outlier_share`` (a robust z-score, within the series, above ``OUTLIER``; ``largest_outlier`` is the largest).
        ``constant_series`` counts series that never change, ``short_names`` has the names of some. ``size`` is the mean
        absolute value of a series that is not constant, ``scale_ratio`` the largest of it divided by the smallest.
        ``seasonality`` is the autocorrelation at the usual period of the frequency, without trend, or ``None`` where
        there is no such period or no series that covers it three times. ``covariates`` are described one by one.
    """
    begins = np.minimum(panel.first_observed, panel.offsets[1:] - 1) if trimmed else panel.offsets[:-1]
    lengths = panel.offsets[1:] - begins
    starts = panel.frequency.time_at(panel.starts, begins - panel.offsets[:-1]) if trimmed else panel.starts
    sample = _Sample.of(panel, begins, train_ends)
    measured = sample.measure()
    closer = sample.closer(*_CLOSER)
    outlier_share, largest_outlier = _outliers(closer)
    constant = np.flatnonzero(measured.is_constant)
    sizes = measured.size[~measured.is_constant & (measured.size > 0)]
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    return {
        "rows": int(lengths.sum()),
        "series": panel.num_series,
        "begin": show_time(starts, starts.arg_min() or 0),
        "end": show_time(ends, ends.arg_max() or 0),
        "frequency": str(panel.frequency),
        "lengths": {
            "min": int(lengths.min()),
            "median": _plain(np.median(lengths)),
            "max": int(lengths.max()),
        },
        "looked_at": {"rows": sample.rows, "series": len(sample.series)},
        "missing_share": _plain(1 - measured.observed.sum() / max(sample.rows, 1)),
        "zero_share": _plain(measured.zeros / max(int(measured.observed.sum()), 1)),
        "negative_share": _plain(measured.negatives / max(int(measured.observed.sum()), 1)),
        "constant_series": len(constant),
        "short_names": [str(panel.ids[int(sample.series[place])]) for place in constant[:_NAMED]],
        "size": {
            name: _plain(function(sizes)) if len(sizes) else None
            for name, function in (("min", np.min), ("median", np.median), ("max", np.max))
        },
        "scale_ratio": _plain(sizes.max() / sizes.min()) if len(sizes) else None,
        "outlier_share": outlier_share,
        "largest_outlier": largest_outlier,
        "seasonality": _seasonality(closer, panel.frequency.season_length),
        "covariates": list(_covariates(panel, sample, measured)),
    }


@dataclass(frozen=True, eq=False)
class _Measured:
    """Statistics of each series of a sample."""

    observed: Ints
    mean: Floats
    size: Floats
    is_constant: Bools
    zeros: int
    negatives: int


@dataclass(frozen=True, eq=False)
class _Sample:
    """Segments of some series of a panel: which series, and which rows of the panel."""

    panel: Panel
    series: Ints
    begins: Ints
    ends: Ints

    @classmethod
    def of(cls, panel: Panel, begins: Ints, train_ends: npt.ArrayLike | None) -> _Sample:
        """Choose at most about a million rows, of each series from row ``begins`` on."""
        ends = panel.offsets[1:] if train_ends is None else np.asarray(train_ends, np.int64)
        ends = np.clip(ends, begins, panel.offsets[1:])
        series = np.flatnonzero(ends > begins)
        return cls(panel, series, begins[series], ends[series]).cut(_MOST_ROWS)

    def cut(self, most: int) -> _Sample:
        """Return evenly spaced series that have at most so many rows together; of a long one, the last rows."""
        lengths = self.ends - self.begins
        if lengths.sum() <= most:
            return self
        count = max(1, int(len(lengths) * most / lengths.sum()))
        chosen = _evenly(len(lengths), count)
        begins = np.maximum(self.begins[chosen], self.ends[chosen] - most // count)
        return _Sample(self.panel, self.series[chosen], begins, self.ends[chosen])

    @property
    def rows(self) -> int:
        """Rows of all segments."""
        return int((self.ends - self.begins).sum())

    @property
    def _places(self) -> slice | Ints:
        """The rows of the panel, as something to index its arrays with."""
        if len(self.series) == 0:
            return slice(0, 0)
        if np.array_equal(self.begins[1:], self.ends[:-1]):
            return slice(int(self.begins[0]), int(self.ends[-1]))
        lengths = self.ends - self.begins
        first = np.cumsum(lengths) - lengths
        rows: Ints = np.arange(int(lengths.sum())) + np.repeat(self.begins - first, lengths)
        return rows

    def measure(self) -> _Measured:
        """Compute the statistics of each series."""
        count = len(self.series)
        if not count:
            nothing = np.zeros(0)
            return _Measured(nothing.astype(np.int64), nothing, nothing, nothing.astype(np.bool_), 0, 0)
        lengths = self.ends - self.begins
        first = np.cumsum(lengths) - lengths
        places = self._places
        y = self.panel.y[places].astype(np.float64)
        seen = np.isfinite(y)
        if self.panel.mask is not None:
            seen &= self.panel.mask[places]
        is_whole = bool(seen.all())
        observed = lengths if is_whole else np.add.reduceat(seen, first, dtype=np.int64)
        held = y if is_whole else np.where(seen, y, 0.0)
        counts = np.maximum(observed, 1)
        size = np.add.reduceat(np.abs(held), first) / counts
        low = np.minimum.reduceat(y if is_whole else np.where(seen, y, np.inf), first)
        high = np.maximum.reduceat(y if is_whole else np.where(seen, y, -np.inf), first)
        return _Measured(
            observed=observed,
            mean=np.add.reduceat(held, first) / counts,
            size=size,
            is_constant=(observed > 0) & (low == high),
            zeros=int((seen & (y == 0)).sum()),
            negatives=int((seen & (y < 0)).sum()),
        )

    def closer(self, series: int, rows: int) -> list[tuple[Floats, Bools]]:
        """Return the last rows of some series, and which of them were observed."""
        return [self._values(int(place), rows) for place in _evenly(len(self.series), series)]

    def _values(self, place: int, rows: int) -> tuple[Floats, Bools]:
        begin, end = max(self.begins[place], self.ends[place] - rows), self.ends[place]
        y = self.panel.y[begin:end].astype(np.float64)
        seen = np.isfinite(y)
        return y, seen if self.panel.mask is None else seen & self.panel.mask[begin:end]

    def side_by_side(self, array: Array, series: int, rows: int) -> Floats:
        """Return the last rows of some series as ``(series, rows, ...)``; not a number before a shorter one begins."""
        chosen = _evenly(len(self.series), series)
        found = np.full((len(chosen), rows, *array.shape[1:]), np.nan)
        for row, place in enumerate(chosen):
            begin, end = max(self.begins[place], self.ends[place] - rows), self.ends[place]
            found[row, rows - (end - begin) :] = array[begin:end]
        return found


def _outliers(series: list[tuple[Floats, Bools]]) -> tuple[float, float]:
    """Return the fraction of values with a high robust z-score, and the highest score."""
    count, total, largest = 0, 0, 0.0
    for y, seen in series:
        values = y[seen]
        if len(values) < 2:
            continue
        away = np.abs(values - np.median(values))
        spread = _NORMAL_FROM_MEDIAN * float(np.median(away))
        if spread <= 0:  # more than half of the values are the same, as in intermittent demand
            spread = _NORMAL_FROM_MEAN * float(away.mean())
        if spread <= 0:
            continue
        score = away / spread
        count, total = count + int((score > OUTLIER).sum()), total + len(values)
        largest = max(largest, float(score.max()))
    return _plain(count / max(total, 1)) or 0.0, _plain(largest) or 0.0


def _seasonality(series: list[tuple[Floats, Bools]], period: int) -> dict[str, Any] | None:
    """Return the autocorrelation at the period of the series minus its moving average; median over the series."""
    found = []
    for y, seen in series:
        if period < 2 or seen.sum() < _FEWEST_SEASONS * period or len(y) < (_FEWEST_SEASONS + 1) * period:
            continue
        rest = _without_trend(np.where(seen, y, y[seen].mean()), period)
        energy = float(rest @ rest)
        if energy > len(rest) * (_FLAT * float(np.abs(y[seen]).mean())) ** 2:
            pairs = len(rest) / (len(rest) - period)
            found.append(float(rest[period:] @ rest[:-period]) / energy * pairs)
    if not found:
        return None
    return {"period": period, "strength": _plain(min(max(float(np.median(found)), 0.0), 1.0))}


def _without_trend(values: Floats, period: int) -> Floats:
    """Return a series less its moving average over a period, which has no season in it; the ends are left out."""
    sums = np.concatenate([[0.0], np.cumsum(values - values.mean())])
    mean = (sums[period:] - sums[:-period]) / period
    if period % 2 == 0:  # the middle of an even number of rows lies between two of them
        mean = (mean[1:] + mean[:-1]) / 2
    before = period // 2
    rest = (values - values.mean())[before : before + len(mean)] - mean
    centred: Floats = rest - rest.mean()
    return centred


def _covariates(panel: Panel, sample: _Sample, measured: _Measured) -> Iterator[dict[str, Any]]:
    """Describe each covariate."""
    for role, features, array in (("past", panel.past, panel.past_x), ("future", panel.future, panel.future_x)):
        if array is not None and len(sample.series):
            yield from _moving(panel, sample, role, features, array)
    if panel.static_x is not None:
        for column, feature in enumerate(panel.static):
            values = panel.static_x[sample.series, column].astype(np.float64)
            is_known = np.isfinite(values) & (measured.observed > 0)
            yield {
                **_common(feature, "static", values),
                "correlation": None if feature.cardinality else _correlate(values[is_known], measured.mean[is_known]),
                "lead_correlation": None,
            }


def _moving(
    panel: Panel, sample: _Sample, role: str, features: tuple[Feature, ...], array: Array
) -> Iterator[dict[str, Any]]:
    """Describe the covariates that vary by row, compared with the target at the same and other rows."""
    series, rows = _CLOSEST
    y = sample.side_by_side(panel.y, series, rows)
    if panel.mask is not None:
        y[sample.side_by_side(panel.mask, series, rows) != 1] = np.nan
    x = sample.side_by_side(array, series, rows)
    closer = sample.cut(_CLOSER[0] * _CLOSER[1])._places
    for column, feature in enumerate(features):
        entry = _common(feature, role, array[closer, column].astype(np.float64))
        if role == "future" and feature.name in panel.schema.calendar:
            entry["kind"] = "calendar"
        entry |= {"correlation": None, "lead_correlation": None}
        if entry["kind"] == "number" and not entry["constant"]:
            entry |= _compare(x[:, :, column], y)
        yield entry


def _common(feature: Feature, role: str, values: Floats) -> dict[str, Any]:
    known = values[np.isfinite(values)]
    return {
        "name": feature.name,
        "role": role,
        "kind": "number" if feature.cardinality is None else "category",
        "missing_share": _plain(1 - len(known) / max(len(values), 1)),
        "constant": bool(len(known) == 0 or known.min() == known.max()),
    }


def _compare(x: Floats, y: Floats) -> dict[str, Any]:
    """Hold a covariate against the target, rows of one series below each other.

    Returns:
        ``correlation`` at the same row, within series; ``difference_correlation`` likewise, of the changes from row to
        row, which a common trend does not make alike; ``lead_correlation``, the one of the changes that is largest in
        size with the covariate ``lead`` rows ahead of the target (negative: behind); ``equal_share``, the largest
        fraction of rows in which both are the same number, not counting those where both are zero, and
        ``equal_lead`` for where.
    """
    steps_x, steps_y = np.diff(x, axis=1), np.diff(y, axis=1)
    leads = sorted(range(-SHIFTS, SHIFTS + 1), key=lambda lead: (abs(lead), lead))
    moved = {lead: _correlate_rows(*_shifted(steps_x, steps_y, lead)) for lead in leads}
    known = {lead: value for lead, value in moved.items() if value is not None}
    lead = max(known, key=lambda item: abs(known[item]), default=None)
    same = {item: _equal_share(*_shifted(x, y, item)) for item in leads}
    equal = max(same, key=lambda item: same[item])
    return {
        "correlation": _plain(_correlate_rows(x, y)),
        "difference_correlation": _plain(moved[0]),
        "lead_correlation": None if lead is None else _plain(known[lead]),
        "lead": lead,
        "equal_share": _plain(same[equal]),
        "equal_lead": equal,
    }


def _shifted(x: Floats, y: Floats, lead: int) -> tuple[Floats, Floats]:
    """Return the matching rows of two tables when the first leads the second by ``lead`` rows."""
    rows = x.shape[1]
    if abs(lead) >= rows:
        return x[:, :0], y[:, :0]
    return (x[:, : rows - lead], y[:, lead:]) if lead >= 0 else (x[:, -lead:], y[:, : rows + lead])


def _correlate_rows(x: Floats, y: Floats) -> float | None:
    """Return the correlation within series, each of which counts by its rows; ``None`` where nothing varies."""
    known = np.isfinite(x) & np.isfinite(y)
    counts = np.maximum(known.sum(1, keepdims=True), 1)
    parts = []
    for values in (x, y):
        held = np.where(known, values, 0.0)
        mean = held.sum(1, keepdims=True) / counts
        away = np.where(known, values - mean, 0.0)
        size = np.abs(held).sum(1, keepdims=True) / counts
        spread = np.sqrt(np.square(away).sum(1, keepdims=True) / counts)
        parts.append(np.divide(away, spread, out=np.zeros_like(away), where=spread > _FLAT * size))
    varies = (parts[0] != 0).any(1) & (parts[1] != 0).any(1)
    rows = int(known[varies].sum())
    return float((parts[0][varies] * parts[1][varies]).sum() / rows) if rows > 2 else None


def _correlate(x: Floats, y: Floats) -> float | None:
    """Return the correlation of two lists of numbers, or ``None`` where there is none."""
    return _plain(_correlate_rows(x[None], y[None]) if len(x) > 2 else None)


def _equal_share(x: Floats, y: Floats) -> float:
    """Return the fraction of rows where two values are equal, of those where they are known and not both zero."""
    counted = np.isfinite(x) & np.isfinite(y) & ((x != 0) | (y != 0))
    near = np.abs(x - y) <= 1e-6 * np.maximum(np.abs(x), np.abs(y))
    return float((near & counted).sum() / max(int(counted.sum()), 1))


def _evenly(count: int, most: int) -> Ints:
    """Return at most so many places of a list, evenly spaced, with the first and the last."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))


def _plain(value: Any) -> float | None:
    """Return a number as JSON has it, to six digits; ``None`` where it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.6g}")
