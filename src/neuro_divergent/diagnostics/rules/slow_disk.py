"""Rule: training waits for the disk."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule
from neuro_divergent.diagnostics.rules.curve import Curve
from neuro_divergent.diagnostics.rules.slow_input import SECONDS, waiting_seconds

WAITING = 1 / 3  # fraction of the time spent waiting for batches


@register("slow_disk")
class SlowDisk(Rule):
    """Finds training on a panel on disk that waits for windows drawn from all over it."""

    title = "Training waits for the disk"
    needs = ("history",)

    def check(self, evidence: Evidence) -> Finding | None:
        if evidence.on_disk is None:
            raise NotEnoughError("it is not known whether windows were read from disk")
        if not evidence.on_disk or evidence.setting("training.shuffle", default=True) is not True:
            return None
        seconds = float(Curve.of(evidence, "seconds").values[-1])
        waiting = waiting_seconds(evidence)
        if waiting is None:
            raise NotEnoughError("the time spent waiting for batches was not measured")
        fraction = waiting / seconds if seconds > 0 else 0.0
        if seconds < SECONDS or fraction < WAITING:
            return None
        text = (
            f"{format_number(waiting)} of {format_number(seconds)} seconds, {format_number(100 * fraction)} %, went "
            "into waiting for windows in random order from a panel on disk."
        )
        why = "Windows in random order within blocks are read many times faster."
        numbers = {"waiting_seconds": waiting, "seconds": seconds, "share": fraction}
        return self.finding("warning", text, numbers, [Change("training.shuffle", "blocks", why)])
