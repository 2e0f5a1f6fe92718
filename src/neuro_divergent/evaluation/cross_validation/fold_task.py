"""Training and forecasting for one fold, or for several that share a training."""

from __future__ import annotations

import copy
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.cross_validation.forecast_values import values_of
from neuro_divergent.evaluation.cross_validation.window_list import WindowList
from neuro_divergent.evaluation.splitters.fold import Fold


@dataclass(frozen=True, eq=False)
class FoldTask:
    """Folds that share one training: on the training part of the first, to forecast the test part of each.

    ``model`` is the name of the forecaster ``template``, of which a clone is trained.
    """

    model: str
    template: Any
    folds: tuple[Fold, ...]
    levels: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class FoldResult:
    """Forecasts of the test part of a fold.

    Attributes:
        values: What ``forecast_values.values_of`` returns.
        seconds: Time of training and forecasting; 0 for a fold that shares the training of an earlier one.
    """

    fold: int
    values: pl.DataFrame
    seconds: float


def fit_fold(task: FoldTask, panel: Panel, threads: int | None = None) -> list[FoldResult]:
    """Train a clone of the forecaster once and forecast every fold of the task in one pass.

    Training uses at most ``threads`` threads; unset, as many as its settings say.
    """
    began = time.perf_counter()
    with nullcontext() if threads is None else using_threads(threads):
        forecaster = clone(task.template, threads)
        forecaster.fit(training_part(forecaster.task, task.folds[0], panel))
        if forecaster.task.joint:
            _require_all_series(task.folds[0], panel)
        parts = [windows_to_test(forecaster.task, fold, panel) for fold in task.folds]
        result = forecaster.forecast_windows(WindowList.of(parts), task.levels, task.quantiles)
    # A window that spans all series gives a forecast for each.
    rows = np.cumsum([0, *(len(part) for part in parts)]) * (result.point.size // sum(len(part) for part in parts))
    values = values_of(result)
    seconds = time.perf_counter() - began
    return [
        FoldResult(fold.number, values[int(rows[place]) : int(rows[place + 1])], 0.0 if place else seconds)
        for place, fold in enumerate(task.folds)
    ]


def clone(template: Any, threads: int | None = None) -> Any:
    """Return an unfitted model with the settings of another, and no more threads than there are to use.

    One that cannot be cloned is copied as a whole.
    """
    if not hasattr(template, "clone"):
        return copy.deepcopy(template)
    own = template.training.threads  # "auto" is bounded by those that torch may use
    if threads is None or own == "auto" or own <= threads:
        return template.clone()
    return template.with_settings({"training.threads": threads})


def training_part(task: Any, fold: Fold, panel: Panel) -> Panel:
    """Return the rows to train on, without segments that are too short for one window.

    The length of a segment before or after a test part depends on the splitter and is no fault of the data. With
    ``short="pad"`` such segments are padded instead.
    """
    part = fold.train(panel)
    if task.input_size is None or panel.schema.short == "pad":
        return part
    enough = part.lengths >= task.input_size + task.horizon
    if enough.all():
        return part
    if not enough.any():
        raise DataError(
            f"fold {fold.number}: no training segment is long enough: a window needs {task.input_size + task.horizon} "
            f"rows ({task.input_size} history + {task.horizon} horizon), the longest has {int(part.lengths.max())}. "
            "Use fewer or shorter folds, or lower input_size."
        )
    return part.take(np.flatnonzero(enough))


def windows_to_test(task: Any, fold: Fold, panel: Panel) -> Windows:
    """Return the windows of the test part of a fold; at least one."""
    windows = fold.test_windows(panel, task.history, task.horizon, joint=bool(task.joint))
    if not len(windows):
        raise DataError(
            f"fold {fold.number}: no test part has room for a window of {task.history} history + {task.horizon} "
            "horizon rows. Make test parts at least one horizon long, or lower input_size."
        )
    return windows


def _require_all_series(fold: Fold, panel: Panel) -> None:
    """Refuse to train on some series only, or on several segments of one, where a window spans all series."""
    if not np.array_equal(np.sort(fold.train_series), np.arange(panel.num_series)):
        raise InputError(
            f"fold {fold.number} trains on some series only, or on several segments of one, but this model takes all "
            "series at once. Choose a splitter that cuts all series alike, or train with joint=False."
        )
