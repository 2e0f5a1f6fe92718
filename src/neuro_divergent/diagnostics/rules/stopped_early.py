"""Training that ended while it was still getting better."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Finding, Severity
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_length
from neuro_divergent.diagnostics.rules.curve import Curve

VALIDATIONS = 6
"""Validations below which the end of a curve has no slope."""

LAST = 0.2
"""The part of training that is looked at: its last fifth."""

CLEAR, SLIGHT = 0.2, 0.1
"""Share of the whole fall that came in it, for a warning and for a hint. A straight line has a fifth there; a curve
that settles has next to nothing, also with a schedule that ends low."""

LEVEL = 0.05
"""What that improvement must be of the loss itself."""


@register("stopped_early")
class StoppedEarly(Rule):
    """Finds a validation loss that was still falling when training ended."""

    title = "Training ended too early"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        """Compare what the last fifth of training brought with the whole."""
        if evidence.state not in (None, "finished"):
            raise NotEnoughError("training has not come to its end")
        curve = Curve.of(evidence, "validation_loss", least=VALIDATIONS)
        start = max(Curve.of(evidence, "train_loss").first, curve.first)
        best = float(curve.values.min())
        before = curve.between(0, 1 - LAST)
        if not len(before) or best < curve.values[-1] - 0.01 * max(start - best, 0.0):
            return None  # it did not end at its best
        gained = float(before.values.min()) - best
        share = gained / (start - best) if start > best else 0.0
        if share < SLIGHT or gained < LEVEL * abs(best):
            return None
        text = (
            f"The validation loss fell by {format_number(gained)} to {format_number(best)} in the last fifth of "
            f"{curve.steps[-1]:,.0f} "
            f"steps: {format_number(100 * share)} % of all it fell."
        )
        changes = change_length(evidence, 2, "The loss was still falling.")
        severity: Severity = "warning" if share >= CLEAR else "hint"
        return self.finding(severity, text, {"gained": gained, "best": best, "share": share}, changes)
