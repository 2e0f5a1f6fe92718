"""Folds drawn with characters."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.fold_layout import fold_layouts, show_ends
from neuro_divergent.evaluation.splitters.segment_table import ROLES, segments_of

Line = list[tuple[str, str]]
"""Pieces of text, each with the role that it shows or an empty string."""

_MEANINGS = {"train": "train", "gap": "gap and purge", "test": "test", "embargo": "embargo"}
_UNICODE = {"": " ", "train": "━", "gap": "┈", "test": "█", "embargo": "▒"}
_ASCII = {"": " ", "train": "=", "gap": ".", "test": "#", "embargo": "x"}
_LEAST = 40


def draw_folds(folds: Iterable[Fold], panel: Panel, *, width: int = 80, plain: bool = False) -> list[Line]:
    """Draw each fold as a line over time, or as several where its series differ; see ``Splitter.draw``."""
    letters = _ASCII if plain else _UNICODE
    segments = segments_of(folds)
    label = len(f"fold {segments['fold'][-1]}  ")
    # Numbers of series are shown only where there are several.
    suffix = len(f"  {panel.num_series:,} series") if panel.num_series > 1 else 0
    columns = max(width, _LEAST) - label - suffix
    lines: list[Line] = []
    for fold in fold_layouts(segments, panel, columns):
        for place, layout in enumerate(fold.layouts):
            head = f"{f'fold {fold.number}' if not place else '':{label}}"
            strip = [(letters[role] * size, role) for role, size in layout.runs]
            lines.append([(head, ""), *strip, ("" if fold.is_uniform else f"  {layout.count:,} series", "")])
        if fold.remark:
            lines.append([(f"{'':{label}}{fold.remark}", "")])
    first, last = show_ends(panel)
    lines.append([(f"{'':{label}}{first}{last:>{max(columns - len(first), len(last) + 1)}}", "")])
    return [*lines, [(" " * label, ""), *_legend(segments, letters)]]


def meanings_of(segments: pl.DataFrame) -> dict[str, str]:
    """Return the labels of the roles that occur."""
    found = {ROLES[place] for place in segments["role"].unique()}
    return {role: meaning for role, meaning in _MEANINGS.items() if role in found}


def _legend(segments: pl.DataFrame, letters: dict[str, str]) -> Line:
    legend: Line = []
    for role, meaning in meanings_of(segments).items():
        legend += [("   " if legend else "", ""), (letters[role] * 2, role), (f" {meaning}", "")]
    return legend
