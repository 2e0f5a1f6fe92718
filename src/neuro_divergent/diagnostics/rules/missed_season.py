"""Rule: errors have a seasonal correlation."""

from __future__ import annotations

import math

import numpy as np

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule, change_length, change_model
from neuro_divergent.diagnostics.rules.errors import ENOUGH_GROUPS, Errors, grouped_mean

PAIRS = 50  # least number of pairs of errors one season apart
CORRELATION = 0.3  # correlation of errors a season apart
DISTANCE = 4.0  # least distance from zero in standard errors, clustered by cutoff


@register("missed_season")
class MissedSeason(Rule):
    """Finds errors that are correlated with those one season before, which were known at the cutoff."""

    title = "A season is left in the errors"
    needs = ("backtest",)
    kind = "symptom"

    def check(self, evidence: Evidence) -> Finding | None:
        season = evidence.season_length
        if season < 2:
            raise NotEnoughError("the frequency of the data has no usual season")
        errors = Errors.of(evidence)
        means = np.bincount(errors.series, errors.error) / np.maximum(np.bincount(errors.series), 1)
        away = errors.error - means[errors.series]
        earlier, later = errors.pairs(season)
        count = len(np.unique(errors.window[later]))
        if len(later) < PAIRS or count < ENOUGH_GROUPS:
            raise NotEnoughError(
                f"{len(later)} held-out values of {count} forecasts have another a season before, and {PAIRS} of "
                f"{ENOUGH_GROUPS} are needed"
            )
        size = math.sqrt(float(np.square(away[earlier]).mean() * np.square(away[later]).mean()))
        if size <= 0:
            return None
        groups = errors.groups[later]
        if len(np.unique(groups)) < ENOUGH_GROUPS:
            groups = errors.window[later]
        estimate = grouped_mean(away[earlier] * away[later] / size, groups)
        if estimate.mean < CORRELATION or estimate.distance < DISTANCE:
            return None
        text = (
            f"Errors come back after {season} rows with a correlation of {format_number(estimate.mean)} ± "
            f"{format_number(estimate.error)} over {len(later):,} pairs."
        )
        numbers = {
            "season": season,
            "correlation": estimate.mean,
            "standard_error": estimate.error,
            "pairs": len(later),
        }
        return self.finding("warning", text, numbers, _changes(evidence, season))


def _changes(evidence: Evidence, season: int) -> list[Change]:
    history = evidence.number("task.input_size")
    if history is not None and history < 2 * season:
        return [Change("task.input_size", 2 * season, f"A history of two seasons of {season} rows shows the season.")]
    changes = change_length(evidence, 2, "More steps, to learn the season.")
    size = evidence.number("model.hidden_size")
    if size is not None:
        changes += change_model(evidence, "hidden_size", int(2 * size), "A larger network can hold the season.")
    return changes
