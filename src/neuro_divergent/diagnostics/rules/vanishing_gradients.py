"""Rule: gradients vanish."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.gradients import FROZEN, VANISHING, analyse_gradients, is_small
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_model

STEPS = 3  # least number of recorded steps
SHARE = 0.1  # fraction of the layers with weights for a warning; a single one may be unused


@register("vanishing_gradients")
class VanishingGradients(Rule):
    """Finds layers whose gradient is zero, or tiny compared with that of the others."""

    title = "Gradients vanish"
    needs = ("layers",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        assert evidence.layers is not None
        report = analyse_gradients(evidence.layers)
        if report.steps < STEPS:
            raise NotEnoughError(f"gradients were measured at {report.steps} steps, and {STEPS} are needed")
        silent = [] if evidence.setting("training.freeze") else report.with_verdict(FROZEN)
        found = [name for name in (*report.with_verdict(VANISHING), *silent) if not is_small(name)]
        weights = sum(not is_small(name) for name in report.layers["layer"])
        fraction = len(found) / max(weights, 1)
        if not found:
            return None
        smallest = float(report.layers.filter(layer=found[0])["gradient"].fill_null(0.0)[0])
        usual = float(report.layers["gradient"].median() or 0.0)  # type: ignore[arg-type]
        text = (
            f"{len(found)} of {weights} layers have vanishing gradients, such as {found[0]}: {smallest:.1e}, where "
            f"the median of the layers is {usual:.1e}."
        )
        numbers = {"layers": len(found), "of": weights, "smallest": smallest, "median": usual}
        changes: list[Change] = []
        if evidence.setting("model.activation") in ("Sigmoid", "Tanh", "ReLU"):
            changes += change_model(evidence, "activation", "GELU", "Has a gradient on both sides of zero.")
        if evidence.setting("model.norm") == "none":
            why = "Keeps the inputs of layers in the range where they react."
            changes += change_model(evidence, "norm", "layer", why)
        depth = evidence.number("model.num_layers")
        if depth is not None and depth > 2:
            changes += change_model(evidence, "num_layers", max(2, int(depth // 2)), "A shorter way for the gradient.")
        return self.finding("warning" if fraction >= SHARE else "hint", text, numbers, changes)
