"""Learning curves: errors over growing training sets, and a verdict on the model."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.arrays import Bools, Ints
from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.core.formatting import format_count
from neuro_divergent.core.progress import following, track
from neuro_divergent.data.io.source import Backend, backend_of
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.arguments import require_counts
from neuro_divergent.evaluation.cross_validation.forecast_values import native
from neuro_divergent.evaluation.curve_task import CurveTask, fit_all
from neuro_divergent.evaluation.display import frame_html, read_frame
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.task import Task
    from neuro_divergent.forecasting.vectorized_fit import Vectorize

UNDERFITTING, OVERFITTING, DATA_LIMITED, WELL_FITTED = "underfitting", "overfitting", "data-limited", "well fitted"

# Largest slope of the validation error, in logarithms of size and error, at which the verdict is ``"data-limited"``:
# twice the data would reduce the error by 7 %.
STEEP = -0.1
WIDE_GAP = 0.3  # least relative gap between validation and training error at which the verdict is ``"overfitting"``
LITTLE_SKILL = 0.05  # skill, compared with the seasonal naive forecast, below which the verdict is ``"underfitting"``

SIZES = (0.1, 0.2, 0.4, 0.7, 1.0)
_HELD_OUT = 0.3  # fraction of a series that all folds together are tested on

_ADVICE = {
    UNDERFITTING: "Increase capacity or training: train longer (max_steps), raise the learning rate, choose a larger "
    "hidden_size or input_size, or add covariates.",
    OVERFITTING: "Regularise the model: more dropout or weight_decay, a smaller hidden_size, augmentation, or early "
    "stopping with less patience.",
    DATA_LIMITED: "Get more data: longer histories or more series of the same kind, augmentation, or pretraining on "
    "other series.",
    WELL_FITTED: "Keep it: neither more data nor another size is likely to help much. The remaining error may be "
    "noise, or need covariates.",
}


@dataclass(frozen=True)
class Verdict:
    """Verdict on a learning curve.

    Attributes:
        name: ``"underfitting"``, ``"overfitting"``, ``"data-limited"`` or ``"well fitted"``.
        reason: Why, as sentences.
        advice: What to do.
        gap: ``1 - training error / validation error`` at the largest size.
        slope: Slope of the logarithm of the validation error over that of the size, at the largest sizes: with -0.5
            four times the data halve the error.
        skill: ``1 - validation error / seasonal naive error`` at the largest size; ``None`` where that is not known.
    """

    name: str
    reason: str
    advice: str
    gap: float
    slope: float
    skill: float | None


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Errors over growing training sets; tables are of the same kind as the input.

    Errors are mean absolute scaled errors (MASE), so that series of different scale have equal weight.

    Attributes:
        table: One row per size: ``size`` (rows to train on, of all series together), ``train_mean``, ``train_low`` and
            ``train_high`` (over folds and repeats), the same of ``validation``, and ``folds``.
        per_fold: One row per training: ``size``, ``fold``, ``repeat``, ``train``, ``validation``.
        verdict: What the errors say: whether more data, a larger or a smaller model would help, as a name.
        reason: The errors behind it, as sentences.
        advice: What to do, as a sentence.
        details: The numbers behind the verdict.
        naive: Error of the seasonal naive forecast on the same validation parts; NaN where it is not defined.
        notes: Remarks, such as sizes that were too small.
        seconds: Time of all trainings.
    """

    table: Any
    per_fold: Any
    verdict: str
    reason: str
    advice: str
    details: Verdict
    naive: float
    notes: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        sizes = format_count(read_frame(self.table).height, "size")
        return f"LearningCurve({sizes}: {self.verdict})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.reason} {self.advice}\n{self.table}"

    def _repr_html_(self) -> str:
        words = [html.paragraph(text) for text in (self.reason, self.advice, *self.notes)]
        return html.card("LearningCurve", self.verdict, *words, frame_html(self.table))


def learning_curve(
    forecaster: Forecaster,
    data: Any,
    *,
    sizes: Sequence[int | float] = SIZES,
    folds: int = 3,
    repeats: int = 1,
    max_steps: int | None = None,
    season_length: int | None = None,
    jobs: int = 1,
    threads: int | None = None,
    vectorize: Vectorize = "auto",
    progress: Callable[[int, int, str], None] | bool | None = None,
    **schema: Any,
) -> LearningCurve:
    """Train a forecaster on training sets of growing size and record its errors.

    In each fold the same rows at the end of each series are forecast, whatever the size of the training part, which is
    the segment right before them. Clones are trained; they see nothing of the validation part, and hold out the end of
    their training part for early stopping as ``fit`` always does.

    Args:
        forecaster: The forecaster; it does not change. An unset ``input_size`` is resolved once, for the largest
            training part, and is the same for all sizes.
        data: As for ``fit``.
        sizes: Sizes of the training part: fractions of what the first fold can train on, or numbers of rows of each
            series. They are the same in every fold.
        folds: Number of validation parts, one after the other at the end of each series.
        repeats: Trainings of each size and fold, with different seeds.
        max_steps: Steps of each training at most; unset, as the forecaster says.
        season_length: Rows in a season; unset, it follows from the frequency.
        jobs: Number of worker processes, as for ``cross_validate``.
        threads: Threads of all processes together, as for ``cross_validate``.
        vectorize: Whether trainings with batches of the same size are done in one step for all of them, which gives the
            same errors up to rounding: ``"auto"`` where a short measurement shows that it is faster and the copies of
            the data are small; ``True`` with an error where it is not possible. Not with several processes.
        progress: Whether progress is shown, as inside of ``nd.show_progress()``; or a function that is called with the
            number of finished trainings, of all trainings, and a text.
        schema: Fields of ``Schema``, as for ``fit``.

    Raises:
        DataError: If the data are too short for two sizes.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=6, input_size=12, training=nd.TrainingConfig(max_steps=10))
        >>> curve = nd.learning_curve(forecaster, nd.datasets.air_passengers(), sizes=(0.5, 1.0), folds=2)
        >>> curve.table["size"].to_list()
        [54, 108]
        >>> curve.table.columns
        ['size', 'train_mean', 'train_low', 'train_high', 'validation_mean', 'validation_low', ...
        >>> curve.verdict in ("underfitting", "overfitting", "data-limited", "well fitted")
        True
    """
    from neuro_divergent.forecasting.forecaster import Forecaster as Ours

    if not isinstance(forecaster, Ours):
        raise InputError(f"forecaster: {forecaster!r} is not a forecaster; pass Forecaster(...).")
    require_counts(
        folds=folds, repeats=repeats, max_steps=max_steps, season_length=season_length, jobs=jobs, threads=threads
    )
    _check_sizes(sizes)
    if jobs != 1 and vectorize is True:
        raise InputError("vectorize: trainings in several processes are not trained together. Pass jobs=1.")
    began = time.perf_counter()
    panel = data if isinstance(data, Panel) else load_panel(data, Schema(**schema))
    season = panel.frequency.season_length if season_length is None else season_length
    plan = _Plan.of(panel, forecaster.task, sizes, folds)
    template = Ours(
        forecaster.architecture,
        training=forecaster.training.replace(**({} if max_steps is None else {"max_steps": max_steps})),
        **{name: getattr(forecaster.task, name) for name in type(forecaster.task).model_fields if name != "input_size"},
        input_size=plan.input_size,
    )
    tasks = [
        CurveTask(template, fold, lengths, repeat, season)
        for fold in plan.folds
        for lengths in plan.sizes
        for repeat in range(repeats)
    ]
    rows: list[dict[str, Any]] = []
    with (
        following(progress) as report,
        track("Learning curve", len(tasks), "training") as shown,
        closing(fit_all(tasks, panel, jobs, threads, vectorize)) as finished,
    ):
        for task, errors in finished:
            rows.append({"size": task.size, "fold": task.fold.number, "repeat": task.repeat, **errors})
            latest = f"{task.size:,} rows, fold {task.fold.number + 1}"
            shown.update(len(rows), f"{latest} done" if len(rows) < len(tasks) else "")
            if report is not None:
                report(len(rows), len(tasks), latest)
    per_fold = pl.DataFrame(rows).sort("fold", "size", "repeat")
    naive = float(per_fold.unique("fold", keep="first", maintain_order=True)["naive"].mean())  # type: ignore[arg-type]
    per_fold = per_fold.drop("naive")
    table = _over_folds(per_fold)
    verdict = judge_curve(table, naive)
    backend: Backend = "polars" if isinstance(data, Panel) else backend_of(data)
    return LearningCurve(
        table=native(table, backend),
        per_fold=native(per_fold, backend),
        verdict=verdict.name,
        reason=verdict.reason,
        advice=verdict.advice,
        details=verdict,
        naive=naive,
        notes=plan.notes,
        seconds=time.perf_counter() - began,
    )


def judge_curve(table: pl.DataFrame, naive: float | None = None) -> Verdict:
    """Return the verdict on errors over growing sizes.

    If the validation error still falls with more data, the model is data-limited, whatever else holds. Otherwise a wide
    gap between training and validation error is overfitting, and a narrow one with little skill is underfitting.
    The table has ``size``, ``train_mean`` and ``validation_mean``, with at least two sizes; ``naive`` is the error of
    the seasonal naive forecast, if it is known.
    """
    ordered = table.sort("size")
    sizes, train, validation = (
        ordered[name].cast(pl.Float64).to_numpy() for name in ("size", "train_mean", "validation_mean")
    )
    if len(sizes) < 2 or not np.isfinite([*train, *validation]).all():
        raise InputError("a learning curve needs errors of at least two sizes.")
    tiny = np.finfo(np.float64).tiny
    recent = slice(-min(3, len(sizes)), None)
    slope = float(np.polyfit(np.log(sizes[recent]), np.log(np.maximum(validation[recent], tiny)), 1)[0])
    last = float(validation[-1])
    gap = (last - float(train[-1])) / last if last > 0 else 0.0
    skill = None if naive is None or not naive > 0 or not math.isfinite(naive) else 1 - last / naive
    name = _name(gap, slope, skill)
    return Verdict(name, _reason(gap, slope, skill), _ADVICE[name], gap, slope, skill)


def _name(gap: float, slope: float, skill: float | None) -> str:
    if slope <= STEEP:
        return DATA_LIMITED
    if gap >= WIDE_GAP:
        return OVERFITTING
    if skill is not None and skill < LITTLE_SKILL:
        return UNDERFITTING
    return WELL_FITTED


def _reason(gap: float, slope: float, skill: float | None) -> str:
    change = 2**slope - 1
    moves = f"would {'save' if change < 0 else 'add'} about {abs(change):.0%} of the validation error"
    parts = [f"Going on like this, twice as much data {moves}."]
    side = "lower" if gap >= 0 else "higher"
    parts.append(f"The error on the training part is {abs(gap):.0%} {side} than that on the validation part.")
    if skill is not None and skill >= 0:
        parts.append(f"The model saves {skill:.0%} of the error of the seasonal naive forecast.")
    elif skill is not None:
        parts.append(f"The model has {-skill:.0%} more error than the seasonal naive forecast.")
    return " ".join(parts)


def _check_sizes(sizes: Sequence[int | float]) -> None:
    for size in sizes:
        is_number = isinstance(size, (int, float)) and not isinstance(size, bool)
        if not is_number or not (0 < size <= 1 or (size > 1 and isinstance(size, int))):
            raise InputError(f"sizes: {size!r} must be a fraction above 0 and up to 1, or an integer number of rows.")
    if len(set(sizes)) < 2:
        raise InputError("sizes: there must be at least two different ones.")


@dataclass(frozen=True, eq=False)
class _Plan:
    """Training and validation parts.

    Attributes:
        folds: Validation parts with all that may be trained on before them.
        sizes: Rows of each series of the panel to train on, from the fewest to the most.
        input_size: Rows of history of every training.
        notes: What was left out.
    """

    folds: list[Fold]
    sizes: list[Ints]
    input_size: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, panel: Panel, task: Task, sizes: Sequence[int | float], folds: int) -> _Plan:
        # Each fold is some horizons long, as far as the shortest series allows.
        windows = max(1, int(_HELD_OUT * int(panel.lengths.min()) / folds / task.horizon))
        found = list(TimeSeriesSplit(n_splits=folds, test_size=windows * task.horizon).split(panel))
        first = found[0]
        input_size = task.history_for(first.train(panel))
        least = input_size + task.horizon
        most = np.zeros_like(panel.lengths)
        most[first.train_series] = first.train_ends - first.train_begins
        if panel.schema.short != "pad":  # series without a window to train on take no part
            most[most < least] = 0
        chosen: list[Ints] = []
        left_out: list[str] = []
        for size in sorted(sizes, key=lambda size: size if size > 1 else size * int(most.max())):
            wanted = np.round(size * most).astype(np.int64) if size <= 1 else np.full_like(most, int(size))
            if int(wanted.max()) < least:
                left_out.append(f"{size:g}")
                continue
            lengths = np.minimum(np.maximum(wanted, least), most)  # each series has at least one window
            if not chosen or (lengths != chosen[-1]).any():
                chosen.append(lengths)
        if len(chosen) < 2:
            raise DataError(
                f"the data are too short for a learning curve: a window needs {least} rows, and the longest series has "
                f"{int((first.train_ends - first.train_begins).max())} to train on in the first fold. Lower "
                "input_size, use fewer folds, or pass other sizes."
            )
        note = f"Sizes that have no room for a window of {least} rows were left out: {', '.join(left_out)}."
        kept = [_only(fold, most > 0) for fold in found]
        return cls(kept, chosen, input_size, (note,) if left_out else ())


def _only(fold: Fold, series: Bools) -> Fold:
    """Return the fold with some series only."""
    train, test = series[fold.train_series], series[fold.test_series]
    return Fold(
        fold.number,
        fold.train_series[train],
        fold.train_begins[train],
        fold.train_ends[train],
        fold.test_series[test],
        fold.test_begins[test],
        fold.test_ends[test],
    )


def _over_folds(per_fold: pl.DataFrame) -> pl.DataFrame:
    """Return mean, minimum and maximum of the errors of each size."""
    errors: dict[str, pl.Expr] = {}
    for part in ("train", "validation"):
        error = pl.col(part)
        errors |= {f"{part}_mean": error.mean(), f"{part}_low": error.min(), f"{part}_high": error.max()}
    return per_fold.group_by("size").agg(**errors, folds=pl.col("fold").n_unique().cast(pl.Int64)).sort("size")
