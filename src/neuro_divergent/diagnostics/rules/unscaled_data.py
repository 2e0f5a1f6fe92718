"""Rule: series are not scaled."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Finding
from neuro_divergent.diagnostics.rules.base import Rule, scale_windows

RATIO = 100.0  # ratio of the scales of the largest and the smallest series from which the largest dominate training
LARGE, SMALL = 1e3, 1e-3  # size of unscaled inputs for a finding. Initial weights suit values around 1.


@register("unscaled_data")
class UnscaledData(Rule):
    """Finds series of very different or extreme scale without a scaler."""

    title = "The data are badly scaled"
    needs = ("data", "config")
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        assert evidence.data is not None
        changes = scale_windows(evidence, "Takes level and spread out of each window and puts them back.")
        if not changes or evidence.setting("task.series_scaler") is not None:
            return None
        size = evidence.data.get("size")
        usual = size.get("median") if isinstance(size, dict) else None
        ratio = evidence.data.get("scale_ratio")
        reasons, numbers = [], {}
        if isinstance(ratio, (int, float)) and ratio > RATIO:
            reasons.append(f"the largest series is {format_number(ratio)} times as large as the smallest")
            numbers["scale_ratio"] = float(ratio)
        if isinstance(usual, (int, float)) and not SMALL <= usual <= LARGE:
            reasons.append(f"values are {format_number(usual)} in size at the median")
            numbers["size"] = float(usual)
        if not reasons:
            return None
        text = f"No scaler is used, and {' and '.join(reasons)}."
        return self.finding("warning", text, numbers, changes)
