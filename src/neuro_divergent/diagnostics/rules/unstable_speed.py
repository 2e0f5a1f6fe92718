"""Training that becomes slow, now and then or for good."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule
from neuro_divergent.diagnostics.rules.curve import Curve

ROWS = 20
"""Rows of the history, without those of validations, below which speed has no usual value."""

SECONDS = 30.0
"""Time of training below which nothing would be gained."""

SLOW = 0.35
"""Speed in the slowest tenth of the rows, or in the last quarter of training, beside the median of the rest."""


@register("unstable_speed")
class UnstableSpeed(Rule):
    """Finds training whose speed drops, as where threads take each other's cores."""

    title = "The speed of training is unstable"
    needs = ("history",)

    def check(self, evidence: Evidence) -> Finding | None:
        """Compare the slowest rows, and the last quarter, with the rest."""
        assert evidence.history is not None
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
            changes.append(Change("training.threads", 1, "Threads that wait for busy cores are slower than one alone."))
        numbers = {"median": usual, "slowest": slowest, "early": early, "late": late}
        return self.finding("hint", text, numbers, changes)


def _speed_without_validation(evidence: Evidence) -> Curve:
    """Return the speed in rows that do not hold the time of a validation, without the first, which warms up."""
    assert evidence.history is not None
    history = evidence.history[1:]
    if "validation_loss" in history.columns:
        history = history.filter(history["validation_loss"].is_null())
    curve = Curve.of(Evidence(history=history), "samples_per_second")
    if len(curve) < ROWS:
        raise NotEnoughError(f"the history has {len(curve)} rows of undisturbed speed, and {ROWS} are needed")
    return curve
