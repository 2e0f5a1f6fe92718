"""Figures of the scores of a model and of the baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.columns import segments
from neuro_divergent.reporting.figures.figure import Axis, Bars, Figure

_NAMES = {
    "mae": "mean absolute error",
    "mse": "mean squared error",
    "rmse": "root mean squared error",
    "mape": "mean absolute percentage error, %",
    "smape": "symmetric mean absolute percentage error, %",
    "wape": "weighted absolute percentage error, %",
    "mase": "mean absolute scaled error",
}


def scores_figure(scores: Mapping[str, Any], metric: str = "mae") -> Figure:
    """Show an error of the model and of the baselines, the best first.

    Args:
        scores: What ``Evaluation.to_dict`` returns, or ``scores.json`` of a run: ``model`` and ``scores``, each of
            which has a ``name`` and the metric.
        metric: Which one; lower must be better.
    """
    if metric not in _NAMES:
        raise InputError(f"metric: {metric!r} must be one of {', '.join(_NAMES)}.")
    model = scores.get("model")
    rows = sorted(
        (float(row[metric]), str(row["name"]))
        for row in scores.get("scores") or ()
        if isinstance(row.get(metric), (int, float)) and math.isfinite(row[metric])
    )
    if not rows:
        raise InputError(f"scores: there is no {metric} of any forecast.")
    names, lengths = [name for _, name in rows], np.array([value for value, _ in rows])
    marks = tuple(
        Bars(
            names[begin:end],
            lengths[begin:end],
            tone="forecast" if names[begin] == model else "neutral",
            notes=[format_number(value) for value in lengths[begin:end].tolist()],
        )
        for begin, end in segments([name == model for name in names])
    )
    place = names.index(str(model)) + 1 if model in names else None
    rank = f"{model} is number {place} of {len(names)}. " if place else ""
    return Figure(
        title="Scores compared with the baselines",
        marks=marks,
        x=Axis(_NAMES[metric], from_zero=True),
        note=f"On the {scores['part']} part." if scores.get("part") else "",
        alt_text=rank + ", ".join(f"{name} {format_number(value)}" for value, name in rows) + ".",
    )
