"""Times of steps and calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median

PROCESSOR = "ND_PROCESSOR_TIME"  # variable that, if set, makes all times those of the processor
WARM_UP = 1  # steps that are not counted
LEAST, MOST = 2, 200  # calls and steps that are
LONG = 3.0  # seconds; an architecture with longer steps is measured in one round

now = time.process_time if os.environ.get(PROCESSOR) else time.perf_counter


def step_seconds(times: list[float]) -> float:
    """Return the median time of a step, from the times at which steps ended; what is made ready before is not in it."""
    return median(after - before for before, after in pairwise(times[WARM_UP - 1 :]))


def call_seconds(function: Callable[[], object], seconds: float) -> float:
    """Return the median time of a call, from as many calls as there is time for, after one that is not counted."""
    function()
    spent: list[float] = []
    while len(spent) < LEAST or (sum(spent) < seconds and len(spent) < MOST):
        began = now()
        function()
        spent.append(now() - began)
    return median(spent)


def steps_within(seconds: float, step: float) -> int:
    """Return how many steps to train so that those that count take about some time."""
    return WARM_UP + min(MOST, max(LEAST, round(seconds / step)))
