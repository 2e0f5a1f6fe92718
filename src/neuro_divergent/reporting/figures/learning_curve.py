"""Figures of learning curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.columns import floats_of, read_columns
from neuro_divergent.reporting.figures.figure import Axis, Band, Figure, Line, Mark, Rule, Tone

_PARTS: tuple[tuple[str, Tone], ...] = (("train", "train"), ("validation", "validation"))


def learning_curve_figure(curve: Any) -> Figure:
    """Show the training and validation error over growing training sizes.

    The verdict, where there is one, becomes the note.

    Args:
        curve: What ``learning_curve`` returns, or its table: ``size``, ``train_mean``, ``train_low``, ``train_high``
            and the same of ``validation``.
    """
    columns = [f"{part}_{end}" for part, _ in _PARTS for end in ("mean", "low", "high")]
    frame = read_columns(getattr(curve, "table", curve), ("size", *columns), "learning curve").sort("size")
    sizes = floats_of(frame["size"])
    bands: list[Mark] = []
    lines: list[Mark] = []
    sentences = []
    for part, tone in _PARTS:
        mean, low, high = (floats_of(frame[f"{part}_{end}"]) for end in ("mean", "low", "high"))
        known = np.isfinite(mean) & np.isfinite(sizes)
        if not known.any():
            continue
        bands.append(Band(sizes, low, high, tone=tone))
        label = {"train": "training", "validation": "validation"}[part]
        lines.append(Line(sizes, mean, label=label, tone=tone))
        first, last = np.flatnonzero(known)[[0, -1]]
        sentences.append(
            f"The {label} error goes from {format_number(float(mean[first]))} at {sizes[first]:,.0f} to "
            f"{format_number(float(mean[last]))} at {sizes[last]:,.0f}."
        )
    if not lines:
        raise InputError("learning curve: there is no size with an error.")
    naive = getattr(curve, "naive", None)
    if isinstance(naive, float) and np.isfinite(naive):
        lines.append(Rule(y=naive, label="seasonal naive"))
    verdict, reason = getattr(curve, "verdict", ""), getattr(curve, "reason", "")
    return Figure(
        title="Learning curve",
        marks=(*bands, *lines),
        x=Axis("rows to train on", logarithmic=None),
        y=Axis("error" if naive is None else "mean absolute scaled error", from_zero=True),
        note=f"Verdict: {verdict}. {reason}".strip() if verdict else "",
        alt_text=" ".join(sentences),
    )
