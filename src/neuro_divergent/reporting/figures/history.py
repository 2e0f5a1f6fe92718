"""Figures of training curves, from the history of a run.

A history has a row for each logged step, with the columns of ``Forecaster.history``: ``step`` and
some of ``train_loss``, ``validation_loss``, ``learning_rate``, ``gradient_norm`` and ``samples_per_second``, null where
nothing was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.columns import floats_of, read_columns
from neuro_divergent.reporting.figures.figure import Axis, Figure, Line, Mark, Rule
from neuro_divergent.reporting.sampling import min_max

_STEPS = Axis("steps of training")
_BUCKETS = 500  # into which a line is divided; each keeps its ends and extremes
_NAMES = {
    "train_loss": "training loss",
    "validation_loss": "validation loss",
    "validation_mae": "validation MAE",
    "learning_rate": "learning rate",
    "gradient_norm": "gradient norm",
    "samples_per_second": "windows per second",
}


def loss_figure(history: Any) -> Figure:
    """Show the loss of training and of validation, and where that of validation was lowest."""
    frame = read_columns(history, ("step",), "history")
    train, validation = _curve(frame, "train_loss"), _curve(frame, "validation_loss")
    marks: list[Mark] = []
    sentences = []
    if len(train[0]):
        marks.append(Line(*_thin(*train), label="training", tone="train"))
        sentences.append(f"The training loss went from {_ends(train[1])}.")
    if len(validation[0]):
        marks.append(Line(*_thin(*validation), label="validation", tone="validation"))
        best = int(validation[1].argmin())
        step, lowest = int(validation[0][best]), format_number(float(validation[1][best]))
        marks.append(Rule(x=float(step), label=f"lowest at step {step:,}"))
        went = f"went from {_ends(validation[1])} and was lowest at step {step:,} with {lowest}"
        sentences.append(f"The validation loss {went}.")
    if not marks:
        raise InputError("history: no loss was recorded yet; training records one every log_every steps.")
    return Figure(
        title="Loss",
        marks=tuple(marks),
        x=_STEPS,
        y=Axis("loss, on the scale that the network sees", logarithmic=None),
        alt_text=" ".join(sentences),
    )


def rate_figure(history: Any) -> Figure:
    """Show the learning rate."""
    steps, rates = _needed(history, "learning_rate")
    peak = int(rates.argmax())
    return Figure(
        title="Learning rate",
        marks=(Line(*_thin(steps, rates), tone="train"),),
        x=_STEPS,
        y=Axis("learning rate", from_zero=True),
        alt_text=f"The learning rate went from {_ends(rates)}; it was highest at step {int(steps[peak]):,} with "
        f"{format_number(float(rates[peak]))}.",
    )


def gradient_figure(history: Any, *, clip: float | None = None) -> Figure:
    """Show the norm of the gradient before clipping, and the norm ``clip`` to which it is clipped, if it is."""
    steps, norms = _needed(history, "gradient_norm")
    middle = format_number(float(np.median(norms)))
    text = f"The gradient norm has a median of {middle} and is {format_number(float(norms.max()))} at most."
    rules: tuple[Mark, ...] = ()
    if clip is not None:
        rules = (Rule(y=float(clip), label=f"clipped at {format_number(float(clip))}"),)
        above = f"{100 * float((norms > clip).mean()):.0f} %"
        text += f" {above} of the values are above the {format_number(clip)} at which it is clipped."
    return Figure(
        title="Gradient norm",
        marks=(Line(*_thin(steps, norms), tone="train"), *rules),
        x=_STEPS,
        y=Axis("norm of the gradient", logarithmic=None),
        alt_text=text,
    )


def speed_figure(history: Any) -> Figure:
    """Show how many windows were trained on in a second."""
    steps, speeds = _needed(history, "samples_per_second")
    return Figure(
        title="Speed",
        marks=(Line(*_thin(steps, speeds), tone="train"),),
        x=_STEPS,
        y=Axis("windows per second", from_zero=True),
        note="Rows in which validation ran as well are slower.",
        alt_text=f"The median speed is {format_number(float(np.median(speeds)))} windows per second, between "
        f"{format_number(float(speeds.min()))} and {format_number(float(speeds.max()))}.",
    )


def losses_figure(histories: Mapping[str, Any], column: str = "validation_loss") -> Figure:
    """Show one column of the histories of several runs by their names; those without the column are left out."""
    marks = []
    best: list[tuple[float, str]] = []
    name = _NAMES.get(column, column.replace("_", " "))
    for run, history in histories.items():
        steps, values = _curve(read_columns(history, ("step",), f"history of {run}"), column)
        if len(values):
            marks.append(Line(*_thin(steps, values), label=run))
            best.append((float(values.min()), run))
    if not marks:
        raise InputError(f"histories: none of {len(histories)} has values of {column!r}.")
    best.sort()
    return Figure(
        title=name[0].upper() + name[1:],
        marks=tuple(marks),
        x=_STEPS,
        y=Axis(name, logarithmic=None),
        note=f"{len(histories) - len(marks)} without {name} left out." if len(marks) < len(histories) else "",
        alt_text=f"Lowest {name}: " + ", ".join(f"{format_number(value)} in {run}" for value, run in best[:5]) + ".",
    )


def _needed(history: Any, column: str) -> tuple[Array, Array]:
    steps, values = _curve(read_columns(history, ("step",), "history"), column)
    if not len(values):
        raise InputError(f"history: {_NAMES[column]} was not recorded; the column {column!r} is missing or empty.")
    return steps, values


def _curve(frame: pl.DataFrame, column: str) -> tuple[Array, Array]:
    """Return the steps at which a column has a value, and the values; none if there is no such column."""
    if column not in frame.columns:
        return np.empty(0), np.empty(0)
    steps, values = floats_of(frame["step"]), floats_of(frame[column])
    known = np.isfinite(values) & np.isfinite(steps)
    return steps[known], values[known]


def _thin(steps: Array, values: Array) -> tuple[Array, Array]:
    return min_max(steps, values, _BUCKETS)


def _ends(values: Array) -> str:
    return f"{format_number(float(values[0]))} to {format_number(float(values[-1]))}"
