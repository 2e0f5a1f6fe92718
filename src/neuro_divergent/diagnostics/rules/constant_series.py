"""Rule: series are constant."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule

MANY = 0.5  # fraction of constant series for a warning


@register("constant_series")
class ConstantSeries(Rule):
    """Finds series with a single value."""

    title = "Series never change"
    needs = ("data",)

    def check(self, evidence: Evidence) -> Finding | None:
        data = evidence.data
        assert data is not None
        count, looked_at = data.get("constant_series"), data.get("looked_at")
        series = looked_at.get("series") if isinstance(looked_at, dict) else data.get("series")
        if not isinstance(count, int) or not isinstance(series, int) or count < 1 or series < 1:
            return None
        names = data.get("short_names")
        named = f", such as {str(names[0])!r}" if isinstance(names, list) and names else ""
        fraction = count / series
        text = (
            f"{count:,} of {series:,} series have one value only ({format_number(100 * fraction)} %){named}. They "
            "teach nothing and make scores look better than they are: leave them out of the table."
        )
        change = Change("data.strict", True, "Refuses such series, with their names.")
        numbers = {"count": count, "share": fraction}
        return self.finding("warning" if fraction >= MANY else "hint", text, numbers, [change])
