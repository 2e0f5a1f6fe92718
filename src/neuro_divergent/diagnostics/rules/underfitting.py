"""Rule: the model underfits."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_length, change_model
from neuro_divergent.diagnostics.rules.curve import Curve, require_same_targets
from neuro_divergent.diagnostics.rules.worse_than_naive import compared_errors

# Ratio of the error of the model to that of the best baseline. On a random walk, which cannot be forecast better, a
# trained model is about as good as the best baseline; a clearly worse one underfits.
WORSE = 1.15
GAP = 0.25  # largest relative gap between validation and training loss; a larger one is overfitting
ROWS = 10  # least number of rows of the history


@register("underfitting")
class Underfitting(Rule):
    """Finds a model that is worse than a baseline without a gap between training and validation loss."""

    title = "The model underfits"
    needs = ("history", "scores")
    kind = "symptom"

    def check(self, evidence: Evidence) -> Finding | None:
        require_same_targets(evidence)
        own, name, naive = compared_errors(evidence)
        training = Curve.of(evidence, "train_loss", least=ROWS)
        validation = Curve.of(evidence, "validation_loss", least=1)
        if naive <= 0 or own < WORSE * naive:
            return None
        known, held_out = training.end, float(validation.values[-1])
        if held_out - known > GAP * max(abs(held_out), abs(known)):
            return None
        if evidence.state == "diverged":
            raise NotEnoughError("training ended before it could learn anything")
        text = (
            f"The error is {format_number(own)}, {format_number(own / naive)} times that of {name} "
            f"({format_number(naive)}), and the training loss ({format_number(known)}) is hardly lower than the "
            f"validation loss ({format_number(held_out)}): it has not learnt its training windows either."
        )
        numbers = {"mae": own, "naive_mae": naive, "train_loss": known, "validation_loss": held_out}
        return self.finding("warning", text, numbers, _changes(evidence))


def _changes(evidence: Evidence) -> list[Change]:
    changes = change_length(evidence, 3, "More steps, to get further than this.")
    history, season = evidence.number("task.input_size"), evidence.season_length
    if history is not None and season > 1 and history < 2 * season:
        why = f"A history of two seasons ({season} rows each) shows the season."
        changes.append(Change("task.input_size", 2 * season, why))
    size, dropout = evidence.number("model.hidden_size"), evidence.number("model.dropout")
    if size is not None:
        changes += change_model(evidence, "hidden_size", int(2 * size), "A larger network can learn more.")
    if dropout:
        changes += change_model(evidence, "dropout", 0.0, "Dropout is for networks that learn too much.")
    return changes
