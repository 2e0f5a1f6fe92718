"""Rule: the model is worse than a naive baseline."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding, Severity
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_length, scale_windows
from neuro_divergent.diagnostics.rules.errors import Errors, Estimate

DISTANCE = 2.5  # difference of the errors, in standard errors clustered by cutoff, that counts as significant
# Ratio to the error of the baseline for a problem, if significant and otherwise. On a random walk, for which the last
# value is the best forecast, good models are worse by a few percent.
CLEAR, FAR = 1.1, 1.2


@register("worse_than_naive")
class WorseThanNaive(Rule):
    """Finds a model that is worse than a baseline on the same values."""

    title = "The model is worse than a naive forecast"
    needs = ("scores",)
    kind = "symptom"

    def check(self, evidence: Evidence) -> Finding | None:
        own, name, naive = compared_errors(evidence)
        if own <= naive or _is_better_by_mase(evidence):
            return None
        difference = _difference(evidence, name)
        ratio = own / naive if naive > 0 else float("inf")
        is_sure = difference is not None and difference.distance >= DISTANCE
        severity: Severity = "problem" if ratio >= (CLEAR if is_sure else FAR) else "warning" if is_sure else "hint"
        title = "The model is no better than a naive forecast" if severity == "hint" else self.title
        spread = "" if difference is None else f" ± {format_number(difference.error)}"
        text = (
            f"The mean absolute error is {format_number(own)}, that of {name} {format_number(naive)}: "
            f"{format_number(own - naive)}{spread} more. "
            + ("That may be chance." if severity == "hint" else "Do not use it as it is.")
        )
        return self.finding(severity, text, {"mae": own, "naive_mae": naive}, _changes(evidence), title=title)


def compared_errors(evidence: Evidence) -> tuple[float, str, float]:
    """Return the mean absolute error of the model, and the name and error of the best baseline."""
    model = (evidence.scores or {}).get("model")
    rows = [row for row in evidence.rows("scores", "scores") if isinstance(row.get("mae"), (int, float))]
    own = [float(row["mae"]) for row in rows if str(row.get("name")) == model]
    others = [(float(row["mae"]), str(row.get("name"))) for row in rows if str(row.get("name")) != model]
    if not own:
        raise NotEnoughError("the scores have no mean absolute error of the model")
    if not others:
        raise NotEnoughError("the scores have no baseline")
    naive, name = min(others)
    return own[0], name, naive


def _is_better_by_mase(evidence: Evidence) -> bool:
    """Whether all baselines have a larger MASE: then a few series with large values decide the mean absolute error."""
    model = (evidence.scores or {}).get("model")
    found = {str(row.get("name")): row.get("mase") for row in evidence.rows("scores", "scores")}
    known = {name: float(mase) for name, mase in found.items() if isinstance(mase, (int, float))}
    return model in known and len(known) == len(found) > 1 and min(known, key=known.__getitem__) == model


def _difference(evidence: Evidence, baseline: str) -> Estimate | None:
    """Return the difference to the error of a baseline on the same values, with its standard error."""
    if evidence.backtest is None or baseline not in evidence.backtest.columns:
        return None
    try:
        errors = Errors.of(evidence)
        errors.require_groups()
    except NotEnoughError:
        return None
    other = errors.frame[baseline].to_numpy().astype(np.float64) - errors.frame["actual"].to_numpy()
    more = np.abs(errors.error) - np.abs(other)
    return errors.mean(np.where(np.isfinite(more), more, 0.0))


def _changes(evidence: Evidence) -> list[Change]:
    changes = scale_windows(evidence, "Lets forecasts follow the level of each window.")
    season, history = evidence.season_length, evidence.number("task.input_size")
    if history is not None and history < 2 * season:
        changes.append(Change("task.input_size", 2 * season, f"A history of two seasons of {season} rows."))
    changes += change_length(evidence, 2, "More steps.")
    if evidence.component("model") not in (None, "nlinear"):
        changes.append(Change("model", "nlinear", "A small model that is hard to beat on few data."))
    return changes
