"""Rule: the model overfits."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import Rule, change_length, change_model, rounded
from neuro_divergent.diagnostics.rules.curve import Curve, require_same_targets

VALIDATIONS = 6  # least number of validations
RISE = 0.1  # rise of the validation loss above its best, relative to the larger of the best and its total decrease
LEARNT = 0.1  # decrease of the training loss after that best, likewise; without it the rise has another reason
EARLY = 0.7  # fraction of training by which the best must be reached


BY_HEART = 0.5  # decrease of the training loss that validation did not follow, relative to its total decrease ...
GAP = 0.5  # ... and ratio of the training loss to the best validation loss, for overfitting without a rise.


@register("overfitting")
class Overfitting(Rule):
    """Finds a validation loss that rises, or stops falling, while the training loss falls."""

    title = "The model overfits"
    needs = ("history",)
    kind = "cause"

    def check(self, evidence: Evidence) -> Finding | None:
        require_same_targets(evidence)
        validation = Curve.of(evidence, "validation_loss", least=VALIDATIONS)
        training = Curve.of(evidence, "train_loss", least=VALIDATIONS)
        place = int(np.argmin(validation.values))
        best, step = float(validation.values[place]), float(validation.steps[place])
        rise = validation.end - best
        near = np.abs(training.steps - step).argsort()[:3]
        learnt = float(np.median(training.values[near])) - training.end
        start = max(training.first, validation.first)
        unit = max(abs(best), start - best)
        numbers = {"best": best, "best_step": step, "end": validation.end, "train_end": training.end}
        kept_learning = learnt >= min(LEARNT * max(abs(training.end), start - training.end), rise)
        by_heart = 1 - (start - best) / (start - training.end) if start > training.end else 0.0
        if step <= EARLY * validation.steps[-1] and rise >= RISE * unit and kept_learning:
            text = (
                f"The validation loss was best at step {step:,.0f} ({format_number(best)}) and rose to "
                f"{format_number(validation.end)} by step {validation.steps[-1]:,.0f}, while the training loss fell by "
                f"{format_number(learnt)} to {format_number(training.end)}."
            )
        elif by_heart >= BY_HEART and training.end < GAP * best:
            text = (
                f"The training loss fell from {format_number(start)} to {format_number(training.end)}, and the "
                f"validation loss to {format_number(best)} only: {format_number(100 * by_heart)} % of what was learnt "
                "holds for the training windows alone."
            )
        else:
            return None
        return self.finding("warning", text, numbers, _changes(evidence, step / float(validation.steps[-1])))


def _changes(evidence: Evidence, fraction: float) -> list[Change]:
    changes: list[Change] = []
    dropout, size = evidence.number("model.dropout"), evidence.number("model.hidden_size")
    decay = evidence.number("training.optimizer.weight_decay")
    if dropout is not None and dropout < 0.5:
        value = rounded(min(dropout + 0.2, 0.5))
        changes += change_model(evidence, "dropout", value, "Dropout reduces overfitting.")
    if size is not None and size >= 16:
        changes += change_model(evidence, "hidden_size", int(size // 2), "A smaller network overfits less.")
    if decay is not None:
        why = "Pulls weights towards zero."
        changes.append(Change("training.optimizer.weight_decay", rounded(max(10 * decay, 0.01)), why))
    if fraction < 0.8:
        changes += change_length(evidence, 1.25 * fraction, "Later steps did not improve validation.")
    if evidence.setting("training.early_stopping", {}) is None:
        why = "Stops when validation no longer improves and returns to the best weights."
        changes.append(Change("training.early_stopping", {"patience": 10}, why))
    return changes
