"""What a command shows at the end of a run: the forecast, then the verdict, then how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.workflow.outcome import Outcome

_HORIZONS = 4  # of history before the forecast
_HEIGHT = 12
_MOST_WIDTH = 100


def show_outcome(outcome: Outcome, screen: Screen, *, series: Sequence[Any] = ()) -> None:
    """Show forecasts as charts, how they compare with the baselines, and how training went.

    The charts are those of some series by name; without any, of the two in the middle of the ranking by error.
    """
    if screen.is_silent:
        return
    for chart in draw_forecasts(outcome, screen, series):
        screen.say("", chart)
    if outcome.evaluation is not None:
        screen.scores(outcome.evaluation)
    screen.say("", describe_training(outcome))


def draw_forecasts(outcome: Outcome, screen: Screen, series: Sequence[Any] = ()) -> list[Text]:
    """Return a chart of each of some series, with what was held out and what comes next; none without forecasts."""
    from neuro_divergent.reporting.chart import chart_series
    from neuro_divergent.reporting.terminal import character_set_for, draw

    panel = outcome.panel
    backtest = None if outcome.evaluation is None else outcome.evaluation.forecasts
    if outcome.forecasts is None and backtest is None:
        return []
    names = panel.ids.to_list()
    places = [names.index(name) for name in series] or _typical(outcome)
    history = _HORIZONS * outcome.config.task.horizon
    width, characters = min(screen.output.width, _MOST_WIDTH), character_set_for(screen.output.encoding)
    charts = (
        chart_series(panel, place, history=history, forecasts=outcome.forecasts, backtest=backtest) for place in places
    )
    return [draw(chart, width=width, height=_HEIGHT, characters=characters) for chart in charts]


def describe_training(outcome: Outcome) -> str:
    """Say in a sentence how large the model is, how long it was trained, and when its validation loss was lowest."""
    from neuro_divergent.core.formatting import format_count, format_duration, format_number
    from neuro_divergent.reporting.report.facts import best_step

    forecaster, history = outcome.forecaster, outcome.forecaster.history
    text = f"{forecaster.architecture.name} with {format_count(forecaster.num_parameters, 'parameter')}"
    if history.height:
        text += f", trained for {format_count(int(history['step'].max()), 'step')}"  # type: ignore[arg-type]
    text += f" in {format_duration(outcome.seconds)}"
    best = best_step(history) if history.height else None
    return f"{text}." if best is None else f"{text}; lowest {best[0]} {format_number(best[1])} at step {best[2]:,}."


def _typical(outcome: Outcome) -> list[int]:
    """Return the places of the series in the middle of the ranking by error, or of the first."""
    from neuro_divergent.reporting.report.series import TYPICAL, middle_of, series_errors

    panel, evaluation = outcome.panel, outcome.evaluation
    errors = None if evaluation is None else series_errors(evaluation.forecasts, panel.schema.id)
    if errors is None or panel.num_series == 1:
        return list(range(min(TYPICAL, panel.num_series)))
    names = panel.ids.to_list()
    return [names.index(name) for name in middle_of(errors)["name"].to_list()]
