"""Rule: covariates are constant."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule
from neuro_divergent.diagnostics.rules.leakage import covariates, without


@register("constant_covariate")
class ConstantCovariate(Rule):
    """Finds covariates with a single value."""

    title = "A covariate never changes"
    needs = ("data",)

    def check(self, evidence: Evidence) -> Finding | None:
        rows = covariates(evidence)
        found = [row for row in rows if row.get("constant") is True]
        if not found:
            return None
        names = ", ".join(repr(row["name"]) for row in found[:5])
        text = f"{len(found)} of {len(rows)} covariates have one value in the training part: {names}."
        changes: list[Change] = []
        for role in dict.fromkeys(row["role"] for row in found):
            named = [row["name"] for row in found if row["role"] == role]
            changes += without(evidence, role, named, "A constant covariate carries no information.")
        return self.finding("hint", text, {"count": len(found), "of": len(rows)}, changes)
