"""Figures that compare models."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_number
from neuro_divergent.evaluation.comparison.comparison import Comparison
from neuro_divergent.reporting.figures.columns import floats_of, read_columns, segments
from neuro_divergent.reporting.figures.figure import Axis, Bars, Figure, Mark, Rule, Tone

_TESTS = {"diebold_mariano": "Diebold and Mariano's test", "nemenyi": "Nemenyi's test"}


def comparison_figure(comparison: Comparison) -> Figure:
    """Show the score of each model, the best first, with how much it differs between folds or cut-offs.

    Whiskers are one standard deviation of the scores over the folds, or over the cut-offs where there are no folds, to
    either side. Colours mark the models that differ significantly from the reference.
    """
    frame = read_columns(comparison.table, ("model", "score", "std", "p_value", "significant"), "comparison")
    frame = frame.drop_nulls("score")
    if not frame.height:
        raise InputError("comparison: no model has a score.")
    names, scores, spread = frame["model"].to_list(), floats_of(frame["score"]), floats_of(frame["std"])
    own = scores[names.index(comparison.reference)] if comparison.reference in names else np.nan
    kinds: list[tuple[Tone, str]] = [
        _kind(name == comparison.reference, bool(significant), score < own, comparison.reference)
        for name, significant, score in zip(names, frame["significant"], scores, strict=True)
    ]
    notes = [
        format_number(float(score)) + ("" if p_value is None else f", p = {format_number(p_value)}")
        for score, p_value in zip(scores, frame["p_value"], strict=True)
    ]
    marks: list[Mark] = []
    for begin, end in segments(kinds):
        tone, label = kinds[begin]
        label = "" if kinds[begin] in kinds[:begin] else label  # a legend tells once
        part = slice(begin, end)
        ends: dict[str, Array] = {}
        if np.isfinite(spread[part]).any():
            ends = {"low": np.maximum(scores - spread, 0)[part], "high": (scores + spread)[part]}
        marks.append(Bars(names[part], scores[part], label=label, tone=tone, notes=notes[part], **ends))
    if np.isfinite(own):
        marks.append(Rule(x=float(own)))
    test = f" P values are of {_TESTS[comparison.test]}." if comparison.test in _TESTS else ""
    better = [name for name, (tone, _) in zip(names, kinds, strict=True) if tone == "good"]
    return Figure(
        title="Comparison of models",
        marks=tuple(marks),
        x=Axis(comparison.metric, from_zero=True),
        note="Whiskers: one standard deviation over folds or cut-offs. "
        f"{format_count(comparison.series, 'series', 'series')}, {format_count(comparison.cutoffs, 'cut-off')}.{test}",
        alt_text=f"{names[0]} is best with {format_number(float(scores[0]))}, {names[-1]} worst with "
        f"{format_number(float(scores[-1]))}. Significantly better than {comparison.reference}: "
        f"{', '.join(better) or 'none'}.",
    )


def _kind(is_reference: bool, is_significant: bool, is_better: bool, reference: Any) -> tuple[Tone, str]:
    if is_reference:
        return "forecast", "reference"
    if not is_significant:
        return "neutral", f"not told apart from {reference}"
    return ("good", f"better than {reference}") if is_better else ("bad", f"worse than {reference}")
