"""The Pareto front of a study, and the trial to recommend of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats
from neuro_divergent.search.objective import Objective
from neuro_divergent.search.trial import Trial


def pareto_front(trials: Sequence[Trial], objectives: Sequence[Objective]) -> list[Trial]:
    """Return the trials that no other is better than in one objective and as good in the rest, best first."""
    candidates = [trial for trial in trials if trial.is_candidate]
    if not candidates:
        return []
    kept = is_on_front(_costs(candidates, objectives))
    front = [trial for trial, keep in zip(candidates, kept, strict=True) if keep]
    return sorted(front, key=lambda trial: tuple(goal.sign * trial.values[goal.name] for goal in objectives))


def is_on_front(costs: Floats) -> Bools:
    """Return which rows of ``(points, objectives)`` no other row dominates; of equal rows, all."""
    no_worse = np.all(costs[None, :, :] <= costs[:, None, :], axis=-1)
    better = np.any(costs[None, :, :] < costs[:, None, :], axis=-1)
    return np.asarray(~np.any(no_worse & better, axis=1), np.bool_)


def recommend(front: Sequence[Trial], objectives: Sequence[Objective]) -> Trial | None:
    """Return one trial of a front.

    Objectives are scaled to 0 (best of the front) to 1 (worst). With weights it is the trial with the least weighted
    sum; without, the knee: the one nearest to the point that is best in everything.
    """
    if not front:
        return None
    costs = _costs(front, objectives)
    spread = np.ptp(costs, axis=0)
    scaled = (costs - costs.min(0)) / np.where(spread > 0, spread, 1.0)
    weights = [goal.weight for goal in objectives]
    if any(weight is not None for weight in weights):
        total = scaled @ np.array([0.0 if weight is None else weight for weight in weights])
    else:
        total = np.linalg.norm(scaled, axis=1)
    return front[int(np.argmin(total))]


def _costs(trials: Sequence[Trial], objectives: Sequence[Objective]) -> Floats:
    return np.array([[goal.sign * trial.values[goal.name] for goal in objectives] for trial in trials], np.float64)
