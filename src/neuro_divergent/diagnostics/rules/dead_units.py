"""Rule: units are dead."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_model, change_rate

UNITS = 16  # least number of units of a layer
# Fraction of dead units in a layer for a problem and for a warning. Wide ReLU layers of healthy networks have some: in
# the deepest layer of a small one two thirds of the units may be inactive at the start.
ALL, MANY = 0.95, 0.8


@register("dead_units")
class DeadUnits(Rule):
    """Finds layers whose units output zero for every input."""

    title = "Units are dead"
    needs = ("network",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        numeric = (int, float)
        rows = [row for row in evidence.rows("network", "activations") if isinstance(row.get("dead_share"), numeric)]
        layers = [row for row in rows if isinstance(row.get("units"), numeric) and row["units"] >= UNITS]
        if not layers:
            raise NotEnoughError("the network has no layer of units that could die")
        worst = max(layers, key=lambda row: row["dead_share"])
        many = [row for row in layers if row["dead_share"] >= MANY]
        if not many:
            return None
        fraction = float(worst["dead_share"])
        text = (
            f"{len(many)} of {len(layers)} layers have more than {100 * MANY:.0f} % dead units; the worst is "
            f"{worst.get('layer', '')} with {format_number(100 * fraction)} % of {worst['units']:.0f}."
        )
        changes: list[Change] = []
        if evidence.setting("model.activation") == "ReLU":
            why = "Has a gradient below zero too, so that units recover."
            changes += change_model(evidence, "activation", "GELU", why)
        changes += change_rate(evidence, 0.3, "A single large step can make a unit inactive for good.")
        size = evidence.number("model.hidden_size")
        if size is not None and fraction < ALL and size >= 16:
            changes += change_model(evidence, "hidden_size", int(size // 2), "Fewer units are sufficient.")
        numbers = {"layers": len(many), "of": len(layers), "dead_share": fraction}
        return self.finding("problem" if fraction >= ALL else "warning", text, numbers, changes)
