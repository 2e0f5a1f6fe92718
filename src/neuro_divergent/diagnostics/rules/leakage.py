"""Rule: covariates leak the target."""

from __future__ import annotations

from typing import Any

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_count, format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule

SAME = 0.9  # fraction of rows in which a covariate equals the target, for a finding
# Correlation, of values and of their differences, from which a covariate is the target in other units. Even a strong
# legitimate covariate leaves more than a thousandth of the differences unexplained.
ALIKE = 0.999
TOO_GOOD = 0.05  # MASE that no forecast of a noisy series reaches; checked only if there are covariates


@register("leakage")
class Leakage(Rule):
    """Finds covariates that reproduce the target at times when it is not yet known."""

    title = "A covariate seems to know the target"
    needs = ("data",)

    def check(self, evidence: Evidence) -> Finding | None:
        moving = [row for row in covariates(evidence) if row["role"] in ("past", "future") and row["kind"] == "number"]
        for row in moving:
            if (found := self._judge(evidence, row)) is not None:
                return found
        mase = next((row.get("mase") for row in evidence.rows("scores", "scores")), None)
        if moving and isinstance(mase, (int, float)) and mase < TOO_GOOD:
            names = ", ".join(repr(row["name"]) for row in moving[:5])
            text = (
                f"MASE is {format_number(mase)}: the error is {format_number(100 * mase)} % of that of a seasonal "
                "naive forecast, which "
                f"is too good to be true. Make sure that {names} would be known when forecasts are made."
            )
            return self.finding("warning", text, {"mase": mase}, title="The score is too good to be true")
        return None

    def _judge(self, evidence: Evidence, row: dict[str, Any]) -> Finding | None:
        name, role = row["name"], row["role"]
        same, same_lead = _number(row.get("equal_share")), int(_number(row.get("equal_lead")))
        changes_alike = abs(_number(row.get("difference_correlation")))
        alike, lead = abs(_number(row.get("lead_correlation"))), int(_number(row.get("lead")))
        if changes_alike >= ALIKE:  # as alike at the same row as anywhere: that is the row to tell about
            alike, lead = changes_alike, 0
        if lead == 0 and abs(_number(row.get("correlation"))) < ALIKE:
            alike = 0.0
        # A column known ahead must not show the target of a row that is forecast together with it; one known only in
        # the past must not show a later one.
        first_forbidden = 1 - evidence.horizon if role == "future" else 1
        if same >= SAME and same_lead >= first_forbidden:
            text = f"{name!r} is the target itself, {_where(same_lead)}, in {format_number(100 * same)} % of the rows"
        elif alike >= ALIKE and lead >= first_forbidden:
            text = f"{name!r} moves with the target, {_where(lead)}, with a correlation of {alike:.5f}"
        else:
            return None
        known = "before it is known" if role == "future" else "though it is said to be known only in the past"
        numbers = {"equal_share": same, "correlation": alike, "lead": float(lead)}
        why = "Training must not use what is unknown when a forecast is made."
        return self.finding("problem", f"{text}, {known}.", numbers, without(evidence, role, [name], why))


def covariates(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the description of each covariate; malformed rows are left out."""
    keys = ("name", "role", "kind")
    return [row for row in evidence.rows("data", "covariates") if all(isinstance(row.get(key), str) for key in keys)]


def without(evidence: Evidence, role: str, names: list[str], why: str) -> list[Change]:
    """Return the change that removes covariates of a role; none for calendar features and unlisted ones."""
    if role not in ("past", "future", "static"):
        return []
    listed = evidence.setting(f"data.{role}")
    if not isinstance(listed, (list, tuple)) or not set(names) & set(listed):
        return []
    return [Change(f"data.{role}", [name for name in listed if name not in names], why)]


def _where(lead: int) -> str:
    return f"{format_count(abs(lead), 'row')} {'ahead' if lead > 0 else 'late'}" if lead else "at the same time"


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
