"""Rule: training waits for batches."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule
from neuro_divergent.diagnostics.rules.curve import Curve

# Fraction of the time spent waiting for batches from which prefetching helps. The smallest models spend a quarter of
# their time on batches without any problem.
WAITING = 0.4
SECONDS = 10.0  # least time of training, in seconds
PREFETCH = 4  # batches to prefetch


@register("slow_input")
class SlowInput(Rule):
    """Finds training that spends much of its time waiting for batches."""

    title = "Training waits for data"
    needs = ("history",)

    def check(self, evidence: Evidence) -> Finding | None:
        seconds = float(Curve.of(evidence, "seconds").values[-1])
        waiting = waiting_seconds(evidence)
        if waiting is None:
            raise NotEnoughError("the time spent waiting for batches was not measured")
        if evidence.on_disk and evidence.setting("training.shuffle", default=True) is True:
            return None  # the rule slow_disk knows more
        fraction = waiting / seconds if seconds > 0 else 0.0
        if seconds < SECONDS or fraction < WAITING:
            return None
        text = (
            f"{format_number(waiting)} of {format_number(seconds)} seconds, {format_number(100 * fraction)} %, went "
            "into waiting for batches."
        )
        changes = []
        if not evidence.number("training.prefetch"):
            why = "A thread makes batches while the network works; worth it where data come from a slow disk."
            changes.append(Change("training.prefetch", PREFETCH, why))
        numbers = {"waiting_seconds": waiting, "seconds": seconds, "share": fraction}
        return self.finding("warning", text, numbers, changes)


def waiting_seconds(evidence: Evidence) -> float | None:
    """Return the waiting time in seconds: as measured, or from the column ``waiting_share`` of the history."""
    if evidence.waiting_seconds is not None:
        return evidence.waiting_seconds
    assert evidence.history is not None
    if "waiting_share" not in evidence.history.columns:
        return None
    fractions, clock = Curve.of(evidence, "waiting_share"), Curve.of(evidence, "seconds")
    times = np.interp(fractions.steps, clock.steps, clock.values)
    return float((fractions.values * np.diff(times, prepend=0.0)).sum())
