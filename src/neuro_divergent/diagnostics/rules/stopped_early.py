"""Rule: training ended while validation still improved."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_length
from neuro_divergent.diagnostics.rules.curve import Curve

VALIDATIONS = 6  # least number of validations
LAST = 0.2  # start of the part of training that is checked: its last fifth
# Fraction of the total decrease in that part, for a warning and for a hint. A linear decrease has a fifth there; a
# converged curve nearly nothing, also with a decaying schedule.
CLEAR, SLIGHT = 0.2, 0.1
LEVEL = 0.05  # least improvement relative to the loss


@register("stopped_early")
class StoppedEarly(Rule):
    """Finds a validation loss that was still falling when training ended."""

    title = "Training ended too early"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        if evidence.state not in (None, "finished"):
            raise NotEnoughError("training has not come to its end")
        curve = Curve.of(evidence, "validation_loss", least=VALIDATIONS)
        start = max(Curve.of(evidence, "train_loss").first, curve.first)
        best = float(curve.values.min())
        before = curve.between(0, 1 - LAST)
        if not len(before) or best < curve.values[-1] - 0.01 * max(start - best, 0.0):
            return None  # it did not end at its best
        gained = float(before.values.min()) - best
        fraction = gained / (start - best) if start > best else 0.0
        if fraction < SLIGHT or gained < LEVEL * abs(best):
            return None
        text = (
            f"The validation loss fell by {format_number(gained)} to {format_number(best)} in the last fifth of "
            f"{curve.steps[-1]:,.0f} steps: {format_number(100 * fraction)} % of all it fell."
        )
        changes = change_length(evidence, 2, "The loss was still falling.")
        numbers = {"gained": gained, "best": best, "share": fraction}
        return self.finding("warning" if fraction >= CLEAR else "hint", text, numbers, changes)
