"""Rule: errors are correlated with errors of the previous forecast."""

from __future__ import annotations

import math

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding, Severity
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, scale_windows
from neuro_divergent.diagnostics.rules.errors import Errors, grouped_mean

PAIRS = 30  # least number of pairs of consecutive forecasts
# Correlation of the first errors of a forecast with the last of the previous one, for a warning and for a hint.
CLEAR, SLIGHT = 0.5, 0.3
DISTANCE = 4.0  # least distance from zero in standard errors

_AVERAGED = 3


@register("residual_autocorrelation")
class ResidualAutocorrelation(Rule):
    """Finds forecasts whose first errors repeat the last errors of the previous forecast, which were known."""

    title = "Errors repeat what was already known"
    needs = ("backtest",)
    kind = "symptom"

    def check(self, evidence: Evidence) -> Finding | None:
        errors = Errors.of(evidence)
        first, last, groups = _neighbours(errors)
        if len(first) < PAIRS:
            raise NotEnoughError(f"{len(first)} forecasts follow right after another, and {PAIRS} are needed")
        size = math.sqrt(float(np.square(first).mean() * np.square(last).mean()))
        if size <= 0:
            return None
        estimate = grouped_mean(first * last / size, groups)
        if abs(estimate.mean) < SLIGHT or abs(estimate.distance) < DISTANCE:
            return None
        text = (
            "The first errors of a forecast go with the last errors of the one before, with a correlation of "
            f"{format_number(estimate.mean)} ± {format_number(estimate.error)} over {len(first):,} pairs: the model "
            "could correct itself and does not."
        )
        severity: Severity = "warning" if abs(estimate.mean) >= CLEAR else "hint"
        numbers = {"correlation": estimate.mean, "standard_error": estimate.error, "pairs": len(first)}
        return self.finding(severity, text, numbers, _changes(evidence))


def _neighbours(errors: Errors) -> tuple[Floats, Floats, Ints]:
    """Return mean first errors, mean last errors of the previous forecast, and the group of each pair."""
    order = np.argsort(errors.place, kind="stable")
    windows = errors.window[order]
    begins = np.flatnonzero(np.diff(windows, prepend=-1))
    ends = np.append(begins[1:], len(windows))
    place, error, step, belongs = (values[order] for values in (errors.place, errors.error, errors.step, errors.groups))
    first, last, groups = [], [], []
    for here, until, before in zip(begins[1:], ends[1:], begins[:-1], strict=True):
        if step[here] != 1 or place[here] != place[here - 1] + 1:
            continue
        first.append(error[here : min(here + _AVERAGED, until)].mean())
        last.append(error[max(here - _AVERAGED, before) : here].mean())
        groups.append(belongs[here])
    return np.array(first), np.array(last), np.array(groups)


def _changes(evidence: Evidence) -> list[Change]:
    changes = scale_windows(evidence, "Takes the level of each window from its own history.")
    history = evidence.number("task.input_size")
    least = 2 * max(evidence.horizon, evidence.season_length)
    if history is not None and history < least:
        changes.append(Change("task.input_size", least, "A longer history shows what the model missed."))
    elif history is not None:
        why = "A shorter history lets recent values count for more; a longer one may show what was missed."
        changes.append(Change("task.input_size", int(2 * history), why))
    return changes
