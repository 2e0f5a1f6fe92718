"""Rule: the learning rate is too low."""

from __future__ import annotations

import math

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_rate, rounded
from neuro_divergent.diagnostics.rules.curve import Curve, require_same_targets
from neuro_divergent.diagnostics.rules.updates import USUAL_RATIO, has_gradients, update_ratio

ROWS = 10  # least number of rows of the history
TINY_RATIO = 2e-5  # median relative update for a finding, fifty times smaller than usual
# Decrease per unit of learning rate in the second half of training, relative to the first half. A loss near a plateau
# falls ever more slowly; one that falls linearly is far from it.
STRAIGHT = 0.7
SMALL_FALL = 0.1  # relative decrease of the loss up to which training counts as hardly begun
SURE = 4.0  # least slope in both halves, in standard errors, of a falling loss

_WHY = "Larger steps get somewhere in the same time; 'nd train --find-lr' looks for the best."


@register("rate_too_low")
class RateTooLow(Rule):
    """Finds training whose loss hardly changed, or falls linearly far from a plateau."""

    title = "The learning rate is too low"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        if evidence.is_running:
            raise NotEnoughError("training still goes on")
        require_same_targets(evidence)
        curve = Curve.of(evidence, "train_loss", least=ROWS)
        ratio = update_ratio(evidence)
        if not has_gradients(evidence):
            raise NotEnoughError("hardly any layer gets a gradient, whatever the rate is")
        gained = (curve.first - curve.end) / max(abs(curve.first), 1e-12)
        if gained > SMALL_FALL:
            return None
        numbers = {"first": curve.first, "end": curve.end, **({} if ratio is None else {"update_ratio": ratio})}
        moved = (
            f"The training loss went from {format_number(curve.first)} to {format_number(curve.end)} in "
            f"{curve.steps[-1]:,.0f} steps"
        )
        if ratio is not None and ratio < TINY_RATIO:
            text = f"{moved}, and a step changes half of the layers by less than {ratio:.1g} of their size."
            factor = min(max(USUAL_RATIO / max(ratio, 1e-12), 10.0), 10_000.0)
            return self.finding("warning", text, numbers, change_rate(evidence, rounded(factor), _WHY))
        straight = _straightness(evidence, curve)
        if straight is None or straight < STRAIGHT or (ratio is not None and ratio > USUAL_RATIO):
            return None
        text = (
            f"{moved}, in a straight line: the second half of training brought {format_number(straight)} times "
            "the first."
        )
        return self.finding("warning", text, {**numbers, "straightness": straight}, change_rate(evidence, 10.0, _WHY))


def _straightness(evidence: Evidence, curve: Curve) -> float | None:
    """Return the decrease per unit of learning rate in the second half, relative to the first half.

    The loss is taken over the sum of the rates so far, not over steps, so that a schedule which lowers the rate does
    not look like a plateau. ``None`` where the fall does not stand out of the noise.
    """
    try:
        rates = Curve.of(evidence, "learning_rate", least=2)
    except NotEnoughError:
        return None
    spent = np.cumsum(np.interp(curve.steps, rates.steps, rates.values) * np.diff(curve.steps, prepend=0.0))
    half = spent <= spent[-1] / 2
    if spent[-1] <= 0 or half.sum() < ROWS // 3 or (~half).sum() < ROWS // 3:
        return None
    falls = []
    for part in (half, ~half):
        slope, error = _slope(spent[part], curve.values[part])
        if -slope < SURE * error or slope >= 0:
            return None
        falls.append(-slope)
    return falls[1] / falls[0]


def _slope(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the slope of a straight line through points, and its standard error."""
    away = x - x.mean()
    energy = float(away @ away)
    if energy <= 0 or len(x) < 3:
        return 0.0, math.inf
    slope = float(away @ y) / energy
    rest = y - y.mean() - slope * away
    return slope, math.sqrt(float(rest @ rest) / (len(x) - 2) / energy)
