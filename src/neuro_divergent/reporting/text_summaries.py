"""Verdicts on scores and intervals as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from neuro_divergent.core.formatting import format_number, format_percent
from neuro_divergent.evaluation.evaluate import REFERENCE

_TOLERANCE = 5.0  # percentage points between level and coverage that are not worth a warning


class Verdict(NamedTuple):
    """What the scores say: whether the model beats every baseline, and one to three sentences."""

    is_better: bool
    text: str


class Comparison(NamedTuple):
    """The errors that a model is compared with the baselines by.

    Attributes:
        measure: Their name.
        errors: By the name of the model and of each baseline.
        note: What another measure says, where it says the opposite.
    """

    measure: str
    errors: Mapping[str, float]
    note: str = ""


def compare(model: str, rows: Iterable[Mapping[str, Any]]) -> Comparison:
    """Choose what a model and the baselines are compared by, from the ``name``, ``mae`` and ``mase`` of each.

    It is the mean absolute error, unless MASE says the opposite: in MASE all series count the same, while the series
    with the largest values decide the mean absolute error.
    """
    found = [(str(row["name"]), float(row["mae"]), float(row["mase"])) for row in rows]
    plain, scaled = {name: mae for name, mae, _ in found}, {name: mase for name, _, mase in found}
    if not all(map(math.isfinite, scaled.values())) or _is_best(model, plain) == _is_best(model, scaled):
        return Comparison("mean absolute error", plain)
    relation = "lower" if _is_best(model, plain) else "higher"
    note = f" Its mean absolute error, which the series with the largest values decide, is {relation}: "
    others = {name: error for name, error in plain.items() if name != model}
    name = min(others, key=others.__getitem__)
    note += f"{format_number(plain[model])}, that of {name} {format_number(others[name])}."
    return Comparison("MASE", scaled, note)


def judge(model: str, comparison: Comparison) -> Verdict:
    """Say by how much a model is better than the seasonal naive forecast, or which baselines it fails to beat."""
    errors = comparison.errors
    own = errors[model]
    if math.isnan(own):
        return Verdict(False, "No value of this part was observed, so there is nothing to score.")
    score = f"{comparison.measure} {format_number(own)}"
    ahead = sorted((error, name) for name, error in errors.items() if error <= own and name != model)
    if ahead:
        error, name = ahead[0]
        more = f"{100 * (own / error - 1):.0f} % more than" if error > 0 else "more than"
        relation = "as much as" if own == error else more
        text = f"{model} is worse than a forecast that needs no training: {score}, {relation} {name}"
        return Verdict(False, f"{text} ({format_number(error)}). Do not use it as it is.{comparison.note}")
    saved = f"{format_percent(1 - own / errors[REFERENCE])} less than {REFERENCE} ({format_number(errors[REFERENCE])})"
    return Verdict(True, f"{model} beats every baseline: {score}, {saved}.{comparison.note}")


def _is_best(model: str, errors: Mapping[str, float]) -> bool:
    return all(errors[model] < error for name, error in errors.items() if name != model)


def judge_interval(level: float, coverage: float) -> str:
    """Say how many values an interval of a level holds, both in percent, and whether it is too narrow or too wide."""
    start = f"The {level:g} % interval holds {coverage:.1f} % of the values"
    if abs(coverage - level) <= min(_TOLERANCE, (100 - level) / 2 + 1):
        return f"{start}, close to its level."
    return f"{start}: it is too {'narrow' if coverage < level else 'wide'}."
