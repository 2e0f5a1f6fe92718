"""A loss that swings."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule, change_rate, steady_schedule
from neuro_divergent.diagnostics.rules.curve import Curve

VALIDATIONS = 8
"""Validations in the last two thirds of training below which swings are not told from a trend."""

SWING = 0.15
"""Mean change between two validations, as a share of the loss. Validation has always the same windows, so this is not
sampling noise: the weights move that much."""

OF_FALL = 0.15
"""The same as a share of all the loss fell from its first training value, for losses that pass zero."""

TURNS = 0.4
"""Share of validations at which the loss turns round; a curve on its way down has hardly any."""


@register("oscillation")
class Oscillation(Rule):
    """Finds a validation loss that goes up and down without settling."""

    title = "The validation loss oscillates"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        """Look at the changes from one validation to the next, once the first third is over."""
        whole = Curve.of(evidence, "validation_loss", least=VALIDATIONS)
        later = whole.between(1 / 3, 1)
        if len(later) < VALIDATIONS:
            later = Curve(whole.steps[-VALIDATIONS:], whole.values[-VALIDATIONS:])
        changes = np.diff(later.values)
        swing = float(np.abs(changes).mean())
        turns = float((changes[1:] * changes[:-1] < 0).mean())
        level = abs(float(np.median(later.values)))
        start = Curve.of(evidence, "train_loss").first
        fall = max(start, whole.first) - float(whole.values.min())
        if turns < TURNS or swing < SWING * level or swing < OF_FALL * fall:
            return None
        text = (
            f"From one validation to the next the loss changes by {format_number(swing)} on average, "
            f"{format_number(100 * swing / level)} % of {format_number(level)}, and turns round "
            f"{format_number(100 * turns)} % of the time."
        )
        advice = change_rate(evidence, 0.3, "Smaller steps settle.")
        advice += steady_schedule(evidence)
        if evidence.setting("training.average") is None:
            advice.append(Change("training.average", "ema", "An average of the weights does not swing."))
        return self.finding("warning", text, {"swing": swing, "level": level, "turns": turns}, advice)
