"""Rule: the training loss rises."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule, change_rate
from neuro_divergent.diagnostics.rules.curve import Curve, require_same_targets

ROWS = 12  # least number of rows of the history
NOISES = 6.0  # least rise above the lowest point, in standard deviations of the noise ...
FAR = 1.0  # ... or least relative rise of the end above the beginning, where the loss oscillates.
LEVEL = 0.05  # least relative rise in any case


@register("diverging")
class Diverging(Rule):
    """Finds training whose loss ends at its initial value, or higher."""

    title = "The training loss rises"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        require_same_targets(evidence)
        curve = Curve.of(evidence, "train_loss", least=ROWS)
        rise, above = curve.end - curve.lowest, curve.end - curve.first
        noise = max(curve.noise, float(np.abs(np.diff(curve.values)).mean()))
        if curve.values[-max(3, len(curve) // 4) :].min() <= curve.first:
            return None  # it comes back to below its beginning now and then
        if rise < max(NOISES * noise, LEVEL * abs(curve.lowest)) and above < FAR * abs(curve.first):
            return None
        text = (
            f"The training loss is {format_number(curve.end)} at the end; it began with {format_number(curve.first)} "
            f"and was {format_number(float(curve.values.min()))} at its lowest."
        )
        changes = change_rate(evidence, 0.1, "The steps are too large to stay where the loss is low.")
        if evidence.setting("training.clip") is None:
            changes.append(Change("training.clip", "norm", "Bounds single large steps."))
        numbers = {"end": curve.end, "first": curve.first, "lowest": float(curve.values.min())}
        return self.finding("problem", text, numbers, changes)
