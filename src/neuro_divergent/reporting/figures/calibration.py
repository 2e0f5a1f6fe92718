"""Figures of the calibration of intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.columns import floats_of, read_columns
from neuro_divergent.reporting.figures.figure import Axis, Bars, Figure, Line, Mark, Points, Rule

_NARROW, _WIDE = 1.25, 0.75  # density of the outer fifth from which on intervals are called so
_TOLD = (50, 80, 95)  # levels in the text, or those nearest to them
_SLANT = 0.1  # by how much the fraction above the median differs from a half


def calibration_figure(calibration: Any) -> Figure:
    """Show the coverage of each interval against its nominal level.

    Args:
        calibration: What ``check_calibration`` returns, or a table: ``level`` and ``coverage``, both in percent.
    """
    is_mapping = isinstance(calibration, Mapping)
    table = pl.DataFrame(list(calibration.get("levels") or ()), strict=False) if is_mapping else calibration
    if is_mapping and not table.height:
        raise InputError("calibration: there are no intervals.")
    frame = read_columns(table, ("level", "coverage"), "calibration")
    levels, coverage = floats_of(frame["level"]), floats_of(frame["coverage"])
    known = np.isfinite(levels) & np.isfinite(coverage)
    if not known.any():
        raise InputError("calibration: there are no intervals.")
    order = np.argsort(levels[known], kind="stable")
    levels, coverage = levels[known][order], coverage[known][order]
    worst = int(np.abs(coverage - levels).argmax())
    off = coverage[worst] - levels[worst]
    verdict = f"{abs(off):.1f} percentage points {'too wide' if off > 0 else 'too narrow'}."
    part = str(calibration.get("part") or "") if is_mapping else ""
    ends = np.array([0.0, 100.0])
    chosen = sorted({int(np.abs(levels - level).argmin()) for level in _TOLD})
    told = ", ".join(f"{coverage[place]:.1f} % in the {levels[place]:g} % interval" for place in chosen)
    return Figure(
        title="Calibration of the intervals",
        marks=(
            Line(ends, ends, label="as it should be", tone="neutral", dashed=True),
            Line(levels, coverage, tone="forecast"),
            Points(levels, coverage, label="observed", tone="forecast"),
        ),
        x=Axis("level of the interval, %", limits=(0.0, 100.0)),
        y=Axis("values inside, %", limits=(0.0, 100.0)),
        note=f"On the {part} part. Below the diagonal, intervals are too narrow." if part else "",
        alt_text=f"Coverage: {told}. Farthest off is the {levels[worst]:g} % interval, "
        + (verdict if abs(off) >= 0.05 else "which is right."),
    )


def pit_figure(calibration: Mapping[str, Any]) -> Figure:
    """Show the histogram of the probability integral transform (PIT), which is uniform for calibrated forecasts.

    Args:
        calibration: What ``check_calibration`` returns: its ``pit`` has ``edges`` from 0 to 1 and ``shares`` of the
            values between them.
    """
    pit = calibration.get("pit")
    if not isinstance(pit, Mapping) or not pit.get("edges") or not pit.get("shares"):
        raise InputError("calibration: it has no probability integral transform ('pit').")
    edges, fractions = np.asarray(pit["edges"], np.float64), np.asarray(pit["shares"], np.float64)
    widths = np.diff(edges)
    is_finite = np.isfinite(fractions).all() and fractions.sum() > 0
    if len(fractions) != len(widths) or not (widths > 0).all() or not is_finite:
        raise InputError("calibration: the edges and shares of 'pit' do not match.")
    fractions = fractions / fractions.sum()
    density = fractions / widths
    bars: Mark = Line(edges, np.append(density, density[-1]), label="observed", tone="forecast", steps=True)
    if np.allclose(widths, widths[0]):
        bars = Bars((edges[:-1] + edges[1:]) / 2, density, label="observed", tone="forecast")
    return Figure(
        title="Where values fell in their forecast distributions",
        marks=(bars, Rule(y=1.0, label="as it should be")),
        x=Axis("probability integral transform (PIT)", limits=(0.0, 1.0)),
        y=Axis("density, 1 everywhere if right", from_zero=True),
        alt_text=_verdict(edges, fractions),
    )


def _verdict(edges: Array, fractions: Array) -> str:
    low, middle, high = np.interp((0.1, 0.5, 0.9), edges, np.concatenate([[0.0], fractions.cumsum()]))
    outside = low + 1 - high
    text = f"{100 * outside:.0f} % of the values fell into the outer fifth of their distributions"
    if outside > 0.2 * _NARROW:
        text += ", so these are too narrow"
    elif outside < 0.2 * _WIDE:
        text += ", so these are too wide"
    text += f", and {100 * (1 - middle):.0f} % above the median"
    if abs(middle - 0.5) > _SLANT:
        text += f", so forecasts are too {'low' if middle < 0.5 else 'high'}"
    return f"{text}."
