"""Rule: training slows down."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule
from neuro_divergent.diagnostics.rules.curve import Curve

ROWS = 20  # least number of rows of the history without a validation
SECONDS = 30.0  # least time of training, in seconds
SLOW = 0.35  # speed of the slowest tenth of the rows, or of the last quarter of training, relative to the median


@register("unstable_speed")
class UnstableSpeed(Rule):
    """Finds training whose speed drops, for instance because threads compete for cores."""

    title = "The speed of training is unstable"
    needs = ("history",)

    def check(self, evidence: Evidence) -> Finding | None:
        seconds = float(Curve.of(evidence, "seconds").values[-1])
        speed = _speed_without_validation(evidence)
        if seconds < SECONDS:
            return None
        usual, slowest = float(np.median(speed.values)), float(np.quantile(speed.values, 0.1))
        late = float(np.median(speed.values[-max(len(speed) // 4, 1) :]))
        early = float(np.median(speed.values[: max(len(speed) // 4, 1)]))
        if usual <= 0 or (slowest > SLOW * usual and late > SLOW * early):
            return None
        text = (
            f"Training runs at {format_number(usual)} samples a second at the median, at {format_number(slowest)} in "
            "the slowest tenth, "
            f"and at {format_number(late)} in the last quarter after {format_number(early)} in the first."
        )
        changes = []
        if evidence.setting("training.threads") != 1:
            changes.append(Change("training.threads", 1, "One thread is faster than several that wait for busy cores."))
        numbers = {"median": usual, "slowest": slowest, "early": early, "late": late}
        return self.finding("hint", text, numbers, changes)


def _speed_without_validation(evidence: Evidence) -> Curve:
    """Return the speed of rows without a validation, except for the first, which includes warm-up."""
    assert evidence.history is not None
    history = evidence.history[1:]
    if "validation_loss" in history.columns:
        history = history.filter(history["validation_loss"].is_null())
    curve = Curve.of(Evidence(history=history), "samples_per_second")
    if len(curve) < ROWS:
        raise NotEnoughError(f"the history has {len(curve)} rows of undisturbed speed, and {ROWS} are needed")
    return curve
