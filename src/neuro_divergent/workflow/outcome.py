"""All that came out of a training run."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import polars as pl

from neuro_divergent.core.errors import ForecastWarning, InputError
from neuro_divergent.data.io.source import read_table
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.evaluate import Evaluation, evaluate
from neuro_divergent.evaluation.levels import supported_levels
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.prediction_parts import forecast_parts
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.forecasting.uncertainty.requested import interval_quantiles
from neuro_divergent.reporting.advice import Advice, advise
from neuro_divergent.workflow.preparation import describe_preparation

USUAL_LEVELS = (80.0, 95.0)
_MOST_ROWS = 2**22  # of forecasts that are in memory
_SHOWN = 1_000  # series whose forecasts are in memory where there are more


@dataclass(frozen=True, eq=False)
class Outcome:
    """A trained forecaster with its scores and forecasts.

    Attributes:
        config: The run, with every setting written out.
        panel: The data of training.
        forecaster: The trained forecaster.
        evaluation: Scores on what was held out, or ``None`` when nothing was.
        forecasts: What comes after the end of each series, or ``None`` when that needs covariates not yet given. With
            more than 4 million rows in all it holds a thousand series, evenly spread.
        forecast_parts: Makes the forecasts of all series, as tables that follow each other; ``None`` where
            ``forecasts`` holds all.
        facts: How the history was chosen, and what the model was trained on, in sentences.
        notes: What the reader should know about what is missing, and why.
        advice: How it loses against a baseline on what was held out, and what to try; ``None`` if it does not.
        seconds: Time of training.
        files: What was written, by what it holds; empty before.
    """

    config: RunConfig
    panel: Panel
    forecaster: Forecaster
    evaluation: Evaluation | None
    forecasts: pl.DataFrame | None
    facts: list[str]
    notes: list[str]
    seconds: float
    advice: Advice | None = None
    files: dict[str, str] = field(default_factory=dict)
    forecast_parts: Callable[[], Iterator[pl.DataFrame]] | None = None


def conclude(config: RunConfig, forecaster: Forecaster, *, levels: Sequence[float], seconds: float) -> Outcome:
    """Score what was held out and forecast what comes next, with a forecaster that has its data and their split.

    Intervals of the levels, in percent, that cannot be given are left out with a note.
    """
    asked, config = config.task, config.replace(task=forecaster.fitted.task)
    assert forecaster.panel is not None
    assert forecaster.split is not None
    given, reasons = supported_levels(forecaster, forecaster.split.train, levels)
    notes = []
    for reason in dict.fromkeys(reasons.values()):
        refused = " or ".join(f"{level:g} %" for level, why in reasons.items() if why == reason)
        notes.append(f"No {refused} interval: {reason}")
    evaluation = advice = None
    if len(forecaster.split.test) or len(forecaster.split.validation):
        evaluation = evaluate(forecaster, levels=given)
        advice = advise(evaluation, forecaster.architecture, forecaster.fitted.task)
        if advice is not None and advice.is_warning:
            warnings.warn(advice.text, ForecastWarning, stacklevel=4)
    else:
        notes.append("Nothing was held out, so there are no scores: train with a validation or a test part.")
    forecasts = parts = None
    try:
        forecasts, parts = _forecast(forecaster, given)
    except InputError as error:
        if not forecaster.panel.schema.future:
            raise
        notes.append(f"No forecast yet: {error}")
    facts = describe_preparation(asked, forecaster)
    if parts is not None:
        notes.append(
            f"The forecasts of all {forecaster.panel.num_series:,} series are in forecasts.parquet; there are too many "
            "for a CSV file."
        )
    outcome = Outcome(config, forecaster.panel, forecaster, evaluation, forecasts, facts, notes, seconds, advice)
    return dataclasses.replace(outcome, forecast_parts=parts)


def _forecast(
    forecaster: Forecaster, levels: Sequence[float]
) -> tuple[pl.DataFrame, Callable[[], Iterator[pl.DataFrame]] | None]:
    """Return the forecasts and, where they are too many for memory, those of some series and what makes all."""
    fitted, quantiles = forecaster.fitted, _other_quantiles(forecaster, levels)
    count = fitted.context.num_series
    if count * fitted.task.horizon <= _MOST_ROWS or fitted.task.joint:
        # A forecaster that was trained on a pandas or Arrow table gives such a table back.
        return read_table(forecaster.predict(levels=levels, quantiles=quantiles)).frame, None
    shown = np.unique(np.linspace(0, count - 1, _SHOWN).astype(np.int64))
    some = fitted.with_context(fitted.context.take(shown))
    return pl.concat(forecast_parts(some, levels, quantiles)), partial(forecast_parts, fitted, levels, quantiles)


def _other_quantiles(forecaster: Forecaster, levels: Sequence[float]) -> list[float]:
    """Return the quantiles that were trained for and are neither the median nor an end of an interval."""
    shown = [0.5, *(quantile for level in levels for quantile in interval_quantiles(level))]
    trained = forecaster.fitted.task.loss.quantile_levels
    return [quantile for quantile in trained if not any(abs(quantile - other) < 1e-9 for other in shown)]
