"""Figures of residuals, from the forecasts of held-out values.

A backtest is a table as ``Evaluation.forecasts``, ``backtest`` and ``cross_validate`` have it: id, time, ``cutoff``,
``step``, ``actual``, and a column of forecasts of each model. A residual is the actual value minus the forecast; rows
without one of the two do not count. ``model`` names the column of forecasts, ``time`` that of times and ``id`` that of
the series; unset, that is ``unique_id`` if there is one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_number, format_time
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.reporting.figures.columns import RESIDUAL, floats_of, id_of, places_of, read_residuals
from neuro_divergent.reporting.figures.figure import Axis, Band, Bars, Figure, Line, Mark, Points, Rule

_MOST_TIMES = 500
_MOST_POINTS = 1_500
_MOST_LAGS = 60
_FEW_CUTOFFS = 20
_REACH = 4.0  # standard deviations to either side that a histogram shows


def residuals_over_time_figure(backtest: Any, *, time: str = "ds", model: str = "forecast") -> Figure:
    """Show the residuals over time: their mean, and the range of the middle 80 % where a time has several.

    Of more than 500 times, neighbours are taken together.
    """
    frame = read_residuals(backtest, model=model, also=(time,)).sort(time)
    groups = pl.col(time).rank("dense").cast(pl.Int64) - 1
    frame = frame.with_columns(groups.alias("place"))
    wide = math.ceil((int(frame["place"].max() or 0) + 1) / _MOST_TIMES)  # type: ignore[arg-type]
    table = (
        frame.group_by((pl.col("place") // wide).alias("place"), maintain_order=True)
        .agg(
            pl.col(time).first(),
            pl.col(RESIDUAL).mean().alias("mean"),
            pl.col(RESIDUAL).quantile(0.1, "linear").alias("low"),
            pl.col(RESIDUAL).quantile(0.9, "linear").alias("high"),
        )
        .sort("place")
    )
    places, mean = places_of(table[time]), floats_of(table["mean"])
    residuals = floats_of(frame[RESIDUAL])
    marks: list[Mark] = []
    if frame.height > table.height:
        low, high = floats_of(table["low"]), floats_of(table["high"])
        marks.append(Band(places, low, high, label="80 % of the residuals", tone="other"))
        if frame.height <= _MOST_POINTS:
            marks.append(Points(places_of(frame[time]), residuals, label="residuals", tone="neutral"))
    marks += [Line(places, mean, label="mean", tone="forecast"), Rule(y=0.0)]
    average, size = float(residuals.mean()), float(np.abs(residuals).mean())
    side = "higher than" if average > 0 else "lower than" if average < 0 else "as high as"
    worst = int(np.abs(mean).argmax())
    return Figure(
        title="Residuals over time",
        marks=tuple(marks),
        x=Axis(time),
        y=Axis("actual minus forecast"),
        note=f"Each place stands for {wide} neighbouring times." if wide > 1 else "",
        alt_text=f"Actual values are {format_number(abs(average))} {side} the forecast on average, and "
        f"{format_number(size)} away from it. The mean is farthest from zero at {format_time(table[time][worst])} "
        f"({format_number(float(mean[worst]))}).",
    )


def residual_histogram_figure(backtest: Any, *, model: str = "forecast") -> Figure:
    """Show the distribution of the residuals and the normal distribution of the same mean and spread.

    What is more than four standard deviations from the mean is counted in the outer bars.
    """
    residuals = floats_of(read_residuals(backtest, model=model)[RESIDUAL])
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers whose squares are too large
        mean, spread = float(residuals.mean()), float(residuals.std())
    if not 0 < spread < math.inf:
        raise InputError("backtest: the residuals do not differ, so there is no distribution to show.")
    text = f"{format_count(len(residuals), 'residual')} with mean {format_number(mean)} and standard deviation "
    text += f"{format_number(spread)}."
    low, high = max(residuals.min(), mean - _REACH * spread), min(residuals.max(), mean + _REACH * spread)
    bins = int(np.clip(2 * len(residuals) ** (1 / 3), 5, 60))  # Rice's rule
    counts, edges = np.histogram(np.clip(residuals, low, high), bins, (low, high))
    places = np.linspace(mean - _REACH * spread, mean + _REACH * spread, 161)
    width = (high - low) / bins
    heights = 100 * width * np.exp(-0.5 * ((places - mean) / spread) ** 2) / (spread * math.sqrt(2 * math.pi))
    quarters = np.quantile(residuals, (0.25, 0.75))
    far = 100 * float((np.abs(residuals - mean) > 2 * spread).mean())
    return Figure(
        title="Distribution of residuals",
        marks=(
            Bars((edges[:-1] + edges[1:]) / 2, 100 * counts / len(residuals), label="residuals", tone="forecast"),
            Line(places, heights, label="normal distribution", tone="neutral", dashed=True),
        ),
        x=Axis("actual minus forecast"),
        y=Axis("% of the residuals", from_zero=True),
        alt_text=f"{text} Half of them lie between {format_number(float(quarters[0]))} and "
        f"{format_number(float(quarters[1]))}; {far:.1f} % are more than two standard deviations from "
        "the mean, 4.6 % of a normal distribution.",
    )


def residual_autocorrelation_figure(
    backtest: Any,
    *,
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str = "ds",
    model: str = "forecast",
    lags: int | None = None,
) -> Figure:
    """Show how residuals depend on earlier ones of the same series.

    Where series have 20 cut-offs or more on average, these are the residuals one step ahead at successive cut-offs,
    and lags count cut-offs: a good model leaves no pattern there. Else they are the residuals in the order of time, of
    which each time has the one with the shortest step, and lags count rows. Errors within one forecast go together, so
    lags below the horizon are then above zero even for a good model; a peak at a season is what to look for.

    For residuals :math:`e_t` of a series with mean :math:`m`, the autocorrelation at a lag :math:`k` is the sum of
    :math:`(e_t - m)(e_{t+k} - m)` over the sum of :math:`(e_t - m)^2`. It is averaged over the series; those whose
    residuals never change are left out. The limits are those between which 95 % of the values lie for one series of
    independent residuals, ``1.96 / sqrt(n)``; the mean over several series that do not depend on each other lies closer
    to zero. Unset, there are half as many lags as the series are long, at most 60.
    """
    frame = read_residuals(backtest, model=model, also=(time,))
    named = id_of(frame, id)
    series = pl.lit(0) if named is None else pl.col(named).cast(pl.String).cast(pl.Categorical).to_physical()
    has_steps = "step" in frame.columns
    step = pl.col("step") if has_steps else pl.lit(1)
    # Numbers are sorted many times faster than names and times.
    frame = frame.select(series=series, time=pl.col(time).to_physical(), step=step, residual=RESIDUAL).drop_nulls()
    if not frame.height:
        raise InputError("backtest: no residual belongs to a series, a time and a step.")
    ahead = frame.filter(pl.col("step") == 1)
    is_by_cutoff = has_steps and ahead.height >= _FEW_CUTOFFS * frame["series"].n_unique()
    residuals = _as_rows(ahead if is_by_cutoff else frame)
    lengths = np.isfinite(residuals).sum(1)
    residuals, lengths = residuals[lengths > 2], lengths[lengths > 2]
    centred = residuals - np.nanmean(residuals, 1, keepdims=True) if len(residuals) else residuals
    with np.errstate(over="ignore"):
        power = np.nansum(centred**2, 1)
    varies = (power > 0) & np.isfinite(power)
    if not varies.any():
        raise InputError("backtest: no series has three residuals that differ, which an autocorrelation needs.")
    length = int(np.median(lengths[varies]))
    lags = max(1, min(lags or min(length // 2, _MOST_LAGS), residuals.shape[1] - 1))
    values = autocorrelation(residuals[varies], lags)
    limit = 1.96 / math.sqrt(length)
    peak = int(np.abs(values).argmax())
    unit = "cut-off" if is_by_cutoff else "row"
    what = "one step ahead, at successive cut-offs" if is_by_cutoff else "in the order of time"
    number = format_count(int(varies.sum()), "series", "series")
    rules = Rule(y=limit, label="95 %"), Rule(y=-limit), Rule(y=0.0)
    return Figure(
        title="Autocorrelation of residuals",
        marks=(Bars(np.arange(1.0, lags + 1), values, tone="forecast"), *rules),
        x=Axis(f"lag, {unit}s"),
        y=Axis("autocorrelation"),
        note=f"Residuals {what}, mean over {number} of {length:,} {unit}s. "
        + ("" if is_by_cutoff else "Errors of one forecast go together, so short lags are above zero for any model."),
        alt_text=f"The autocorrelation is {format_number(float(values[0]))} at lag 1 and strongest at lag {peak + 1:,} "
        f"with {format_number(float(values[peak]))}; {format_count(int((np.abs(values) > limit).sum()), 'lag')} of "
        f"{lags:,} exceed the limits of {format_number(limit)}.",
    )


def error_by_step_figure(backtest: Any, *, model: str = "forecast", name: str = "model") -> Figure:
    """Show the mean absolute error at each step of the horizon, of the model and of the baselines.

    All are scored on the same values: those that each of them forecast. Baselines without a column are left out.
    """
    frame = read_residuals(backtest, model=model, also=("step",))
    columns = [column for column in NAMES if column in frame.columns]
    frame = frame.with_columns(pl.col(column).cast(pl.Float64, strict=False) for column in columns)
    columns = [column for column in columns if frame[column].is_finite().any()]
    frame = frame.filter(pl.all_horizontal(pl.lit(True), *(pl.col(column).is_finite() for column in columns)))
    if not frame.height:
        raise InputError("backtest: no value was forecast by the model and by every baseline.")
    errors = [(pl.col("actual") - pl.col(column)).abs().mean().alias(column) for column in (model, *columns)]
    table = frame.group_by("step").agg(errors).sort("step")
    steps, own = floats_of(table["step"]), floats_of(table[model])
    marks: list[Mark] = [
        Line(steps, floats_of(table[column]), label=column, tone="other", dashed=True) for column in columns
    ]
    marks.append(Line(steps, own, label=name, tone="forecast"))
    ahead = [f"better than {column} at {int((own < floats_of(table[column])).sum()):,}" for column in columns]
    text = f"The mean absolute error of {name} goes from {format_number(float(own[0]))} at step {steps[0]:g} to "
    text += f"{format_number(float(own[-1]))} at step {steps[-1]:g}."
    return Figure(
        title="Error by step of the horizon",
        marks=tuple(marks),
        x=Axis("step of the horizon"),
        y=Axis("mean absolute error", from_zero=True),
        alt_text=f"{text} Of {format_count(len(steps), 'step')}, it is {', '.join(ahead)}." if ahead else text,
    )


def autocorrelation(series: Array, lags: int) -> Array:
    """Return the mean autocorrelation of several series at the lags from 1 on.

    Args:
        series: A row for each, with NaN where it has no value; no row may be constant.
        lags: How many; fewer than there are columns.
    """
    centred = np.nan_to_num(series - np.nanmean(series, 1, keepdims=True))
    power = (centred**2).sum(1)
    return np.array([((centred[:, :-lag] * centred[:, lag:]).sum(1) / power).mean() for lag in range(1, lags + 1)])


def _as_rows(frame: pl.DataFrame) -> Array:
    """Return the residuals of each series in the order of time, NaN at the end where others are longer.

    Of several residuals at a time, the one of the shortest step is taken.
    """
    frame = frame.sort("series", "time", "step")
    series, times = frame["series"].to_numpy().astype(np.int64), frame["time"].to_numpy()
    is_new = np.append(True, (np.diff(series) != 0) | (times[1:] != times[:-1]))
    series, values = series[is_new], floats_of(frame["residual"])[is_new]
    begins = np.flatnonzero(np.append(True, np.diff(series) != 0))
    lengths = np.diff(np.append(begins, len(series)))
    rows = np.full((len(begins), int(lengths.max())), np.nan)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = values
    return rows
