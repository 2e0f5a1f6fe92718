"""Walking through windows in the order of time, learning each truth when it is known and not before.

The truth of step ``h`` of a window is known ``h`` rows after its cut-off. A window's widths are what the trackers say
after every truth before its first target, and nothing later.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.evaluation.conformal.trackers import WIDE, Trackers


class Walk(NamedTuple):
    """Widths on the way and at its end.

    Attributes:
        widths: Of each window when it was forecast, ``(windows, levels, ends, horizon)``.
        last: After all truths, ``(groups, levels, ends, horizon)``.
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
    """Let trackers follow scores.

    Args:
        scores: ``(windows, levels, ends, horizon)``; NaN where nothing was observed.
        times: When each was known, ``(windows, horizon)``; the first is that of the first target.
        groups: Which group of trackers a window belongs to.
        start: Widths to begin with, ``(groups, levels, ends, horizon)``.
        middle: Median of the scores to begin with, ``(levels, ends, horizon)``.
        scale: How widely they spread around it.
        misses: Share that may be missed at each level and end, ``(levels, 1)``.
        by: Whether each step has a tracker of its own.
    """
    horizon = scores.shape[-1]
    steps = horizon if by == "step" else 1
    begin = np.moveaxis(start[..., :steps], -1, 1)  # groups, steps, levels, ends
    flat = (-1, *begin.shape[2:])
    around = [np.broadcast_to(np.moveaxis(item[..., :steps], -1, 0), begin.shape) for item in (middle, scale)]
    trackers = Trackers(begin.reshape(flat), around[0].reshape(flat), around[1].reshape(flat), misses)

    seen = ~np.isnan(scores[:, 0, 0])
    window, step = np.nonzero(seen)
    known = times[window, step]
    order = np.argsort(known, kind="stable")
    window, step, known = window[order], step[order], known[order]
    tracker = groups[window] * steps + (step if by == "step" else 0)
    truth = scores[window, :, :, step]

    moments = np.unique(times[:, 0])
    until = np.searchsorted(known, moments, side="left")
    by_moment = np.argsort(times[:, 0], kind="stable")
    bounds = [*np.searchsorted(times[by_moment, 0], moments, side="left"), len(times)]
    widths = np.empty_like(scores)
    done = 0
    for place, end in enumerate(until.tolist()):
        _learn(trackers, tracker[done:end], known[done:end], truth[done:end])
        done = end
        asked = by_moment[bounds[place] : bounds[place + 1]]
        widths[asked] = _spread_out(trackers, len(start), horizon)[groups[asked]]
    _learn(trackers, tracker[done:], known[done:], truth[done:])
    return Walk(widths, _spread_out(trackers, len(start), horizon))


def scale_of(scores: Floats, *, by: Literal["step", "pooled"]) -> tuple[Floats, Floats]:
    """Return the median of scores and how widely they spread around it, both ``(levels, ends, horizon)``.

    Where the steps are pooled, the last axis has one entry.

    Args:
        scores: ``(levels, ends, windows, horizon)``; NaN where nothing was observed.
        by: Whether each step has a scale of its own; one whose scores are all alike, or missing, has that of all.
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


def _learn(trackers: Trackers, tracker: Ints, known: Ints, truth: Floats) -> None:
    """Learn truths in the order of time; those of different trackers do not wait for each other."""
    if not len(tracker):
        return
    order = np.lexsort((known, tracker))
    changed = np.diff(tracker[order], prepend=-1) != 0
    number = np.cumsum(changed | (np.diff(known[order], prepend=known[order[0]]) != 0))
    turn = np.empty_like(number)
    turn[order] = number - np.maximum.accumulate(np.where(changed, number, 0))
    for current in range(int(turn.max()) + 1):
        now = turn == current
        trackers.learn(tracker[now], truth[now])


def _spread_out(trackers: Trackers, groups: int, horizon: int) -> Floats:
    """Return the widths of now as ``(groups, levels, ends, horizon)``."""
    widths = trackers.current()
    widths = np.moveaxis(widths.reshape(groups, -1, *widths.shape[1:]), 1, -1)
    return np.broadcast_to(widths, (*widths.shape[:-1], horizon))
