"""Rule: gradients are too large."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule, change_rate
from neuro_divergent.diagnostics.rules.curve import Curve

ROWS = 10  # least number of rows of the history
SPIKE = 100.0  # ratio of a norm to the median that counts as a spike
SPIKES = 3  # least number of spikes; fewer may come from single batches
GROWTH = 100.0  # ratio of the median norm in the last quarter of training to that in the first
# Fraction of rows in which the gradient is clipped, and ratio of the median norm to the limit, for a hint.
CLIPPED_SHARE, CLIPPED_TIMES = 0.95, 50.0


@register("exploding_gradients")
class ExplodingGradients(Rule):
    """Finds gradients that grow, have spikes, or are nearly always clipped."""

    title = "Gradients explode"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        curve = Curve.of(evidence, "gradient_norm", least=ROWS)
        usual = float(np.median(curve.values))
        if usual <= 0:
            return None
        quarter = max(len(curve) // 4, 1)
        growth = float(np.median(curve.values[-quarter:]) / max(np.median(curve.values[:quarter]), 1e-30))
        spikes = int((curve.values > SPIKE * usual).sum())
        limit = evidence.number("training.clip.limit")
        is_clipped = evidence.component("training.clip") == "norm" and limit is not None
        largest = float(curve.values.max())
        numbers = {"median": usual, "largest": largest, "spikes": spikes, "growth": growth}
        said = f"The norm of the gradients is {format_number(usual)} at the median and {format_number(largest)} at most"
        changes = change_rate(evidence, 0.3, "Smaller steps stay where gradients are small.")
        if not is_clipped:
            changes.insert(0, Change("training.clip", {"name": "norm", "limit": 1.0}, "Bounds every step."))
        falls = Curve.of(evidence, "train_loss").fall > 0
        if growth > GROWTH and largest > SPIKE * float(curve.values[0]) and not (is_clipped and falls):
            text = f"{said}; in the last quarter it is {format_number(growth)} times what it was in the first."
            return self.finding("warning", text, numbers, changes)
        if spikes >= SPIKES:
            text = f"{said}; {spikes} times it was more than {SPIKE:.0f} times the median."
            return self.finding("hint" if is_clipped else "warning", text, numbers, changes)
        if is_clipped and limit is not None:
            fraction = float((curve.values > limit).mean())
            if fraction >= CLIPPED_SHARE and usual > CLIPPED_TIMES * limit:
                text = f"{said}; {format_number(100 * fraction)} % of the steps are cut back to {format_number(limit)}."
                why = "Clips unusual steps only."
                change = Change("training.clip", {"name": "norm", "limit": float(f"{2 * usual:.1g}")}, why)
                return self.finding("hint", text, {**numbers, "clipped_share": fraction}, [change])
        return None
