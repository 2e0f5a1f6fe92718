"""How a search came out, as a leaderboard: every candidate with score, weight, cost and significance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.search.auto.combination import Weights
from neuro_divergent.search.auto.cutoffs import Cutoffs
from neuro_divergent.search.auto.leaderboard import (
    COMBINATION,
    REFERENCE,
    Leaderboard,
    Row,
    compare_candidates,
    explain,
    no_better_than_naive,
)
from neuro_divergent.search.auto.metric import Scoring
from neuro_divergent.search.auto.plan import Plan
from neuro_divergent.search.auto.record import FULL, Record
from neuro_divergent.search.auto.search import Search

Tested = Mapping[str, Mapping[str, Any]]


def standings(
    search: Search, plan: Plan, weights: Weights | None, *, notes: Sequence[str], member_notes: Mapping[str, str]
) -> Leaderboard:
    """Return the leaderboard of a search.

    Args:
        search: The search.
        plan: What was fitted in the end.
        weights: The chosen weights; ``None`` where there was no back-test.
        notes: What is to be said about the search as a whole.
        member_notes: What is to be said about members, by name.
    """
    setting = search.setting
    singles = {record.name: record.score for record in search.complete}
    forecasts = {record.name: np.asarray(record.forecasts) for record in search.complete}
    winner = plan.members[0].name
    if weights is not None and len(plan.members) > 1:
        winner = COMBINATION
        forecasts[winner] = weights.forecast
        score = weights.left_out
    else:
        score = singles.get(winner, math.nan)
    table = None
    if search.budget.left > 0:  # in the last moments of a budget, tests are what can be missed
        table = compare_candidates(search.cutoffs, forecasts, metric=setting.metric, season=setting.season)
    tested: Tested = {} if table is None else {row["model"]: row for row in table.table.to_dicts()}
    used = {member.name: member.weight for member in plan.members}
    rows = [_row(record, search, used, tested, member_notes) for record in search.records.values()]
    if winner == COMBINATION:
        rows.append(_combination(search, weights, tested))
    rows.sort(key=lambda row: (row.score is None or row.round != FULL, math.inf if row.score is None else row.score))
    shown = [(member.name, member.weight) for member in plan.members]
    reason = explain(setting.metric, score, shown, singles, tested.get(winner, {}).get("p_value"))
    groups = sorted({group for member in plan.members for group in member.group_weights})
    own = [f"Series of these groups have weights of their own: {', '.join(groups)}."] if groups else []
    findings: tuple[dict[str, Any], ...] = ()
    reference = singles.get(REFERENCE, math.nan)
    if math.isfinite(reference) and not score < reference:
        findings = (no_better_than_naive(setting.metric, score, reference).to_dict(),)
    return Leaderboard(setting.metric, tuple(rows), reason, (*notes, *own), findings, search.budget.spent)


def standings_of_plan(plan: Plan, cutoffs: Cutoffs, made: Mapping[str, Floats], combined: Floats) -> Leaderboard:
    """Return the leaderboard of a plan that was fitted without a search, from back-tests of its members."""
    scoring = Scoring.of(plan.setting.metric, cutoffs, plan.setting.season)
    singles = {name: scoring.score(forecast) for name, forecast in made.items()}
    rows = [
        Row(
            candidate=member.name,
            kind=member.kind,
            score=_plain(singles[member.name]),
            weight=member.weight,
            round=FULL,
            steps=member.steps,
        )
        for member in plan.members
    ]
    score = scoring.score(combined) if len(cutoffs) else math.nan
    shown = [(member.name, member.weight) for member in plan.members]
    return Leaderboard(plan.setting.metric, tuple(rows), explain(plan.setting.metric, score, shown, singles, None))


def _row(record: Record, search: Search, used: Mapping[str, float], tested: Tested, notes: Mapping[str, str]) -> Row:
    cost, found = search.ledger.of(record.name), tested.get(record.name, {})
    said = [record.reason or "", record.stopped or "", notes.get(record.name, "")]
    return Row(
        candidate=record.name,
        kind=record.candidate.kind,
        score=_plain(record.score),
        weight=used.get(record.name, 0.0),
        rank=found.get("rank"),
        p_value=found.get("p_value"),
        seconds=cost.wall,
        processor_seconds=cost.processor,
        round=record.round,
        steps=record.steps,
        note=". ".join(text for text in said if text),
    )


def _combination(search: Search, weights: Weights | None, tested: Tested) -> Row:
    assert weights is not None
    costs, found = [search.ledger.of(name) for name in search.records], tested.get(COMBINATION, {})
    return Row(
        candidate=COMBINATION,
        kind=COMBINATION,
        score=_plain(weights.left_out),
        weight=1.0,
        rank=found.get("rank"),
        p_value=found.get("p_value"),
        seconds=sum(cost.wall for cost in costs),
        processor_seconds=sum(cost.processor for cost in costs),
        round=FULL,
        note=str(weights.rule),
    )


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
