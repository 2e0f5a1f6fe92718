"""Backtesting: forecasts of one trained forecaster at many cut-offs, without refitting."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count
from neuro_divergent.data.io.source import Backend, backend_of
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.arguments import new_panel, require_counts, rows_at_end, windows_from
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.evaluation.cross_validation.cross_validation import METRICS, scores_of
from neuro_divergent.evaluation.cross_validation.forecast_values import (
    FORECAST,
    baselines_for,
    id_column,
    name_rows,
    native,
    values_of,
)
from neuro_divergent.evaluation.display import best_of, frame_html, read_frame

if TYPE_CHECKING:
    from neuro_divergent.forecasting.protocol import ForecastModel
    from neuro_divergent.forecasting.task import Task

_CUTOFFS = 10


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts at many cut-offs and their scores; every table is of the same kind as the input.

    Attributes:
        forecasts: Every forecast value: id, time, ``cutoff`` (time of the last value it could see), ``step``,
            ``actual`` (null where it was not observed), ``forecast``, intervals and quantiles, and the baselines.
        scores: One row for the forecaster, called ``forecast``, and one per baseline.
        per_cutoff: The same for each cut-off.
        note: Whether the forecast values overlap with the data of training, in words.
        windows: Number of forecasts, each of a complete horizon.
        seconds: Time of forecasting.
        season_length: Rows in a season, for the seasonal naive forecast and MASE.
        panel: The data, as they were read.
        backend: Kind of the input table.
    """

    forecasts: Any
    scores: Any
    per_cutoff: Any
    note: str
    windows: int
    seconds: float
    season_length: int
    panel: Panel
    backend: Backend

    def __repr__(self) -> str:
        return f"Backtest({self._summary()})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.note}\n{self.scores}"

    def _repr_html_(self) -> str:
        cutoffs = html.details("scores at each cut-off", frame_html(self.per_cutoff))
        return html.card("Backtest", self._summary(), frame_html(self.scores), html.paragraph(self.note), cutoffs)

    def _summary(self) -> str:
        metric = next(name for name in read_frame(self.scores).columns if name not in ("model", "values"))
        return f"{format_count(self.windows, 'window')}, {best_of(self.scores, metric)}"


def backtest(
    forecaster: ForecastModel,
    data: Any = None,
    *,
    cutoffs: int | None = None,
    step: int | None = None,
    last: int | float | None = None,
    metrics: Sequence[str] = METRICS,
    levels: Sequence[float] = (),
    quantiles: Sequence[float] = (),
    season_length: int | None = None,
    baselines: bool = True,
) -> Backtest:
    """Forecast from many cut-offs in the past of each series, in one pass, and compare with the observed values.

    Cut-offs are counted back from the last one that a complete horizon follows. To refit on the way, use
    ``cross_validate``.

    Args:
        forecaster: A trained forecaster, or any other fitted model, such as a calibrated one.
        data: Series to forecast, with the columns that training had: new ones, or those of training continued; unset,
            the data of training.
        cutoffs: Cut-offs of each series; 10 if neither this nor ``last`` is given. Shorter series have fewer.
        step: Rows between two cut-offs; unset, one horizon, so that each value is forecast once.
        last: Instead of ``cutoffs``: fraction of each series (below 1) or number of rows at its end to forecast.
        metrics: Names of metrics.
        levels: Levels of the intervals to forecast, in percent.
        quantiles: Quantiles to forecast, between 0 and 1.
        season_length: Rows in a season; unset, it follows from the frequency.
        baselines: Whether to include the naive baselines.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=6, test=24, training=nd.TrainingConfig(max_steps=20))
        >>> result = nd.backtest(forecaster.fit(nd.datasets.air_passengers()), cutoffs=4)
        >>> result.windows, result.forecasts["cutoff"].n_unique()
        (4, 4)
        >>> result.note
        'None of these values were used in training.'
        >>> result.scores.columns
        ['model', 'values', 'mae', 'rmse', 'smape', 'mase']
    """
    require_counts(cutoffs=cutoffs, step=step, season_length=season_length)
    panel, backend = _data(forecaster, data)
    windows = _windows(panel, forecaster.task, cutoffs, step, last)
    began = time.perf_counter()
    honest = forecaster if data is not None or _is_test(forecaster, windows) else forecaster.validated
    values = values_of(honest.forecast_windows(windows, levels, quantiles)).sort("series", "row", "step")
    seconds = time.perf_counter() - began
    season = panel.frequency.season_length if season_length is None else season_length
    frame = name_rows(values, panel)
    if baselines:
        frame = frame.hstack(baselines_for(values, panel, season))

    models = [FORECAST, *(NAMES if baselines else ())]
    return Backtest(
        forecasts=native(frame, backend),
        scores=native(scores_of(frame, panel, models, metrics, season, None, values=values), backend),
        per_cutoff=native(scores_of(frame, panel, models, metrics, season, "cutoff", values=values), backend),
        note=_note_on_own(forecaster, values) if data is None else _note_on_other(forecaster, frame, panel),
        windows=values.height // forecaster.task.horizon,
        seconds=seconds,
        season_length=season,
        panel=panel,
        backend=backend,
    )


def _data(forecaster: ForecastModel, data: Any) -> tuple[Panel, Backend]:
    fitted = forecaster.fitted
    if data is None:
        if forecaster.panel is None:
            raise InputError("a loaded forecaster does not hold the data of training: pass data to forecast.")
        return forecaster.panel, fitted.backend
    return new_panel(forecaster, data), "polars" if isinstance(data, Panel) else backend_of(data)


def _windows(panel: Panel, task: Task, cutoffs: int | None, step: int | None, last: int | float | None) -> Windows:
    """Return windows over the end of each series."""
    step = step or task.horizon
    if last is None:
        rows = np.full(panel.num_series, task.horizon + ((cutoffs or _CUTOFFS) - 1) * step)
    elif cutoffs is not None:
        raise InputError("cutoffs and last both say how far back to go; give one of them.")
    else:
        rows = rows_at_end(panel, last, task.horizon)
    windows = windows_from(panel, task, panel.offsets[1:] - rows, step)
    if not len(windows):
        raise InputError(f"there is no window to forecast: one needs {task.history + task.horizon} rows.")
    return windows


def _is_test(forecaster: ForecastModel, windows: Windows) -> bool:
    """Whether windows of the data of training lie in the test part alone."""
    assert forecaster.split is not None
    return bool((windows.begins >= forecaster.split.test.begins).all()) and len(forecaster.split.test) > 0


def _note_on_own(forecaster: ForecastModel, values: pl.DataFrame) -> str:
    """Say how many values lie in the training part of the data of training."""
    split = forecaster.split
    assert split is not None
    rows = values["row"].to_numpy() + values["step"].to_numpy() - 1
    inside = int((rows < split.train.ends[values["series"].to_numpy()]).sum())
    if inside:
        return f"{_values(inside, len(rows))} within the training part: these scores are optimistic."
    checked = int((rows < split.validation.ends[values["series"].to_numpy()]).sum()) if len(split.validation) else 0
    if checked:
        return f"{_values(checked, len(rows))} within the validation part, which early stopping and the intervals used."
    return "None of these values were used in training."


def _note_on_other(forecaster: ForecastModel, frame: pl.DataFrame, panel: Panel) -> str:
    """Say how many values lie at times within the data of training."""
    context, name = forecaster.fitted.context, id_column(panel)
    ends = context.frequency.time_at(context.starts, context.lengths - 1)
    both = frame.join(pl.DataFrame({name: context.ids, "end of training": ends}), on=name, how="left")
    inside = both.filter(pl.col(panel.schema.time) <= pl.col("end of training")).height
    if inside:
        return f"{_values(inside, frame.height)} within the data of training: these scores may be optimistic."
    return "These values come after the data of training, or belong to series that were not in it."


def _values(part: int, total: int) -> str:
    return f"{part:,} of {total:,} values lie"
