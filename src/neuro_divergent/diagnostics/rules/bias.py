"""Rule: forecasts are too high, or too low, on average."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule
from neuro_divergent.diagnostics.rules.errors import Errors

SHARE = 0.5  # mean error relative to the mean absolute error. At 1 all errors have the same sign.
DISTANCE = 4.0  # least distance from zero in standard errors, clustered by cutoff

_MEDIANS = ("mae", "quantile", "mase", "smape", "mape", "laplace")


@register("bias")
class Bias(Rule):
    """Finds a mean error that is large relative to the mean absolute error."""

    title = "Forecasts are biased"
    needs = ("backtest",)
    kind = "symptom"

    def check(self, evidence: Evidence) -> Finding | None:
        errors = Errors.of(evidence)
        errors.require_groups()
        size, estimate = errors.mean_absolute, errors.mean(errors.error)
        if size <= 0 or abs(estimate.mean) < SHARE * size or abs(estimate.distance) < DISTANCE:
            return None
        side, away = "high" if estimate.mean > 0 else "low", abs(estimate.mean)
        text = (
            f"Forecasts are {format_number(away)} ± {format_number(estimate.error)} too {side} on average, "
            f"{format_number(100 * away / size)} % of the mean absolute error ({format_number(size)})."
        )
        numbers = {"bias": estimate.mean, "standard_error": estimate.error, "mae": size}
        return self.finding("warning", text, numbers, _changes(evidence))


def _changes(evidence: Evidence) -> list[Change]:
    changes = []
    if evidence.component("task.scaler") in ("identity", "mean_abs"):
        changes.append(Change("task.scaler", "standard", "Lets forecasts follow the level of each window."))
    if evidence.component("task.loss") in _MEDIANS:
        why = "This loss makes forecasts of the median, which differs from the mean where values are skewed."
        changes.append(Change("task.loss", "mse", why))
    history = evidence.number("task.input_size")
    if history is not None and history > 2:
        shorter = max(2, int(history // 2))
        changes.append(Change("task.input_size", shorter, "A shorter history follows changes sooner."))
    return changes
