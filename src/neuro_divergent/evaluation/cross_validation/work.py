"""What is done for a fold: train on one part, forecast the other."""

from __future__ import annotations

import copy
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.cross_validation.forecast_values import values_of
from neuro_divergent.evaluation.cross_validation.window_list import WindowList
from neuro_divergent.evaluation.splitters.fold import Fold

if TYPE_CHECKING:
    from neuro_divergent.training.config import TrainingConfig


@dataclass(frozen=True, eq=False)
class Assignment:
    """Folds that one training serves: it learns from the training part of the first and forecasts the test part of all.

    Attributes:
        model: Name of the forecaster.
        template: The forecaster, not to be touched.
        folds: In order.
        levels: Intervals to give, in percent.
        quantiles: Quantiles to give, as shares.
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
        fold: Number of the fold.
        values: What ``forecast_values.values_of`` gives.
        seconds: What training and forecasting took; 0 where they were done together with those of an earlier fold.
    """

    fold: int
    values: pl.DataFrame
    seconds: float


def work(assignment: Assignment, panel: Panel, threads: int | None = None) -> list[FoldResult]:
    """Train once and forecast every fold of an assignment in one pass.

    Args:
        assignment: What to do.
        panel: The whole data.
        threads: Threads that training may use; as its settings say if unset.

    Raises:
        DataError: If a fold has no room for a window.
        InputError: If the model spans all series and a fold does not.
    """
    with nullcontext() if threads is None else using_threads(threads):
        return _work(assignment, panel, threads)


def _work(assignment: Assignment, panel: Panel, threads: int | None) -> list[FoldResult]:
    began = time.perf_counter()
    forecaster = fresh(assignment.template, threads)
    forecaster.fit(training_part(forecaster.task, assignment.folds[0], panel))
    if forecaster.task.joint:
        _require_whole(assignment.folds[0], panel)
    parts = [_test_windows(forecaster.task, fold, panel) for fold in assignment.folds]
    result = forecaster.forecast_windows(WindowList.of(parts), assignment.levels, assignment.quantiles)
    # A window that spans all series gives a forecast for each.
    rows = np.cumsum([0, *(len(part) for part in parts)]) * (result.point.size // sum(len(part) for part in parts))
    values = values_of(result)
    seconds = time.perf_counter() - began
    return [
        FoldResult(fold.number, values[int(rows[place]) : int(rows[place + 1])], 0.0 if place else seconds)
        for place, fold in enumerate(assignment.folds)
    ]


def fresh(template: Any, threads: int | None = None) -> Any:
    """Return an untrained forecaster with the settings of another.

    One of another kind gives a fresh one itself, with ``fresh()``, or is copied as a whole.
    """
    from neuro_divergent.forecasting.forecaster import Forecaster

    if type(template) is not Forecaster:
        return template.fresh() if hasattr(template, "fresh") else copy.deepcopy(template)
    task = {name: getattr(template.task, name) for name in type(template.task).model_fields}
    return Forecaster(template.architecture, training=_within(template.training, threads), **task)


def training_part(task: Any, fold: Fold, panel: Panel) -> Panel:
    """Return the rows to learn from, without stretches that are too short for one window.

    A stretch of time before or after a test part has the length that is left to it, which is nothing to complain about
    in the data. With ``short="pad"`` such stretches are lengthened instead.
    """
    part = fold.train(panel)
    if task.input_size is None or panel.schema.short == "pad":
        return part
    enough = part.lengths >= task.input_size + task.horizon
    if enough.all():
        return part
    if not enough.any():
        raise DataError(
            f"fold {fold.number}: no training stretch is long enough: a window needs {task.input_size + task.horizon} "
            f"rows ({task.input_size} history + {task.horizon} horizon), the longest has {int(part.lengths.max())}. "
            "Use fewer or shorter folds, or lower input_size."
        )
    return part.take(np.flatnonzero(enough))


def _test_windows(task: Any, fold: Fold, panel: Panel) -> Windows:
    windows = fold.test_windows(panel, task.history, task.horizon, joint=bool(task.joint))
    if not len(windows):
        raise DataError(
            f"fold {fold.number}: no test part has room for a window of {task.history} history + {task.horizon} "
            "horizon rows. Make test parts at least one horizon long, or lower input_size."
        )
    return windows


def _require_whole(fold: Fold, panel: Panel) -> None:
    """Refuse to train on some series only, or on several stretches of one, where a window spans all series."""
    if not np.array_equal(np.sort(fold.train_series), np.arange(panel.num_series)):
        raise InputError(
            f"fold {fold.number} trains on some series only, or on several stretches of one, but this model takes all "
            "series at once. Choose a splitter that cuts all series alike, or train with joint=False."
        )


def _within(training: TrainingConfig, threads: int | None) -> TrainingConfig:
    """Return settings that ask for no more threads than there are to use; those torch may use bound ``"auto"``."""
    if threads is None or training.threads == "auto":
        return training
    return training.replace(threads=min(training.threads, threads))
