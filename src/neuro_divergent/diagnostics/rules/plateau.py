"""Rule: the validation loss is on a plateau."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule, change_length
from neuro_divergent.diagnostics.rules.curve import Curve

VALIDATIONS = 20  # least number of validations
SHARE = 0.5  # fraction of training without an improvement, for a finding
IMPROVEMENT = 0.01  # least improvement, relative to the total decrease of the validation loss


@register("plateau")
class Plateau(Rule):
    """Finds long training without a better validation loss."""

    title = "The loss is on a plateau"
    needs = ("history",)

    def check(self, evidence: Evidence) -> Finding | None:
        curve = Curve.of(evidence, "validation_loss", least=VALIDATIONS)
        start = max(Curve.of(evidence, "train_loss").first, curve.first)
        margin = IMPROVEMENT * max(start - float(curve.values.min()), 0.0)
        best, place = np.inf, 0
        for row, value in enumerate(curve.values):
            if value < best - margin:
                best, place = float(value), row
        without = 1 - float(curve.steps[place] / curve.steps[-1])
        if without < SHARE:
            return None
        text = (
            f"After step {curve.steps[place]:,.0f} of {curve.steps[-1]:,.0f} the validation loss improved no more than "
            f"{format_number(margin)} on {format_number(best)}: {format_number(100 * without)} % of training."
        )
        changes = []
        if evidence.component("training.schedule") == "constant":
            changes.append(Change("training.schedule", "plateau", "Lowers the rate whenever there is no improvement."))
        changes += change_length(evidence, 1.25 * (1 - without), "The remaining steps bring no improvement.")
        numbers = {"step": float(curve.steps[place]), "steps": float(curve.steps[-1]), "share": without}
        return self.finding("hint", text, numbers, changes)
