"""Folds as characters."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.fold_layout import FoldLayout, SeriesLayout, look_at, show_ends
from neuro_divergent.evaluation.splitters.segment_table import ROLES, segments_of

Line = list[tuple[str, str]]
"""Pieces of text, each with the role that it shows or an empty text."""

_MEANINGS = {"train": "train", "gap": "gap and purge", "test": "test", "embargo": "embargo"}
_UNICODE = {"": " ", "train": "━", "gap": "┈", "test": "█", "embargo": "▒"}
_ASCII = {"": " ", "train": "=", "gap": ".", "test": "#", "embargo": "x"}
_LEAST = 40


def draw_folds(folds: Iterable[Fold], panel: Panel, *, width: int = 80, plain: bool = False) -> list[Line]:
    """Draw each fold as a line over time, or as several where its series differ.

    Args:
        folds: What a splitter gives.
        panel: The series.
        width: Characters from left to right; at least 40.
        plain: Use characters that every terminal can show.
    """
    letters = _ASCII if plain else _UNICODE
    segments = segments_of(folds)
    label = len(f"fold {segments['fold'][-1]}  ")
    # Counts of series are written only where there is something to count.
    suffix = len(f"  {panel.num_series:,} series") if panel.num_series > 1 else 0
    columns = max(width, _LEAST) - label - suffix
    lines: list[Line] = []
    for fold in look_at(segments, panel, columns):
        for place, look in enumerate(fold.looks):
            head = f"{f'fold {fold.number}' if not place else '':{label}}"
            lines.append([(head, ""), *_strip(look, letters), (_count(look, fold), "")])
        if fold.remark:
            lines.append([(f"{'':{label}}{fold.remark}", "")])
    first, last = show_ends(panel)
    lines.append([(f"{'':{label}}{first}{last:>{max(columns - len(first), len(last) + 1)}}", "")])
    return [*lines, [(" " * label, ""), *_legend(segments, letters)]]


def meanings_of(segments: pl.DataFrame) -> dict[str, str]:
    """Return what the roles that occur are called."""
    found = {ROLES[place] for place in segments["role"].unique()}
    return {role: meaning for role, meaning in _MEANINGS.items() if role in found}


def _strip(look: SeriesLayout, letters: dict[str, str]) -> Line:
    return [(letters[role] * size, role) for role, size in look.runs]


def _count(look: SeriesLayout, fold: FoldLayout) -> str:
    return "" if fold.is_plain else f"  {look.count:,} series"


def _legend(segments: pl.DataFrame, letters: dict[str, str]) -> Line:
    legend: Line = []
    for role, meaning in meanings_of(segments).items():
        legend += [("   " if legend else "", ""), (letters[role] * 2, role), (f" {meaning}", "")]
    return legend
