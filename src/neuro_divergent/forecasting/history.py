"""The choice of how many rows of history a forecast is made from, and of the season."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.forecasting.task import Task

_HORIZONS = 3
_DAYS = (24, 48)  # rows in a day, where those of a week are not too many
_WINDOWS = 4
_ROWS = 1_000_000  # that are enough to compare seasons


class HistoryChoice(NamedTuple):
    """A length of history and why it was chosen.

    Attributes:
        input_size: Rows of history.
        reason: In words, for people.
    """

    input_size: int
    reason: str


def choose_history(task: Task, panel: Panel) -> HistoryChoice:
    """Return the length of history for a panel, by the horizon, the season and the lengths of most series.

    It is three horizons, or the longest season and a horizon where that is more; but no more than the length of the
    median series. No single series decides: what is shorter than a window is padded, left out or refused, as
    ``schema.short`` says. Where nothing is padded, half of the training part of the median series is left to make
    windows from.
    """
    if task.input_size is not None:
        return HistoryChoice(task.input_size, "as given")
    horizon, season = task.horizon, _seasons(task, panel)[-1]
    wanted, reason = _HORIZONS * horizon, f"{_HORIZONS} horizons"
    if season > 1 and season + horizon > wanted:
        wanted, reason = season + horizon, f"a season of {season} rows and a horizon"
    typical = typical_length(panel)
    room = typical if panel.schema.short == "pad" else _unpadded_room(task, typical)
    if room < wanted:
        wanted, reason = max(1, room), f"half of the series have no more than {typical} rows"
    return HistoryChoice(wanted, reason)


def choose_season(task: Task, panel: Panel) -> int:
    """Return the season of a panel: of those it may have, the one after which values differ least."""
    seasons = _seasons(task, panel)
    return seasons[0] if len(seasons) == 1 else min(seasons, key=lambda season: _seasonal_error(panel, season))


def typical_length(panel: Panel) -> int:
    """Return how many rows the median series has from its first observed one on."""
    return int(np.median(panel.offsets[1:] - panel.first_observed))


def _seasons(task: Task, panel: Panel) -> list[int]:
    """Return the seasons that a panel may have, in rows.

    Rows of an hour or half an hour have one of a day and one of a week, if the median series is long enough for four
    windows with that.
    """
    if task.season_length is not None:
        return [task.season_length]
    season = panel.frequency.season_length
    has_weeks = season in _DAYS and typical_length(panel) >= _WINDOWS * (7 * season + 2 * task.horizon)
    return [season, 7 * season] if has_weeks else [season]


def _seasonal_error(panel: Panel, season: int) -> float:
    """Return the mean absolute difference of values one season apart, over the first million rows."""
    values = panel.y[:_ROWS].astype(np.float64)
    if len(values) <= season:
        return np.inf
    series = np.searchsorted(panel.offsets, np.arange(len(values)), side="right")
    usable = series[season:] == series[:-season]
    if panel.mask is not None:
        seen = panel.mask[:_ROWS]
        usable &= seen[season:] & seen[:-season]
    difference = np.abs(values[season:] - values[:-season])[usable]
    return float(difference.mean()) if len(difference) else np.inf


def _unpadded_room(task: Task, length: int) -> int:
    """Return how long a history can be if half of what a series has before its held-out part is left for windows."""
    parts = (task.validation, task.test)
    held_out = sum(max(int(part * length), task.horizon) if 0 < part < 1 else int(part) for part in parts)
    return (length - held_out - task.horizon) // 2
