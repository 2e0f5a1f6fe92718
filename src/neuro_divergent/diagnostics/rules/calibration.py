"""Rule: the coverage of intervals differs from their level.

The check uses the backtest of a run; ``evaluation.calibration`` computes coverage and PIT histogram of a forecaster.
"""

from __future__ import annotations

import math

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule
from neuro_divergent.diagnostics.rules.errors import Errors
from neuro_divergent.evaluation.pointwise import is_covered

CLEAR, SLIGHT = 0.1, 0.05  # difference between coverage and level, as fractions, for a warning and for a hint
# Least difference in standard errors. Widths are estimated on a part as small as the one they are checked on, so that
# the standard error is that of a difference.
DISTANCE = 4.0

_OWN_INTERVALS = ("quantile", "implicit_quantile", "expectile", "cross_entropy")


@register("calibration")
class Calibration(Rule):
    """Finds intervals whose coverage differs from their level, on values that did not determine their width."""

    title = "Intervals are miscalibrated"
    needs = ("backtest", "scores")

    def check(self, evidence: Evidence) -> Finding | None:
        assert evidence.scores is not None
        note = evidence.scores.get("note")
        if "right by construction" in (note if isinstance(note, str) else ""):
            raise NotEnoughError("the widths were estimated on the same values; hold out a test part (--test 0.1)")
        errors = Errors.of(evidence)
        errors.require_groups()
        levels = _levels(errors)
        if not levels:
            raise NotEnoughError("there are no intervals")
        found = []
        for level in sorted(levels):
            inside, wanted = _inside(errors, level), level / 100
            estimate = errors.mean(inside - wanted)
            # Of few values all may be inside, with no variance: the error is at least the binomial one.
            spread = max(estimate.error, math.sqrt(wanted * (1 - wanted) / len(inside)))
            if abs(estimate.mean) >= max(SLIGHT, DISTANCE * math.sqrt(2) * spread):
                found.append((level, estimate.mean, spread))
        if not found:
            return None
        level, off, spread = max(found, key=lambda item: abs(item[1]))
        text = (
            f"The {level:g} % interval holds {format_number(level + 100 * off)} ± {format_number(100 * spread)} % of "
            f"{len(errors):,} held-out values: it is too {'wide' if off > 0 else 'narrow'}."
        )
        numbers = {"level": level, "coverage": level + 100 * off, "standard_error": 100 * spread}
        return self.finding("warning" if abs(off) >= CLEAR else "hint", text, numbers, _changes(evidence))


def _levels(errors: Errors) -> list[float]:
    """Return the levels that have both bounds."""
    found = []
    for name in errors.frame.columns:
        text = name.removeprefix("lo-")
        if name.startswith("lo-") and f"hi-{text}" in errors.frame.columns:
            try:
                level = float(text)
            except ValueError:
                continue
            if 0 < level < 100:
                found.append(level)
    return found


def _inside(errors: Errors, level: float) -> Floats:
    names = ("actual", f"lo-{level:g}", f"hi-{level:g}")
    return is_covered(*(errors.frame[name].to_numpy().astype(np.float64) for name in names))


def _changes(evidence: Evidence) -> list[Change]:
    if evidence.component("task.loss") in _OWN_INTERVALS:
        why = "Widths are then estimated on the validation part instead of learned."
        return [Change("task.loss", "mae", why)]
    held_out = evidence.number("task.validation")
    changes = []
    if held_out is not None and 0 < held_out < 0.3:
        changes.append(Change("task.validation", 0.3, "More values to estimate the widths of intervals on."))
    levels = [0.025, 0.1, 0.5, 0.9, 0.975]
    changes.append(Change("task.loss", {"name": "quantile", "quantiles": levels}, "Learns the width of intervals."))
    return changes
