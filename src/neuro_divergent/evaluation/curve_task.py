"""The trainings of a learning curve: a forecaster on the last rows of a fold, and its errors."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation import metrics
from neuro_divergent.evaluation.baselines import Baselines
from neuro_divergent.evaluation.cross_validation.fold_task import clone, training_part, windows_to_test
from neuro_divergent.evaluation.cross_validation.parallel import panel_pool
from neuro_divergent.evaluation.cross_validation.window_list import WindowList
from neuro_divergent.evaluation.splitters.fold import Fold

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.predictor import WindowForecasts
    from neuro_divergent.forecasting.vectorized_fit import Vectorize

_SMALL_COPIES = 256 * 1024**2  # bytes of the series, in as many copies as there are trainings
_MOST_WINDOWS = 512  # of the training part that are forecast


@dataclass(frozen=True, eq=False)
class CurveTask:
    """One training: on the last rows of a fold's training part.

    Attributes:
        template: The forecaster; a clone of it is trained.
        fold: Fold with all that may be trained on.
        lengths: Rows of each series of the panel to train on.
        repeat: Added to the seed.
        season: Rows in a season.
    """

    template: Forecaster
    fold: Fold
    lengths: Ints
    repeat: int
    season: int

    @property
    def size(self) -> int:
        """Rows to train on, of all series together."""
        return int(self.lengths[self.fold.train_series].sum())


def fit_all(
    tasks: list[CurveTask], panel: Panel, jobs: int, threads: int | None, vectorize: Vectorize
) -> Generator[tuple[CurveTask, dict[str, float]], None, None]:
    """Yield the errors of each task as it ends; those that are trained together end together."""
    if jobs != 1:
        with panel_pool(_fit, panel, jobs=jobs, threads=threads) as pool:
            for result in pool.run(tasks):
                yield result.task, result.get()
        return
    from neuro_divergent.forecasting.vectorized_fit import check_vectorize, fit_vectorized  # loads torch

    check_vectorize(vectorize)
    trained: dict[int, Forecaster] = {}
    if vectorize is True or (vectorize == "auto" and panel.y.nbytes * len(tasks) <= _SMALL_COPIES):
        forecasters = [_clone(task, threads) for task in tasks]
        pairs = list(zip(tasks, forecasters, strict=True))
        left = fit_vectorized(forecasters, [_part(task, own, panel) for task, own in pairs], vectorize=vectorize)
        trained = {id(task): own for task, own in pairs if not any(own is other for other in left)}
    for task in tasks:
        yield task, _errors(task, trained[id(task)], panel) if id(task) in trained else _fit(task, panel, threads)


def _fit(task: CurveTask, panel: Panel, threads: int | None = None) -> dict[str, float]:
    """Train a clone and return its errors."""
    forecaster = _clone(task, threads)
    return _errors(task, forecaster.fit(_part(task, forecaster, panel)), panel)


def _clone(task: CurveTask, threads: int | None) -> Forecaster:
    """Return the forecaster that a task trains."""
    forecaster: Forecaster = clone(task.template, threads)
    forecaster.training = forecaster.training.replace(seed=forecaster.training.seed + task.repeat)
    return forecaster


def _part(task: CurveTask, forecaster: Forecaster, panel: Panel) -> Panel:
    """Return the data that a task trains on."""
    return training_part(forecaster.task, _last_rows(task.fold, task.lengths), panel)


def _errors(task: CurveTask, forecaster: Forecaster, panel: Panel) -> dict[str, float]:
    """Return the errors on the training and validation part, and that of the seasonal naive forecast."""
    result = forecaster.forecast_windows(windows_to_test(forecaster.task, task.fold, panel))
    scale = _scale(panel, task.fold, task.season)
    naive = Baselines(panel, result.series, result.rows, result.point.shape[1], task.season).seasonal_naive()
    return {
        "train": _training_error(forecaster, panel, scale),
        "validation": _error(result, result.point, scale),
        "naive": _error(result, naive, scale),
    }


def _training_error(forecaster: Forecaster, panel: Panel, scale: AnyFloats) -> float:
    """Return the error on windows of the training part."""
    assert forecaster.split is not None
    result = forecaster.forecast_windows(WindowList.sample(forecaster.split.train, _MOST_WINDOWS))
    places = {name: place for place, name in enumerate(panel.ids.to_list())}
    own = [places[name] for name in forecaster.split.train.panel.ids.to_list()]
    return _error(result, result.point, scale[own])


def _error(result: WindowForecasts, forecast: AnyFloats, scale: AnyFloats) -> float:
    return metrics.mase(result.actual, forecast, scale[result.series], result.observed)


def _scale(panel: Panel, fold: Fold, season: int) -> AnyFloats:
    """Return the seasonal error of each series in the complete training part of a fold; 1 if no series has one."""
    ends = panel.offsets[:-1].copy()
    ends[fold.train_series] = fold.train_ends
    scale = metrics.seasonal_error(panel.y, panel.offsets, ends, season, panel.mask)
    return scale if bool((np.isfinite(scale) & (scale > 0)).any()) else np.ones_like(scale)


def _last_rows(fold: Fold, lengths: Ints) -> Fold:
    """Return the fold with the last rows of its training part only."""
    return replace(fold, train_begins=np.maximum(fold.train_begins, fold.train_ends - lengths[fold.train_series]))
