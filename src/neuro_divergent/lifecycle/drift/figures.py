"""Figures of a comparison of errors."""

from __future__ import annotations

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_number, format_p_value, format_time
from neuro_divergent.lifecycle.drift.drift_result import DriftResult
from neuro_divergent.lifecycle.drift.panel_test import Name, PanelTest
from neuro_divergent.reporting.figures.columns import places_of
from neuro_divergent.reporting.figures.figure import Axis, Band, Bars, Figure, Line, Mark, Rule, Tone
from neuro_divergent.reporting.sampling import min_max

_BUCKETS = 300  # into which a line is divided; each keeps its ends and extremes
_MOST_SERIES = 30
_MIDDLE = (0.05, 0.95)
_TITLES = {"level": "Level of the errors", "size": "Size of the errors"}
_AXES = {"level": "mean error, standard deviations", "size": "mean absolute error, times the usual one"}


def drift_figure(result: DriftResult, name: Name | None = None) -> Figure:
    """Show a statistic of the panel over time, with the range of the reference and the change.

    Args:
        result: What ``detect_drift`` has found.
        name: ``level`` or ``size``; unset, the one with the smaller p value.

    Raises:
        InputError: If nothing was compared.
    """
    chosen = [test for test in result.tests if name in (None, test.name)]
    if not chosen:
        raise InputError(f"there is no figure: {result.reason or result.verdict}")
    test = min(chosen, key=lambda one: one.p_value)
    old, new = _shown(test, test.reference), _shown(test, test.new)
    old_places, new_places = places_of(result.reference_times), places_of(result.new_times)
    low, high = np.nanquantile(old, _MIDDLE)
    ends = np.array([old_places[0], new_places[-1]])
    marks: list[Mark] = [
        Band(ends, np.full(2, low), np.full(2, high), label="90 % of the reference", tone="neutral", level=90.0),
        Line(*min_max(old_places, old, _BUCKETS), "reference", "neutral"),
        Line(*min_max(new_places, new, _BUCKETS), "new", "bad" if result.is_drift else "actual"),
        *_means(test, old_places, new_places),
    ]
    if result.is_drift:
        marks.append(Rule(x=_place(result.new_times, test.change_at), label="change"))
    elif len(new_places):
        marks.append(Rule(x=new_places[0], label="new"))
    change = f"{format_number(test.effect)} {'standard deviations' if test.name == 'level' else 'times the usual size'}"
    verdict = f"drift since {format_time(result.new_times[test.change_at])}" if result.is_drift else result.verdict
    return Figure(
        title=_TITLES[test.name] if result.what == "errors" else f"{_TITLES[test.name]}: {result.what}",
        marks=tuple(marks),
        x=Axis("time"),
        y=Axis(_AXES[test.name]),
        note=f"One value per time, over {result.num_series:,} series. Dashed: the means that are compared.",
        alt_text=f"The mean of the new part is {change} (p {format_p_value(test.p_value)}): {verdict}.",
    )


def series_figure(result: DriftResult) -> Figure:
    """Show the series that stand out: how large their errors are compared with the reference.

    Raises:
        InputError: If there is none.
    """
    if not result.series:
        raise InputError("no series stands out.")
    shown = sorted(result.series[:_MOST_SERIES], key=lambda named: -named.size)
    more = len(result.series) - len(shown)
    return Figure(
        title="Series that stand out",
        marks=(
            Bars([str(named.id) for named in shown], np.array([named.size for named in shown]), tone="bad"),
            Rule(x=1.0, label="as in the reference"),
        ),
        x=Axis("mean absolute error, times that of the reference", from_zero=True),
        note=f"And {more:,} more." if more else "",
        alt_text=f"{len(result.series):,} series stand out; the errors of {shown[0].id} are "
        f"{format_number(shown[0].size)} times as large.",
    )


def drift_figures(result: DriftResult) -> dict[str, Figure]:
    """Return all figures of a result, by name."""
    found: dict[str, Figure] = {test.name: drift_figure(result, test.name) for test in result.tests}
    return {**found, "series": series_figure(result)} if result.series else found


def _shown(test: PanelTest, values: Floats) -> Floats:
    """Return the statistic in the unit of the axis; the size in multiples of the usual one."""
    return np.exp(values - np.nanmean(test.reference)) if test.name == "size" else values


def _means(test: PanelTest, old_places: Array, new_places: Array) -> list[Mark]:
    """Return the means that are compared, as dashed lines."""
    old = float(np.nanmean(test.reference))
    parts: tuple[tuple[Array, float, Tone], ...] = (
        (old_places, old, "neutral"),
        (new_places, old + test.change, "forecast"),
    )
    return [
        Line(places[[0, -1]], _shown(test, np.full(2, level)), "", tone, dashed=True) for places, level, tone in parts
    ]


def _place(times: pl.Series, at: int) -> object:
    return places_of(times)[at]
