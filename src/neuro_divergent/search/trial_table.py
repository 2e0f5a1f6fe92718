"""Trials as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from neuro_divergent.search.trial import Trial


def trial_table(trials: Sequence[Trial]) -> pl.DataFrame:
    """Return a row for each trial: number, state, values, settings (text where they are no numbers) and the reason."""
    values = list(dict.fromkeys(name for trial in trials for name in trial.values))
    settings = list(dict.fromkeys(name for trial in trials for name in trial.settings))
    columns: dict[str, Any] = {
        "trial": [trial.number for trial in trials],
        "state": [trial.state for trial in trials],
        **{name: [trial.values.get(name) for trial in trials] for name in values},
        **{name: _column([trial.settings.get(name) for trial in trials]) for name in settings},
        "feasible": [trial.is_feasible for trial in trials],
        "wall_seconds": [trial.seconds for trial in trials],
        "attempts": [trial.attempts for trial in trials],
        "reason": [trial.reason for trial in trials],
    }
    return pl.DataFrame(columns, strict=False)


def _column(values: list[Any]) -> list[Any]:
    """Return numbers as they are, and everything else as text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return values
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
