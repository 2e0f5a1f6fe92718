"""Rule: the learning rate is too high."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Finding
from neuro_divergent.diagnostics.gradients import LARGEST_RATIO
from neuro_divergent.diagnostics.rules.base import Rule, change_rate, rounded, steady_schedule
from neuro_divergent.diagnostics.rules.curve import Curve, require_same_targets
from neuro_divergent.diagnostics.rules.updates import USUAL_RATIO, update_ratio

ROWS = 10  # least number of rows of the history to count spikes
PEAK = 0.5  # relative rise of the loss above its first value, for a finding
SPIKES = 3  # least number of spikes; fewer may come from single batches
SPIKE_HEIGHT = 0.5  # height of a spike above the smooth curve, relative to the loss and to its total decrease ...
SPIKE_NOISES = 10.0  # ... and in standard deviations of the noise.


@register("rate_too_high")
class RateTooHigh(Rule):
    """Finds a loss with upward spikes, or very large relative updates."""

    title = "The learning rate is too high"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        ratio = update_ratio(evidence)
        require_same_targets(evidence)
        curve = Curve.of(evidence, "train_loss", least=ROWS)
        peak = float(curve.smooth.max())
        spikes = _spikes(curve)
        numbers = {"first": curve.first, "peak": peak, "spikes": spikes}
        numbers |= {} if ratio is None else {"update_ratio": ratio}
        reasons = []
        if peak - curve.first > max(PEAK * abs(curve.first), curve.fall, SPIKE_NOISES * curve.noise):
            reasons.append(f"the training loss rose from {format_number(curve.first)} to {format_number(peak)}")
        if spikes >= SPIKES:
            reasons.append(f"the training loss has {spikes} spikes of more than half of all it fell")
        if ratio is not None and ratio > LARGEST_RATIO:
            reasons.append(f"half of the layers change by more than {format_number(100 * ratio)} % in a step")
        if not reasons:
            return None
        # Ten times the usual change is still fine, so that a rate which is far too high is not lowered too far.
        factor = 0.1 if ratio is None else min(0.1, 10 * USUAL_RATIO / ratio)
        changes = change_rate(evidence, rounded(factor), "Smaller steps do not overshoot.")
        changes += steady_schedule(evidence)
        text = "; ".join(reasons)
        return self.finding("warning", f"{text[0].upper()}{text[1:]}.", numbers, changes)


def _spikes(curve: Curve) -> int:
    """Count values far above the smooth curve after the first tenth of training."""
    later = curve.steps > 0.1 * curve.steps[-1]
    level = abs(float(np.median(curve.values)))
    height = max(SPIKE_HEIGHT * level, SPIKE_HEIGHT * curve.fall, SPIKE_NOISES * curve.noise)
    return int(((curve.values - curve.smooth > height) & later).sum()) if height > 0 else 0
