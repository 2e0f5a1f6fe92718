"""Cross-validation: forecasters trained and tested on several folds of the same data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.executor import Executor
from neuro_divergent.core.formatting import format_count
from neuro_divergent.core.progress import following, track
from neuro_divergent.data.io.source import Backend, backend_of
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.arguments import require_counts
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.evaluation.cross_validation.fold_task import FoldResult, FoldTask, fit_fold
from neuro_divergent.evaluation.cross_validation.forecast_values import (
    FORECAST,
    PLACE,
    PanelHistory,
    baselines_for,
    history_for,
    id_column,
    name_rows,
    native,
    prefixed,
)
from neuro_divergent.evaluation.cross_validation.parallel import run_parallel
from neuro_divergent.evaluation.cross_validation.store import FoldStore
from neuro_divergent.evaluation.display import best_of, frame_html, read_frame
from neuro_divergent.evaluation.scoring.score import score
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.function import as_splitter
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit

Progress = Callable[[int, int, str], None]
METRICS = ("mae", "rmse", "smape", "mase")
_RESERVED = ("cutoff", "step", "actual", "fold", "model", FORECAST, *NAMES)
_LIKE_AN_INTERVAL = re.compile(r".*-(lo|hi|q)-[0-9.]+")


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Out-of-fold forecasts and their scores; every table is of the same kind as the input.

    Attributes:
        models: Names of the forecasters, as in the columns of ``forecasts``; baselines not included.
        forecasts: Every forecast value: id, time, ``cutoff`` (time of the last value it could see), ``step``,
            ``actual`` (null where it was not observed), the forecasts, the baselines and ``fold``. A single forecaster
            has the columns ``forecast``, ``lo-80``, ...; several have ``<model>``, ``<model>-lo-80``, ...
        scores: One row per model and baseline: mean of each metric over the folds, and its standard deviation in
            ``<metric>_std`` (null with a single fold).
        per_fold: One row per model and fold.
        seconds: Time of training and forecasting of each forecaster, summed over its trainings.
        season_length: Rows in a season, for the seasonal naive forecast and MASE.
        panel: The data, as they were read.
        backend: Kind of the input table.
    """

    models: tuple[str, ...]
    forecasts: Any
    scores: Any
    per_fold: Any
    seconds: dict[str, float]
    season_length: int
    panel: Panel
    backend: Backend

    def __repr__(self) -> str:
        return f"CrossValidation({self._summary()})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.scores}"

    def _repr_html_(self) -> str:
        folds = html.details("scores of each fold", frame_html(self.per_fold))
        return html.card("CrossValidation", self._summary(), frame_html(self.scores), folds)

    def _summary(self) -> str:
        per_fold = read_frame(self.per_fold)
        metric = next(name for name in per_fold.columns if name not in ("fold", "model", "values"))
        folds, models = format_count(per_fold["fold"].n_unique(), "fold"), format_count(len(self.models), "model")
        return f"{models}, {folds}, {best_of(self.scores, metric)}"


def cross_validate(
    forecasters: Any,
    data: Any,
    splitter: Any = None,
    *,
    refit: bool | int = True,
    metrics: Sequence[str] = METRICS,
    levels: Sequence[float] = (),
    quantiles: Sequence[float] = (),
    jobs: int = 1,
    threads: int | None = None,
    executor: Executor | None = None,
    store: str | Path | None = None,
    progress: Progress | bool | None = None,
    season_length: int | None = None,
    baselines: bool = True,
    **schema: Any,
) -> CrossValidation:
    """Train forecasters on the training part of each fold and forecast its test part.

    The training part is cut out of the data, so that scalers, early stopping and intervals see no value of the test
    part. All forecasters are scored on the same windows: those that the one with the longest history can forecast.

    Args:
        forecasters: A forecaster, a list of them, or a dict by name. Clones are trained; the given ones do not change.
        data: As for ``fit``.
        splitter: A splitter, a function or an object with ``split(panel)``; unset, five folds of one horizon each at
            the end of every series.
        refit: Whether to train for every fold; ``False`` trains for the first fold and forecasts all in one pass, and
            an integer ``n`` trains for every ``n``-th fold.
        metrics: Names of metrics.
        levels: Levels of the intervals to forecast, in percent.
        quantiles: Quantiles to forecast, between 0 and 1.
        jobs: Number of worker processes. Results do not depend on it as long as training uses as many threads; networks
            large enough for several use fewer where processes share the machine. A script that uses it needs
            ``if __name__ == "__main__":``.
        threads: Threads of all processes together; unset, training uses what its settings say with one process, and
            several processes share the cores.
        executor: What starts the processes instead of this machine, such as ``nd.distributed.RayExecutor("auto")``.
            ``jobs`` tasks run at once, each with one thread unless ``threads`` says more.
        store: Directory in which finished folds are stored. A later call with the same data and settings reads them
            instead of computing them, however the earlier call ended. Functions among the settings are told apart by
            their names only.
        progress: Whether progress is shown, as inside of ``nd.show_progress()``; or a function that is called with the
            number of finished folds, of all folds, over all forecasters, and a text.
        season_length: Rows in a season; unset, it follows from the frequency.
        baselines: Whether to include the naive baselines.
        schema: Fields of ``Schema``, as for ``fit``.

    Raises:
        InputError: If a forecaster would be tested on rows it was trained on.
        WorkerDiedError: If the system killed a worker process.

    Examples:
        >>> import neuro_divergent as nd
        >>> training = nd.TrainingConfig(max_steps=10)
        >>> models = {name: nd.Forecaster(name, horizon=6, training=training) for name in ("nlinear", "dlinear")}
        >>> splitter = nd.splitters.TimeSeriesSplit(n_splits=2, test_size=6)
        >>> result = nd.cross_validate(models, nd.datasets.air_passengers(), splitter, refit=False)
        >>> result.scores["model"].to_list()
        ['nlinear', 'dlinear', 'last value', 'seasonal naive', 'drift']
        >>> result.per_fold.height, result.forecasts.height
        (10, 12)
    """
    templates, single = _by_name(forecasters)
    horizon = _common_horizon(templates)
    require_counts(jobs=jobs, threads=threads, season_length=season_length)
    panel = data if isinstance(data, Panel) else load_panel(data, Schema(**schema))
    _require_free_names(() if single else tuple(templates), panel)
    chosen = TimeSeriesSplit(n_splits=5, test_size=horizon) if splitter is None else as_splitter(splitter)
    folds = list(chosen.split(panel))
    tasks = [
        FoldTask(model, template, group, tuple(levels), tuple(quantiles))
        for group in _groups(folds, refit)
        for model, template in templates.items()
    ]
    results: dict[str, list[FoldResult]] = {model: [] for model in templates}
    done = 0
    total = len(folds) * len(templates)
    with (
        following(progress) as report,
        track("Cross-validation", total, "fold") as shown,
        closing(_results(tasks, panel, jobs, threads, executor, store)) as finished,
    ):
        for task, found in finished:
            results[task.model] += found
            done += len(found)
            latest = f"{task.model}, fold {found[-1].fold + 1}"
            shown.update(done, f"{latest} done" if done < total else "")
            if report is not None:
                report(done, total, latest)
    season = panel.frequency.season_length if season_length is None else season_length
    values = _combined({None if single else model: found for model, found in results.items()})
    frame = name_rows(values.drop("fold"), panel)
    if baselines:
        frame = frame.hstack(baselines_for(values, panel, season))
    frame = frame.hstack([values["fold"]])
    models = (FORECAST,) if single else tuple(templates)
    backend: Backend = "polars" if isinstance(data, Panel) else backend_of(data)
    scored = (*models, *(NAMES if baselines else ()))
    per_fold = scores_of(frame, panel, scored, metrics, season, "fold", values=values)
    return CrossValidation(
        models=models,
        forecasts=native(frame, backend),
        scores=native(_over_folds(per_fold), backend),
        per_fold=native(per_fold, backend),
        seconds={
            model: sum(item.seconds for item in results[name]) for model, name in zip(models, templates, strict=True)
        },
        season_length=season,
        panel=panel,
        backend=backend,
    )


def _by_name(forecasters: Any) -> tuple[dict[str, Any], bool]:
    """Return the forecasters by their names, and whether a single one was given."""
    if isinstance(forecasters, Mapping):
        named = {str(name): item for name, item in forecasters.items()}
    elif isinstance(forecasters, (list, tuple)):
        named, seen = {}, Counter[str]()
        for item in forecasters:
            name = _name_of(item)
            seen[name] += 1
            named[name if seen[name] == 1 else f"{name}_{seen[name]}"] = item
    else:
        return {_name_of(forecasters): forecasters}, True
    if not named:
        raise InputError("forecasters: pass at least one.")
    return {name: _checked(item) for name, item in named.items()}, False


def _name_of(forecaster: Any) -> str:
    architecture = getattr(_checked(forecaster), "architecture", None)
    return str(architecture.name) if architecture is not None else type(forecaster).__name__.lower()


def _checked(forecaster: Any) -> Any:
    if isinstance(forecaster, type) or not all(
        hasattr(forecaster, name) for name in ("fit", "forecast_windows", "task")
    ):
        raise InputError(
            f"forecasters: {forecaster!r} is not a forecaster; pass Forecaster(...), a list of them, or a dict by name."
        )
    return forecaster


def _common_horizon(templates: dict[str, Any]) -> int:
    horizons = {name: int(item.task.horizon) for name, item in templates.items()}
    (first, horizon), *others = horizons.items()
    for name, other in others:
        if other != horizon:
            raise InputError(
                f"forecasters must have the same horizon to be compared: {first!r} has {horizon}, {name!r} has {other}."
            )
    return horizon


def _require_free_names(models: Sequence[str], panel: Panel) -> None:
    """Refuse names that would make columns ambiguous."""
    for name in models:
        if name in (*_RESERVED, "", id_column(panel), panel.schema.time) or _LIKE_AN_INTERVAL.fullmatch(name):
            raise InputError(f"forecasters: {name!r} cannot be the name of one, because another column has it.")


def _groups(folds: list[Fold], refit: bool | int) -> Iterator[tuple[Fold, ...]]:
    """Yield the folds that share a training."""
    if not isinstance(refit, int) or (refit < 1 and refit is not False):
        raise InputError(f"refit: {refit!r} must be True, False or an integer number of folds of at least 1.")
    size = len(folds) if refit is False else int(refit)
    for begin in range(0, len(folds), size):
        group = tuple(folds[begin : begin + size])
        if len(group) > 1:
            _require_unseen(group)
        yield group


def _require_unseen(group: Sequence[Fold]) -> None:
    """Refuse to test on rows that the model of an earlier fold was trained on."""
    first = group[0]
    begins, ends = np.sort(first.train_begins), np.sort(first.train_ends)  # no two of the segments share a row
    for fold in group[1:]:
        # A test segment is free of them if as many end before it as begin before its end.
        before = np.searchsorted(ends, fold.test_begins, side="right")
        if (np.searchsorted(begins, fold.test_ends, side="left") > before).any():
            raise InputError(
                f"refit: fold {fold.number} is tested on rows that fold {first.number} trains on, so one training "
                "cannot serve both. Use refit=True."
            )


def _results(
    tasks: list[FoldTask],
    panel: Panel,
    jobs: int,
    threads: int | None,
    executor: Executor | None,
    store: str | Path | None,
) -> Generator[tuple[FoldTask, list[FoldResult]], None, None]:
    """Yield the results of tasks: first those in the store, then the others as they are computed."""
    stored = None if store is None else FoldStore.of(store, panel)
    with nullcontext() if stored is None else stored.opened():
        missing = []
        for task in tasks:
            found = None if stored is None else stored.find(task)
            if found is None:
                missing.append(task)
            else:
                yield task, found
        with closing(_compute(missing, panel, jobs, threads, executor)) as computed:
            for task, results in computed:
                if stored is not None:
                    stored.save(task, results)
                yield task, results


def _compute(
    tasks: list[FoldTask], panel: Panel, jobs: int, threads: int | None, executor: Executor | None
) -> Generator[tuple[FoldTask, list[FoldResult]], None, None]:
    if executor is None and (jobs == 1 or len(tasks) < 2):
        yield from ((task, fit_fold(task, panel, threads)) for task in tasks)
    else:
        yield from run_parallel(tasks, panel, jobs=jobs, threads=threads, executor=executor)


def _combined(results: Mapping[str | None, list[FoldResult]]) -> pl.DataFrame:
    """Join the forecasts of all models on the values that every model forecasts."""
    key = ["fold", *PLACE]
    joined: pl.DataFrame | None = None
    for model, found in results.items():
        parts = [item.values.with_columns(fold=pl.lit(item.fold, pl.Int64)) for item in found]
        values = prefixed(pl.concat(parts), model)
        joined = values if joined is None else joined.join(values, on=key, how="inner")
    assert joined is not None
    if not joined.height:
        raise InputError("forecasters: there is no window that all of them can forecast; choose similar input sizes.")
    return joined.sort("series", "fold", "row", "step")


def scores_of(
    frame: pl.DataFrame,
    panel: Panel,
    models: Sequence[str],
    metrics: Sequence[str],
    season_length: int,
    by: str | None,
    *,
    values: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Score a table of forecasts; the panel is the history that scaled errors need.

    ``values`` has the places of its rows in the panel, if they are known; unset, they are found by ids and times.
    """
    train = (
        history_for(frame, panel, season_length) if values is None else PanelHistory.of(values, panel, season_length)
    )
    scores: pl.DataFrame = score(
        frame,
        models=list(models),
        metrics=metrics,
        by=() if by is None else by,
        season_length=season_length,
        train=train,
        id=id_column(panel),
        time=panel.schema.time,
        train_target=panel.schema.target,
    )
    return scores


def _over_folds(per_fold: pl.DataFrame) -> pl.DataFrame:
    """Return mean and standard deviation of each score over the folds."""
    metrics = [name for name in per_fold.columns if name not in ("fold", "model", "values")]
    both = [item for name in metrics for item in (pl.col(name).mean(), pl.col(name).std().alias(f"{name}_std"))]
    return per_fold.group_by("model", maintain_order=True).agg(both)
