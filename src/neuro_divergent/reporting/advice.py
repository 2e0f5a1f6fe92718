"""What to say about a model that is worse than a naive forecast, and what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.report.plain import part, text
from neuro_divergent.runs.values import number

if TYPE_CHECKING:
    from neuro_divergent.evaluation.evaluate import Evaluation
    from neuro_divergent.forecasting.task import Task
    from neuro_divergent.models.base import Architecture

_MOST = 1e6  # ratio of an error to none
_FAR = 2.0  # times the error of the best baseline from which the forecasts are not to be used


class Advice(NamedTuple):
    """A comparison with the baselines that the model loses.

    Attributes:
        ratio: Error of the model divided by that of the best baseline.
        finding: What was found.
        suggestion: What to try.
    """

    ratio: float
    finding: str
    suggestion: str

    @classmethod
    def read(cls, scores: object) -> Advice | None:
        """Return the advice in the content of a ``scores.json``; ``None`` if there is none."""
        found = part(scores, "advice")
        ratio = number(found.get("ratio"))
        return (
            None if ratio is None else cls(ratio, text(found.get("finding"), 2000), text(found.get("suggestion"), 2000))
        )

    @property
    def text(self) -> str:
        """The finding and what to try."""
        return f"{self.finding} {self.suggestion}"

    @property
    def is_warning(self) -> bool:
        """Whether the forecasts are so far off that they should not be used."""
        return self.ratio >= _FAR


def advise(evaluation: Evaluation, architecture: Architecture, task: Task) -> Advice | None:
    """Compare a model with the baselines; ``None`` if it beats them all, or if nothing can be compared."""
    from neuro_divergent.reporting.text_summaries import compare  # which loads polars; reading advice does not need it

    comparison = compare(evaluation.model, evaluation.rows())
    errors = dict(comparison.errors)
    own = errors.pop(evaluation.model)
    naive, name = min((error, name) for name, error in errors.items())
    if not own > naive:  # also where one is NaN
        return None
    ratio = min(own / naive, _MOST) if naive > 0 else _MOST
    found = f"{evaluation.model} is worse than the {name} forecast on the {evaluation.part} part: {comparison.measure} "
    found += f"{format_number(own)}, that of the other {format_number(naive)}."
    use = " Do not use these forecasts." if ratio >= _FAR else ""
    return Advice(ratio, f"{found}{use}", _suggest(architecture, task, evaluation.season_length))


def _suggest(architecture: Architecture, task: Task, season: int) -> str:
    ideas = []
    can_correct = task.loss.traits.point_valued and not architecture.traits.autoregressive
    if task.baseline is None and can_correct:
        ideas.append("train what corrects a seasonal naive forecast (--baseline seasonal_naive)")
    if task.history < 2 * season:
        ideas.append(f"give it two seasons of history (--input-size {2 * season})")
    if architecture.name != "nlinear":
        ideas.append("try a simpler model (--model nlinear)")
    return f"What to try: {'; '.join(ideas)}." if ideas else "More data or other covariates may help."
