"""Drawing instructions as in the ``d`` of an SVG path. Heights count from the top, as everywhere in SVG."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def trace(x: Floats, y: Floats) -> str:
    """Return a path through points, broken where one is missing; a lone point becomes a stroke without length."""
    parts = []
    across, down = _written(x), _written(y)
    for run in _runs(np.isfinite(x) & np.isfinite(y)):
        points = [f"{across[place]} {down[place]}" for place in run]
        parts.append(f"M{'L'.join(points if len(points) > 1 else points * 2)}")
    return "".join(parts)


def outline(x: Floats, low: Floats, high: Floats) -> str:
    """Return the path around the area between two lines, for each stretch where both are known."""
    parts = []
    across, below, above = _written(x), _written(low), _written(high)
    for run in _runs(np.isfinite(x) & np.isfinite(low) & np.isfinite(high)):
        there = [f"{across[place]} {above[place]}" for place in run]
        back = [f"{across[place]} {below[place]}" for place in reversed(run)]
        parts.append(f"M{'L'.join(there + back)}Z")
    return "".join(parts)


def dots(x: Floats, y: Floats) -> str:
    """Return strokes without length, which the ends of a thick line turn into dots of the same size everywhere."""
    known = np.isfinite(x) & np.isfinite(y)
    return "".join(f"M{across} {down}h0" for across, down in zip(_written(x[known]), _written(y[known]), strict=True))


def rectangles(boxes: Iterable[Box]) -> str:
    """Return rectangles as one path."""
    parts = []
    for box in boxes:
        left, top, right, bottom = _written(np.array(box))
        parts.append(f"M{left} {top}H{right}V{bottom}H{left}Z")
    return "".join(parts)


def stairs(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a line that goes along to the next place, and only there up or down."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _written(values: Floats) -> list[str]:
    """Write numbers with one digit after the point, where it is not zero."""
    return [f"{value:g}" for value in (np.round(values, 1) + 0.0).tolist()]


def _runs(known: Bools) -> list[list[int]]:
    """Return the places of each unbroken stretch."""
    places = np.flatnonzero(known)
    return [run.tolist() for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if run.size]
