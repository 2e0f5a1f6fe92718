"""Rule: the validation part is small."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_count
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule

# Forecasts of a complete horizon in the validation part, for a hint and for a warning. Early stopping and the widths of
# intervals depend on them.
FEW, FEWER = 20, 5


@register("small_validation")
class SmallValidation(Rule):
    """Finds a validation part with few windows."""

    title = "Little is held out for validation"
    needs = ("config", "data")

    def check(self, evidence: Evidence) -> Finding | None:
        fraction = evidence.number("task.validation")
        windows = _windows(evidence, 0.2 if fraction is None else fraction)
        if fraction == 0:
            text = "0 rows are held out for validation: there is no early stopping, and intervals have no width."
            change = Change("task.validation", 0.2, "Keeps the last fifth of each series for validation.")
            return self.finding("hint", text, {"windows": 0}, [change])
        if windows >= FEW:
            return None
        text = (
            f"The validation part has room for {format_count(windows, 'forecast')} of "
            f"{format_count(evidence.horizon, 'step')}. When to stop, and how wide intervals are, rests on them."
        )
        changes = []
        if fraction is not None and fraction < 0.3:
            changes.append(Change("task.validation", 0.3, "Holds out more."))
        return self.finding("warning" if windows < FEWER else "hint", text, {"windows": windows}, changes)


def _windows(evidence: Evidence, fraction: float) -> int:
    """Return the number of windows, assuming that all series have the median length."""
    assert evidence.data is not None
    if evidence.scores is not None and evidence.scores.get("part") == "validation":
        found = evidence.scores.get("windows")
        if isinstance(found, int):
            return found
    lengths, series = evidence.data.get("lengths"), evidence.data.get("series")
    length = lengths.get("median") if isinstance(lengths, dict) else None
    if not isinstance(length, (int, float)) or not isinstance(series, int):
        raise NotEnoughError("the lengths of the series are not known")
    rows = fraction if fraction >= 1 else max(round(fraction * length), evidence.horizon)
    joint = evidence.setting("task.joint") is True  # then a window spans all series
    return int(rows // evidence.horizon) * (1 if joint else series)
