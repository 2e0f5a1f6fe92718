"""The choice of weights: how members are combined, by its score at cut-offs that were left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.search.auto.groups import GROUPS, Group
from neuro_divergent.search.auto.metric import Scoring
from neuro_divergent.search.auto.selection import MOST_ROUNDS, equal_weights, greedy_picks, weights_after

_ROUNDS = (5, 8, 13, MOST_ROUNDS)
_FEW = (2, 3, 4, 5, 8)
_SHRUNK_TO = 5  # members with equal weights that greedy ones are mixed with
_SHRINK = 0.5
_SERIES_FOLDS = 4  # parts of the series that are left out in turn, where there is one cut-off only
_FEWEST_SERIES = 8  # with one cut-off, from which series are left out instead of cut-offs
_GROUP_SERIES = 20  # that a group needs for weights of its own
_GROUP_GAIN = 0.01  # by which its left-out error must be lower
_MARGIN = 0.005  # by which a rule must be better than a simpler one


@dataclass(frozen=True)
class Rule:
    """A rule that makes weights from scores.

    Attributes:
        rounds: Picks of greedy selection; 0 for none.
        few: Members with the lowest scores that have equal weights.
        shrink: Fraction of the weights that is equal, the rest greedy.
    """

    rounds: int
    few: int
    shrink: float

    def weights(self, picks: Ints, scores: Floats) -> Floats:
        """Return the weights of all members."""
        equal = equal_weights(scores, self.few)
        if not self.rounds:
            return equal
        greedy = weights_after(picks, self.rounds, len(scores))
        mixed: Floats = (1 - self.shrink) * greedy + self.shrink * equal
        return mixed

    def __str__(self) -> str:
        """What the rule does, in words."""
        few = "the best one alone" if self.few == 1 else f"equal weights of the best {self.few}"
        if not self.rounds:
            return few
        greedy = f"greedy selection of up to {self.rounds}"
        return greedy if not self.shrink else f"half {greedy}, half {few}"


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the members, of all series and of groups that have their own.

    Attributes:
        overall: Weights of the members, adding up to 1.
        by_group: Weights of the groups of series for which others are better.
        rule: The rule that made ``overall``.
        left_out: Score at cut-offs that were left out, of the combination with all weights.
        forecast: Forecasts of the combination, each made with weights from the other cut-offs.
    """

    overall: Floats
    by_group: dict[Group, Floats]
    rule: Rule
    left_out: float
    forecast: Floats

    def of_series(self, groups: Ints) -> Floats:
        """Return the weights of each series, ``(members, series)``, by the place of its group in ``GROUPS``."""
        result = np.repeat(self.overall[:, None], len(groups), axis=1)
        for name, weights in self.by_group.items():
            result[:, groups == GROUPS.index(name)] = weights[:, None]
        return result


def choose_weights(forecasts: Floats, scoring: Scoring, groups: Ints) -> Weights:
    """Choose the weights of members from their out-of-fold forecasts.

    Several rules, from equal weights of two to a mixture with greedy selection of up to 25, make weights from all
    cut-offs but one, and are scored there; the simplest of those that are about the best there makes the weights from
    all cut-offs. A group of series gets weights of its own where those are better on what was left out.

    Args:
        forecasts: ``(members, cut-offs, series, horizon)``, finite.
        scoring: Scores such forecasts.
        groups: Place of the group of each series in ``GROUPS``.
    """
    everything = _Selection.of(forecasts, scoring)
    rule = everything.best_rule
    overall = everything.final(rule)
    forecast = everything.left_out_forecast(rule)
    by_group: dict[Group, Floats] = {}
    for place, name in enumerate(GROUPS):
        members = np.flatnonzero(groups == place)
        if len(members) < _GROUP_SERIES or len(members) == len(groups) or len(scoring.actual) < 2:
            continue
        part = scoring.part(series=members)
        own = _Selection.of(forecasts[:, :, members], part)
        made = own.left_out_forecast(own.best_rule)
        common = forecast[:, members]
        before, after = part.by_cutoff(common), part.by_cutoff(made)
        pays = part.score(made) < (1 - _GROUP_GAIN) * part.score(common)
        if pays and np.count_nonzero(after < before) > len(before) / 2:
            by_group[name] = own.final(own.best_rule)
            forecast[:, members] = made
    return Weights(overall, by_group, rule, scoring.score(forecast), forecast)


@dataclass(frozen=True, eq=False)
class _Selection:
    """Forecasts to make weights from, and the parts of them that are left out in turn."""

    forecasts: Floats
    scoring: Scoring
    folds: tuple[tuple[Ints, Ints], ...]  # (cut-offs, series) of what is left out
    _known: dict[int | None, tuple[Ints, Floats]] = field(default_factory=dict)

    @classmethod
    def of(cls, forecasts: Floats, scoring: Scoring) -> _Selection:
        cutoffs, series = scoring.actual.shape[:2]
        if cutoffs > 1:
            folds = [(np.array([place]), np.arange(series)) for place in range(cutoffs)]
        elif series >= _FEWEST_SERIES:
            parts = np.arange(series) % _SERIES_FOLDS
            folds = [(np.array([0]), np.flatnonzero(parts == place)) for place in range(_SERIES_FOLDS)]
        else:
            folds = []
        kept = [fold for fold in folds if np.isfinite(scoring.part(*fold).score(forecasts[0][np.ix_(*fold)]))]
        return cls(forecasts, scoring, tuple(kept))

    @property
    def best_rule(self) -> Rule:
        """The simplest rule whose left-out score is within a small margin of the best."""
        rules = list(_rules(len(self.forecasts)))
        if len(self.folds) < 2:
            few = min(3, len(self.forecasts))  # nothing tells which is better: equal weights are the safe choice
            return Rule(0, few, 1.0)
        scores = np.array([self.scoring.score(self.left_out_forecast(rule)) for rule in rules])
        scores = np.where(np.isfinite(scores), scores, np.inf)
        good = np.flatnonzero(scores <= scores.min() * (1 + _MARGIN))
        return rules[int(good[0])]

    def final(self, rule: Rule) -> Floats:
        """Return the weights of a rule from everything."""
        return rule.weights(*self._ranked(None))

    def left_out_forecast(self, rule: Rule) -> Floats:
        """Return the combination, each fold with the weights from the others."""
        combined: Floats = np.einsum("m,mcsh->csh", self.final(rule), self.forecasts)
        for number, fold in enumerate(self.folds):
            weights = rule.weights(*self._ranked(number))
            places = np.ix_(*fold)
            combined[places] = np.einsum("m,mcsh->csh", weights, self.forecasts[:, places[0], places[1]])
        return combined

    def _ranked(self, without: int | None) -> tuple[Ints, Floats]:
        """Return greedy picks and scores of the members, on everything but a fold; computed once."""
        if without not in self._known:
            forecasts, scoring = self.forecasts, self.scoring
            if without is not None:
                cutoffs, series = self.folds[without]
                if len(series) == scoring.actual.shape[1]:
                    rest = np.setdiff1d(np.arange(len(scoring.actual)), cutoffs)
                    forecasts, scoring = forecasts[:, rest], scoring.part(rest)
                else:
                    rest = np.setdiff1d(np.arange(scoring.actual.shape[1]), series)
                    forecasts, scoring = forecasts[:, :, rest], scoring.part(series=rest)
            scores = np.array([scoring.score(member) for member in forecasts])
            self._known[without] = greedy_picks(forecasts, scoring), scores
        return self._known[without]


def _rules(members: int) -> Iterator[Rule]:
    """Yield the rules that are compared, the simplest first."""
    for few in dict.fromkeys(min(few, members) for few in _FEW):
        yield Rule(0, few, 1.0)
    yield Rule(0, 1, 1.0)
    for rounds in _ROUNDS:
        yield Rule(rounds, min(_SHRUNK_TO, members), _SHRINK)
