"""Rule: the loss, the gradients or the weights became NaN or infinite."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_rate, scale_windows

SKIPPED_SHARE = 0.01  # fraction of skipped steps for a warning; a single skipped batch in a long run is none

_COLUMNS = ("train_loss", "validation_loss", "gradient_norm")


@register("not_finite")
class NotFinite(Rule):
    """Finds training in which a loss, gradient or weight was not finite."""

    title = "Numbers stopped being finite"
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        history = evidence.history if evidence.has("history") else None
        if history is None and evidence.state is None:
            raise NotEnoughError("there is neither a history nor a state of training")
        numbers: dict[str, float] = {}
        if history is not None:
            numbers["step"] = float(history["step"][-1])
            for name in _COLUMNS:
                if name in history.columns:
                    values = history[name].drop_nulls().to_numpy()
                    broken = int((~np.isfinite(values)).sum())
                    if broken:
                        numbers[f"rows_without_{name}"] = broken
        if evidence.state == "diverged":
            where = f" after step {numbers['step']:,.0f}" if "step" in numbers else ""
            text = f"Training ended{where}: {evidence.message or 'a number was not finite'}"
            return self.finding("problem", text, {"rollbacks": evidence.rollbacks, **numbers}, self._changes(evidence))
        broken_rows = sum(value for name, value in numbers.items() if name.startswith("rows_without"))
        if broken_rows:
            text = f"{broken_rows:,.0f} values in the history of losses and gradients are not finite."
            return self.finding("problem", text, numbers, self._changes(evidence))
        return self._recovered(evidence, numbers)

    def _recovered(self, evidence: Evidence, numbers: dict[str, float]) -> Finding | None:
        """Check a training that continued after the loss or the gradients became NaN or infinite."""
        history = evidence.history
        skipped = 0.0
        is_usual = evidence.setting("training.precision") == "fp16"  # its factor on the loss overflows now and then
        if history is not None and "skipped_steps" in history.columns and not is_usual:
            skipped = float(history["skipped_steps"].drop_nulls().max() or 0)  # type: ignore[arg-type]
        fraction = skipped / max(numbers.get("step", 1.0), 1.0)
        if not evidence.rollbacks and fraction <= SKIPPED_SHARE:
            return None
        text = (
            f"Training went on after numbers that were not finite: it went back {evidence.rollbacks} times and left "
            f"{skipped:,.0f} steps out ({format_number(100 * fraction)} %)."
        )
        found = {**numbers, "rollbacks": evidence.rollbacks, "skipped_share": fraction}
        return self.finding("warning", text, found, self._changes(evidence))

    def _changes(self, evidence: Evidence) -> list[Change]:
        changes = change_rate(evidence, 0.1, "Smaller steps do not overshoot.")
        if evidence.setting("training.clip") is None:
            changes.append(Change("training.clip", "norm", "Bounds the gradients of unusual batches."))
        changes += scale_windows(evidence, "Scaled values keep gradients in range.")
        if evidence.setting("training.divergence.policy") == "stop":
            why = "Rolls back and continues with a lower rate."
            changes.append(Change("training.divergence.policy", "rollback", why))
        return changes
