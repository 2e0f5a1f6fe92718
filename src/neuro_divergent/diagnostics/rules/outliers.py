"""Rule: the data have outliers."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.data.profile import OUTLIER
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding, Severity
from neuro_divergent.diagnostics.rules.base import Rule

SHARE = 1e-3  # fraction of outliers for a finding
EXTREME = 100.0  # robust z-score of a value that dominates a squared loss, and the spread of a window

_SQUARED = ("mse", "rmse", "normal")
_SPREAD = ("standard", "minmax", "mean_abs", "revin")


@register("outliers")
class Outliers(Rule):
    """Finds values so extreme that they dominate the scale of a window or the loss."""

    title = "There are outliers in the data"
    needs = ("data",)

    def check(self, evidence: Evidence) -> Finding | None:
        assert evidence.data is not None
        fraction, largest = evidence.data.get("outlier_share"), evidence.data.get("largest_outlier", 0.0)
        if not isinstance(fraction, (int, float)) or not isinstance(largest, (int, float)):
            return None
        if fraction < SHARE and largest < EXTREME:
            return None
        text = (
            f"{format_number(100 * fraction)} % of the values are more than {OUTLIER:.0f} robust standard deviations "
            f"from the median of their series; the farthest is {format_number(largest)} away."
        )
        loss, scaler = evidence.component("task.loss"), evidence.component("task.scaler")
        changes = []
        if scaler in _SPREAD:
            why = "Estimates level and spread by median and quartiles, which are robust to outliers."
            changes.append(Change("task.scaler", "robust", why))
        if loss in _SQUARED:
            changes.append(Change("task.loss", "huber", "Grows linearly, not quadratically, for large errors."))
        severity: Severity = "warning" if largest >= EXTREME and (loss in _SQUARED or scaler in _SPREAD) else "hint"
        return self.finding(severity, text, {"share": fraction, "largest": largest}, changes)
