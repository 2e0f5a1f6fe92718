"""Models of statsforecast, an extra: fitted to one series after another, in one process or several."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Floats
from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.core.parallel import WorkerPool
from neuro_divergent.core.progress import track

if TYPE_CHECKING:
    from neuro_divergent.forecasting.statistical.methods.library import LibraryMethod

_PARTS = 8  # of the work of each process, so that all end at about the same time
_RECENT = 24  # last values that give the spread of a model without intervals


def load_models(name: str) -> Any:
    """Return the models of statsforecast, for a method of ours.

    Functions that statsforecast has compiled with numba are kept on disk, unless the environment says otherwise:
    compiling those of ``auto_ces`` takes 20 seconds.

    Raises:
        MissingDependencyError: If it is not installed; the message names the extra.
    """
    os.environ.setdefault("NIXTLA_NUMBA_CACHE", "1")  # read when statsforecast is imported
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("statsforecast.models")
    except ImportError:
        raise MissingDependencyError(
            f"{name} needs the package statsforecast, which is not installed. "
            'Run: pip install "neuro-divergent[statistical]"'
        ) from None


class SeriesModel(Protocol):
    """A model of statsforecast."""

    def forecast(self, y: Floats, h: int, level: list[float] | None = None) -> dict[str, Floats]:
        """Fit a series and forecast ``h`` steps: ``mean``, and ``lo-80`` and ``hi-80`` for each level."""


@dataclass(frozen=True, eq=False)
class SeriesTask:
    """Histories to forecast from.

    Attributes:
        method: Settings of the model.
        histories: One array for each window.
        season_length: Rows in a season.
        horizon: Steps to forecast.
        quantiles: Quantiles to forecast.
    """

    method: LibraryMethod
    histories: list[AnyFloats]
    season_length: int
    horizon: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SeriesForecasts:
    """Forecasts of histories.

    Attributes:
        point: ``(histories, horizon)``; NaN where there is a reason.
        quantiles: ``(histories, horizon, quantiles)``; NaN where the model has none.
        reasons: Why a history could not be forecast, by its place.
    """

    point: Floats
    quantiles: Floats
    reasons: dict[int, str]


def forecast_histories(task: SeriesTask, jobs: int = 1) -> SeriesForecasts:
    """Forecast every history, in several processes where that was requested."""
    count = len(task.histories)
    if jobs == 1 or count < 2 * jobs:
        return fit_histories(task)
    size = -(-count // (jobs * _PARTS))
    starts = range(0, count, size)
    parts = [
        SeriesTask(task.method, task.histories[at : at + size], task.season_length, task.horizon, task.quantiles)
        for at in starts
    ]
    made: dict[int, SeriesForecasts] = {}
    with (
        WorkerPool[SeriesTask, SeriesForecasts](fit_histories, workers=jobs) as pool,
        track(f"Forecasting with {task.method.name}", count, "series") as shown,
    ):
        for result in pool.run(parts):
            made[result.index] = result.get()
            shown.update(shown.done + len(result.task.histories))
    found = [made[place] for place in range(len(parts))]
    return SeriesForecasts(
        np.concatenate([part.point for part in found]),
        np.concatenate([part.quantiles for part in found]),
        {at + place: why for at, part in zip(starts, found, strict=True) for place, why in part.reasons.items()},
    )


def fit_histories(task: SeriesTask) -> SeriesForecasts:
    """Fit one history after another and forecast it."""
    method, season = task.method, task.season_length
    model = method.build(load_models(method.name), season)
    forecast = _with_intervals if method.has_intervals else _around_recent_values
    count = len(task.histories)
    point = np.full((count, task.horizon), np.nan)
    quantiles = np.full((count, task.horizon, len(task.quantiles)), np.nan)
    reasons: dict[int, str] = {}
    with _undisturbed(), track(f"Forecasting with {method.name}", count, "series") as shown:
        for place, values in enumerate(task.histories):
            shown.update(place)
            history = values.astype(np.float64)
            reason = method.refusal(history, season)
            if reason is None:
                reason = _attempt(forecast, model, history, task.quantiles, point[place], quantiles[place])
            if reason is not None:
                reasons[place] = reason
        shown.update(count)
    return SeriesForecasts(point, quantiles, reasons)


def _attempt(
    forecast: Callable[..., tuple[Floats, Floats]],
    model: SeriesModel,
    history: Floats,
    wanted: tuple[float, ...],
    point: Floats,
    quantiles: Floats,
) -> str | None:
    """Forecast one history into two arrays, or return why that is not possible."""
    try:
        mean, bounds = forecast(model, history, len(point), wanted)
    except Exception as error:  # noqa: BLE001 (optimisers and decompositions fail in their own ways on odd series)
        return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
    if not np.isfinite(mean).all():
        return "the forecast is not finite"
    point[:] = mean
    if np.isfinite(bounds).all():
        quantiles[:] = bounds
    return None


def _with_intervals(
    model: SeriesModel, history: Floats, horizon: int, wanted: Sequence[float]
) -> tuple[Floats, Floats]:
    """Return point and quantiles of a model that has intervals: a quantile is one end of an interval."""
    levels = [round(abs(200 * quantile - 100), 9) for quantile in wanted]
    made = model.forecast(y=history, h=horizon, level=sorted(set(levels)) or None)
    ends = [made[f"{'lo' if q < 0.5 else 'hi'}-{level}"] for q, level in zip(wanted, levels, strict=True)]
    return made["mean"], np.stack(ends, axis=-1) if ends else np.empty((horizon, 0))


def _around_recent_values(
    model: SeriesModel, history: Floats, horizon: int, wanted: Sequence[float]
) -> tuple[Floats, Floats]:
    """Return point and quantiles of a model that forecasts a mean: normal, as wide as the last values lie around it."""
    from scipy.special import ndtri

    mean = model.forecast(y=history, h=horizon)["mean"]
    spread = np.sqrt(np.mean(np.square(history[-_RECENT:] - mean[0])))
    return mean, mean[:, None] + spread * ndtri(list(wanted))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hide warnings of numerical trouble, and restore numpy's random state, which simulated intervals set."""
    state = np.random.get_state()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(state)
