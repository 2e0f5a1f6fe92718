"""Verdicts on scores and intervals as sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuro_divergent.core.formatting import format_number, format_percent
from neuro_divergent.evaluation.evaluate import REFERENCE, Evaluation

_TOLERANCE = 5.0  # percentage points between level and coverage that are not worth a warning


@dataclass(frozen=True)
class Verdict:
    """What the scores say.

    Attributes:
        is_better: Whether the model beats every baseline.
        text: One or two sentences.
    """

    is_better: bool
    text: str


def judge(evaluation: Evaluation) -> Verdict:
    """Say by how much the model is better than the seasonal naive forecast, or which baselines it fails to beat."""
    errors = dict(zip(evaluation.table["name"], evaluation.table["mae"], strict=True))
    own = errors.pop(evaluation.model)
    if math.isnan(own):
        return Verdict(False, "No value of this part was observed, so there is nothing to score.")
    score = f"mean absolute error {format_number(own)}"
    ahead = sorted((error, name) for name, error in errors.items() if error <= own)
    if ahead:
        error, name = ahead[0]
        more = f"{100 * (own / error - 1):.0f} % more than" if error > 0 else "more than"
        relation = "as much as" if own == error else more
        return Verdict(
            False,
            f"{evaluation.model} is worse than a forecast that needs no training: {score}, {relation} {name} "
            f"({format_number(error)}). Do not use it as it is.",
        )
    saved = format_percent(1 - own / errors[REFERENCE])
    return Verdict(
        True,
        f"{evaluation.model} beats every baseline: {score}, {saved} less than {REFERENCE} "
        f"({format_number(errors[REFERENCE])}).",
    )


def judge_interval(level: float, coverage: float) -> str:
    """Say how many values an interval holds, and whether it is too narrow or too wide.

    Args:
        level: Nominal level in percent.
        coverage: Percentage of the observed values inside it.
    """
    start = f"The {level:g} % interval holds {coverage:.1f} % of the values"
    if abs(coverage - level) <= min(_TOLERANCE, (100 - level) / 2 + 1):
        return f"{start}, close to its level."
    return f"{start}: it is too {'narrow' if coverage < level else 'wide'}."
