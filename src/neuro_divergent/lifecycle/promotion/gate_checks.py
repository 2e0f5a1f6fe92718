"""The checks of a gate on held-out forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from neuro_divergent.evaluation.comparison.significance import diebold_mariano
from neuro_divergent.lifecycle.promotion.decision import Check
from neuro_divergent.lifecycle.promotion.held_out import CHALLENGER, CHAMPION, NAIVE, HeldOut

_ONE_SIDED = 1.645  # standard errors: beyond them in 5 % of cases by chance
_FEW_ORIGINS = 8


def check_accuracy(held_out: HeldOut, horizon: int, *, rule: str, alpha: float) -> Check:
    """Compare the errors of both, one difference per origin."""
    overlap = held_out.overlap(horizon)
    test = diebold_mariano(held_out.differences(), overlap)
    champion, challenger = held_out.mean_errors(CHAMPION, CHALLENGER)
    values: dict[str, Any] = {
        "champion": champion,
        "challenger": challenger,
        "difference": test.mean,
        "statistic": test.statistic,
        "origins": test.cutoffs,
        "overlap": overlap,
        "alpha": alpha,
        "left_out": held_out.left_out,
    }
    errors = f"Scaled error {_show(challenger)}, champion {_show(champion)}, {test.cutoffs} origins"
    if math.isnan(test.statistic):
        need = max(2, 2 * overlap)
        return Check(
            "accuracy", None, f"{errors}: cannot be judged, {need} origins are needed for this overlap.", values
        )
    one_sided = test.p_value / 2
    better = one_sided if test.statistic < 0 else 1 - one_sided
    values |= {"p_better": better, "p_worse": 1 - better if test.statistic < 0 else one_sided}
    if rule == "better":
        passed, p_value, claim = better < alpha, better, "better"
        word = "significantly better" if passed else "not significantly better"
    else:
        p_value, claim = values["p_worse"], "worse"
        passed = p_value >= alpha
        word = "not significantly worse" if passed else "significantly worse"
    return Check("accuracy", passed, f"{errors}: {word} (p of {claim}: {p_value:.3g}).", values)


def check_groups(held_out: HeldOut, groups: Mapping[Any, str], *, max_loss: float) -> Check:
    """Compare the errors of both in each declared group."""
    series = held_out.errors[held_out.id].unique(maintain_order=True)
    losses: dict[str, float] = {}
    for group in dict.fromkeys(groups.values()):
        members = [name for name in series if groups.get(name) == group]
        champion, challenger = held_out.mean_errors(CHAMPION, CHALLENGER, of=pl.col(held_out.id).is_in(members))
        # Where the champion is perfect, any error is infinitely worse.
        perfect = 0.0 if challenger == 0 else math.inf
        losses[str(group)] = perfect if champion == 0 else challenger / champion - 1
    judged = {group: loss for group, loss in losses.items() if not math.isnan(loss)}
    worse = {group: loss for group, loss in judged.items() if loss > max_loss}
    values = {"losses": losses, "limit": max_loss}
    limit = f"{100 * max_loss:g} %"
    if worse:
        named = ", ".join(f"{group} {100 * loss:+.1f} %" for group, loss in worse.items())
        return Check("groups", False, f"Groups more than {limit} worse than the champion: {named}.", values)
    if len(judged) < len(losses):
        missing = ", ".join(group for group in losses if group not in judged)
        return Check("groups", None, f"Groups that cannot be judged, nothing is held out: {missing}.", values)
    return Check("groups", True, f"No group is more than {limit} worse than the champion.", values)


def check_coverage(
    champion: pl.DataFrame | None,
    challenger: pl.DataFrame,
    *,
    tolerance: float,
    levels: Sequence[float] | None,
) -> list[Check]:
    """Compare how many values lie within each interval with its level.

    A challenger that is off passes all the same where the champion is at least as far off on the same windows.
    """
    had = [] if champion is None else _levels_of(champion)
    checks = []
    for level in levels or _levels_of(challenger) or had:
        check = _coverage_of(challenger, level, tolerance)
        if check.passed is False and champion is not None and level in had and "coverage" in check.values:
            check = _compared(check, _coverage_of(champion, level, tolerance), level)
        checks.append(check)
    return checks


def _compared(challenger: Check, champion: Check, level: float) -> Check:
    """Let a check pass if the coverage of the champion is no closer to the level."""
    if "coverage" not in champion.values:
        return challenger
    ours, theirs = challenger.values["coverage"], champion.values["coverage"]
    if abs(ours - level) > abs(theirs - level):
        return challenger
    sentence = f"{challenger.sentence.removesuffix('.')}, but that of the champion is {theirs:.1f} %."
    return Check("coverage", True, sentence, {**challenger.values, "champion": theirs})


def check_finite(challenger: pl.DataFrame) -> Check:
    """Refuse forecasts that are NaN, infinite or missing: every other check would leave them out."""
    broken = challenger.height - int(challenger["forecast"].cast(pl.Float64).is_finite().sum())
    if broken:
        return Check("finite", False, f"{broken:,} forecasts of the challenger are not finite.", {"broken": broken})
    return Check("finite", True, "All forecasts are finite.", {"broken": 0})


def check_naive(held_out: HeldOut) -> Check:
    """Compare the challenger with the seasonal naive forecast."""
    if NAIVE not in held_out.errors.columns:
        return Check("naive", None, "The seasonal naive forecast is not in the table: cannot be judged.")
    challenger, naive = held_out.mean_errors(CHALLENGER, NAIVE)
    values = {"challenger": challenger, "naive": naive}
    if math.isnan(challenger):
        return Check("naive", None, "No value has both a forecast and a seasonal naive one: cannot be judged.", values)
    passed = challenger < naive
    word = "better" if passed else "not better"
    sentence = f"Scaled error {_show(challenger)}, seasonal naive {_show(naive)}: {word}."
    return Check("naive", passed, sentence, values)


def _levels_of(table: pl.DataFrame) -> list[float]:
    """Return the levels of the intervals of a table."""
    lower = [name.removeprefix("lo-") for name in table.columns if name.startswith("lo-")]
    return sorted(float(level) for level in lower if f"hi-{level}" in table.columns)


def _coverage_of(table: pl.DataFrame, level: float, tolerance: float) -> Check:
    low, high = f"lo-{level:g}", f"hi-{level:g}"
    if low not in table.columns or high not in table.columns:
        return Check("coverage", False, f"The challenger has no {level:g} % interval.", {"level": level})
    seen = table.filter(*(pl.col(name).is_not_null() & pl.col(name).is_not_nan() for name in ("actual", low, high)))
    if not seen.height:
        return Check("coverage", None, f"{level:g} % interval: nothing observed, cannot be judged.", {"level": level})
    inside = pl.col("actual").is_between(pl.col(low), pl.col(high))
    covered = float(seen.select(inside.mean()).item())
    error = _standard_error(
        seen.group_by("cutoff", maintain_order=True).agg(inside.mean().alias("covered"))["covered"], level / 100
    )
    off = abs(covered - level / 100)
    passed = off <= tolerance + _ONE_SIDED * error + 1e-12
    word = f"within {100 * tolerance:g} points" if off <= tolerance else f"more than {100 * tolerance:g} points off"
    word += "" if passed == (off <= tolerance) else ", which may be chance"
    sentence = f"The {level:g} % interval covers {100 * covered:.1f} % of {seen.height:,} values: {word}."
    values = {"level": level, "coverage": 100 * covered, "values": seen.height, "standard_error": 100 * error}
    return Check("coverage", passed, sentence, values)


def _standard_error(coverages: pl.Series, level: float) -> float:
    """Return the standard error of a coverage from those of the origins, whose values depend on each other.

    With few origins it is that of as many independent values.
    """
    count = len(coverages)
    if count < _FEW_ORIGINS:
        return math.sqrt(level * (1 - level) / count)
    return float(coverages.std() or 0.0) / math.sqrt(count)  # type: ignore[arg-type]


def _show(number: float) -> str:
    return f"{number:.4g}"
