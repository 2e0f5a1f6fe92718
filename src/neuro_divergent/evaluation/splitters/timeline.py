"""Common time axis of all series of a panel."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.panel import Panel


def first_steps(panel: Panel) -> Ints:
    """Return how many steps of the frequency after the earliest time of the panel each series begins.

    A series may begin between two steps, as weeks from Wednesday do among weeks from Monday. It then counts from the
    step before, so that a row lies before a step exactly if its time is earlier.
    """
    starts, frequency = panel.starts, panel.frequency
    earliest = starts.sort().head(1)
    steps = frequency.between(earliest.new_from_index(0, len(starts)), starts)
    if (steps >= 0).all():
        return steps
    count = 2
    while (times := frequency.time_at(earliest.new_from_index(0, count), np.arange(count)))[-1] <= starts.max():
        count *= 2
    return times.search_sorted(starts, side="right").to_numpy().astype(np.int64) - 1
