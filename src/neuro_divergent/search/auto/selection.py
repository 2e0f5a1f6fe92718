"""Greedy selection of an ensemble (Caruana et al., 2004): add, again and again, the member that helps most."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.search.auto.metric import Scoring

MOST_ROUNDS = 25


def greedy_picks(forecasts: Floats, scoring: Scoring, *, rounds: int = MOST_ROUNDS) -> Ints:
    """Return the members that are added one after another, with replacement; the first is the best single one.

    It ends when no addition makes the mean of all picks better, so the mean of all of them is the best of its path.

    Args:
        forecasts: Of each member, ``(members, cut-offs, series, horizon)``.
        scoring: Scores such forecasts.
        rounds: Picks at most.
    """
    picks: list[int] = []
    total = np.zeros(forecasts.shape[1:])
    best = np.inf
    for count in range(1, rounds + 1):
        scores = np.array([scoring.score((total + member) / count) for member in forecasts])
        scores = np.where(np.isfinite(scores), scores, np.inf)
        place = int(scores.argmin())
        if picks and not scores[place] < best:
            break
        best = float(scores[place])
        picks.append(place)
        total = total + forecasts[place]
    return np.array(picks, np.int64)


def weights_after(picks: Ints, rounds: int, members: int) -> Floats:
    """Return the weight of each member after so many picks; they add up to 1."""
    counts = np.bincount(picks[:rounds], minlength=members)
    weights: Floats = counts / counts.sum()
    return weights


def equal_weights(scores: Floats, count: int) -> Floats:
    """Return equal weights of the members with the lowest scores."""
    order = np.argsort(np.where(np.isfinite(scores), scores, np.inf), kind="stable")[:count]
    weights = np.zeros(len(scores))
    weights[order] = 1 / len(order)
    return weights
