"""Online conformal prediction: windows in the order of time, each value used from when it is observed.

The value of step ``h`` of a window is observed ``h`` rows after its cut-off. The widths of a window depend on every
value observed before its first target, and on nothing later.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.evaluation.conformal.trackers import WIDE, Trackers


class Walk(NamedTuple):
    """Widths over time.

    Attributes:
        widths: Widths of each window at its cut-off, ``(windows, levels, sides, horizon)``.
        last: Widths after all values, ``(groups, levels, sides, horizon)``.
    """

    widths: Floats
    last: Floats


def walk(
    scores: Floats,
    times: Ints,
    groups: Ints,
    *,
    start: Floats,
    middle: Floats,
    scale: Floats,
    misses: Floats,
    by: Literal["step", "pooled"],
) -> Walk:
    """Update trackers with scores in the order of time.

    Args:
        scores: ``(windows, levels, sides, horizon)``; NaN where the value was not observed.
        times: When each was observed, ``(windows, horizon)``; the first is that of the first target.
        groups: Group of trackers that a window belongs to.
        start: Initial widths, ``(groups, levels, sides, horizon)``.
        middle: Median of the calibration scores, ``(levels, sides, horizon)``.
        scale: Spread of the calibration scores around it.
        misses: Miscoverage allowed at each level and side, ``(levels, 1)``.
        by: Whether each step has its own tracker.
    """
    horizon = scores.shape[-1]
    steps = horizon if by == "step" else 1
    begin = np.moveaxis(start[..., :steps], -1, 1)  # groups, steps, levels, sides
    flat = (-1, *begin.shape[2:])
    around = [np.broadcast_to(np.moveaxis(item[..., :steps], -1, 0), begin.shape) for item in (middle, scale)]
    trackers = Trackers(begin.reshape(flat), around[0].reshape(flat), around[1].reshape(flat), misses)

    seen = ~np.isnan(scores[:, 0, 0])
    window, step = np.nonzero(seen)
    known = times[window, step]
    order = np.argsort(known, kind="stable")
    window, step, known = window[order], step[order], known[order]
    tracker = groups[window] * steps + (step if by == "step" else 0)
    observed = scores[window, :, :, step]

    moments = np.unique(times[:, 0])
    until = np.searchsorted(known, moments, side="left")
    by_moment = np.argsort(times[:, 0], kind="stable")
    bounds = [*np.searchsorted(times[by_moment, 0], moments, side="left"), len(times)]
    widths = np.empty_like(scores)
    done = 0
    for place, end in enumerate(until.tolist()):
        _learn(trackers, tracker[done:end], known[done:end], observed[done:end])
        done = end
        now = by_moment[bounds[place] : bounds[place + 1]]
        widths[now] = _spread_out(trackers, len(start), horizon)[groups[now]]
    _learn(trackers, tracker[done:], known[done:], observed[done:])
    return Walk(widths, _spread_out(trackers, len(start), horizon))


def scale_of(scores: Floats, *, by: Literal["step", "pooled"]) -> tuple[Floats, Floats]:
    """Return the median of scores and their spread around it, both ``(levels, sides, horizon)``.

    Where the steps are pooled, the last axis has one entry.

    Args:
        scores: ``(levels, sides, windows, horizon)``; NaN where the value was not observed.
        by: Whether each step has its own scale; one whose scores are all equal, or missing, has that of all steps.
    """
    flat = scores.reshape(*scores.shape[:2], -1, 1)
    shared, around = _middle(flat)
    if by == "pooled":
        return shared, np.maximum(around, 1e-12)
    missing = np.isnan(scores).all(axis=2, keepdims=True)
    middle, spread = _middle(np.where(missing, shared[:, :, None], scores))
    return middle, np.maximum(np.where(spread > 0, spread, around), 1e-12)


def _middle(scores: Floats) -> tuple[Floats, Floats]:
    middle = np.nanmedian(scores, axis=2)
    return middle, WIDE * np.nanmean(np.abs(scores - middle[:, :, None]), axis=2)


def _learn(trackers: Trackers, tracker: Ints, known: Ints, observed: Floats) -> None:
    """Update trackers with observed values in the order of time, several trackers at once."""
    if not len(tracker):
        return
    order = np.lexsort((known, tracker))
    changed = np.diff(tracker[order], prepend=-1) != 0
    number = np.cumsum(changed | (np.diff(known[order], prepend=known[order[0]]) != 0))
    turn = np.empty_like(number)
    turn[order] = number - np.maximum.accumulate(np.where(changed, number, 0))
    for current in range(int(turn.max()) + 1):
        now = turn == current
        trackers.learn(tracker[now], observed[now])


def _spread_out(trackers: Trackers, groups: int, horizon: int) -> Floats:
    """Return the current widths as ``(groups, levels, sides, horizon)``."""
    widths = trackers.current()
    widths = np.moveaxis(widths.reshape(groups, -1, *widths.shape[1:]), 1, -1)
    return np.broadcast_to(widths, (*widths.shape[:-1], horizon))
