"""Training that no longer improves anything."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule, change_length
from neuro_divergent.diagnostics.rules.curve import Curve

VALIDATIONS = 20
"""Validations below which there is no plateau to speak of."""

SHARE = 0.5
"""Share of training without an improvement from which the rest was for nothing."""

IMPROVEMENT = 0.01
"""What counts as an improvement, as a share of all the validation loss fell."""


@register("plateau")
class Plateau(Rule):
    """Finds training that went on for long without a better validation loss."""

    title = "The loss is on a plateau"
    needs = ("history",)

    def check(self, evidence: Evidence) -> Finding | None:
        """Look for the last validation that was better than all before by more than a little."""
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
        changes += change_length(evidence, 1.25 * (1 - without), "The rest of the time brings nothing.")
        numbers = {"step": float(curve.steps[place]), "steps": float(curve.steps[-1]), "share": without}
        return self.finding("hint", text, numbers, changes)
