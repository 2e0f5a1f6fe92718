"""Rule: the validation loss oscillates."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule, change_rate, steady_schedule
from neuro_divergent.diagnostics.rules.curve import Curve

VALIDATIONS = 8  # least number of validations in the last two thirds of training
# Mean change between two validations, relative to the loss. All validations use the same windows, so this is not
# sampling noise but movement of the weights.
SWING = 0.15
OF_FALL = 0.15  # the same relative to the total decrease from the first training loss, for losses that cross zero
TURNS = 0.4  # fraction of validations at which the change reverses its sign; a falling curve has few


@register("oscillation")
class Oscillation(Rule):
    """Finds a validation loss that rises and falls without converging."""

    title = "The validation loss oscillates"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        whole = Curve.of(evidence, "validation_loss", least=VALIDATIONS)
        later = whole.between(1 / 3, 1)
        if len(later) < VALIDATIONS:
            later = Curve(whole.steps[-VALIDATIONS:], whole.values[-VALIDATIONS:])
        changes = np.diff(later.values)
        swing = float(np.abs(changes).mean())
        turns = float((changes[1:] * changes[:-1] < 0).mean())
        level = abs(float(np.median(later.values)))
        start = Curve.of(evidence, "train_loss").first
        fall = max(start, whole.first) - float(whole.values.min())
        if turns < TURNS or swing < SWING * level or swing < OF_FALL * fall:
            return None
        text = (
            f"From one validation to the next the loss changes by {format_number(swing)} on average, "
            f"{format_number(100 * swing / level)} % of {format_number(level)}, and turns round "
            f"{format_number(100 * turns)} % of the time."
        )
        advice = change_rate(evidence, 0.3, "Smaller steps converge.")
        advice += steady_schedule(evidence)
        if evidence.setting("training.average") is None:
            advice.append(Change("training.average", "ema", "An average of the weights oscillates less."))
        return self.finding("warning", text, {"swing": swing, "level": level, "turns": turns}, advice)
