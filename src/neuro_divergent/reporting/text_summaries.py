"""Verdicts on scores and intervals as sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from neuro_divergent.core.formatting import format_number, format_percent
from neuro_divergent.evaluation.evaluate import REFERENCE

_TOLERANCE = 5.0  # percentage points between level and coverage that are not worth a warning


class Verdict(NamedTuple):
    """What the scores say: whether the model beats every baseline, and one or two sentences."""

    is_better: bool
    text: str


def judge(model: str, errors: Mapping[str, float]) -> Verdict:
    """Say by how much a model is better than the seasonal naive forecast, or which baselines it fails to beat.

    The mean absolute errors are those of the model and of the baselines, by name.
    """
    own = errors[model]
    if math.isnan(own):
        return Verdict(False, "No value of this part was observed, so there is nothing to score.")
    score = f"mean absolute error {format_number(own)}"
    ahead = sorted((error, name) for name, error in errors.items() if error <= own and name != model)
    if ahead:
        error, name = ahead[0]
        more = f"{100 * (own / error - 1):.0f} % more than" if error > 0 else "more than"
        relation = "as much as" if own == error else more
        text = f"{model} is worse than a forecast that needs no training: {score}, {relation} {name}"
        return Verdict(False, f"{text} ({format_number(error)}). Do not use it as it is.")
    saved = f"{format_percent(1 - own / errors[REFERENCE])} less than {REFERENCE} ({format_number(errors[REFERENCE])})"
    return Verdict(True, f"{model} beats every baseline: {score}, {saved}.")


def judge_interval(level: float, coverage: float) -> str:
    """Say how many values an interval of a level holds, both in percent, and whether it is too narrow or too wide."""
    start = f"The {level:g} % interval holds {coverage:.1f} % of the values"
    if abs(coverage - level) <= min(_TOLERANCE, (100 - level) / 2 + 1):
        return f"{start}, close to its level."
    return f"{start}: it is too {'narrow' if coverage < level else 'wide'}."
