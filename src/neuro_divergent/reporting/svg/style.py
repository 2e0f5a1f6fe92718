"""Which colour, dashes and shape of dots a mark is drawn with, by their names and numbers in ``figures.css``.

What a mark stands for decides about its colour, and dashes or the shape of dots tell marks apart where colours do not:
in print, and for eyes that see few colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from neuro_divergent.reporting.figures.figure import Band, Heatmap, Line, Mark, Points, Rule

COLOURS = 8
"""How many colours there are for marks that stand for nothing in particular."""
DASHES = 5
"""How many kinds of lines: solid, dashed, dotted, in turns, and long dashes."""
SHAPES = 4
"""How many shapes of dots: round, square, and both hollow."""
_SOLID, _DASHED, _LONG = 0, 1, 4
_USUAL = {"backtest": _DASHED, "validation": _LONG}
_LEVELS = (95.0, 90.0, 75.0, 45.0)


@dataclass(frozen=True)
class MarkStyle:
    """How a mark looks.

    Attributes:
        tone: What it stands for, or ``"1"`` to ``"8"`` for the colours in turn.
        dash: Number of the kind of line; 0 is solid.
        shape: Number of the shape of dots; 0 is round.
        strength: Of an area: 1 for the palest to 5.
    """

    tone: str
    dash: int = _SOLID
    shape: int = 0
    strength: int = 5


def mark_styles(marks: Iterable[Mark]) -> list[MarkStyle]:
    """Return a style for each mark; no two lines, and no two kinds of dots, look the same while there are enough."""
    styles: list[MarkStyle] = []
    taken: set[tuple[str, str, int]] = set()
    turn = 0
    for mark in marks:
        if isinstance(mark, Heatmap | Rule):
            styles.append(MarkStyle("neutral"))
            continue
        tone = str(mark.tone)
        if tone == "other":
            tone, turn = str(turn % COLOURS + 1), turn + 1
        style = MarkStyle(tone)
        if isinstance(mark, Line):
            dash = _dashed(taken) if mark.dashed else _USUAL.get(tone, _turn(tone, DASHES))
            style = MarkStyle(tone, dash=_free(taken, "line", tone, dash, DASHES))
        elif isinstance(mark, Points):
            style = MarkStyle(tone, shape=_free(taken, "dots", tone, _turn(tone, SHAPES), SHAPES))
        elif isinstance(mark, Band):
            style = MarkStyle(tone, strength=1 + sum(mark.level < level for level in _LEVELS))
        styles.append(style)
    return styles


def _turn(tone: str, kinds: int) -> int:
    """Return the kind of line or dots that goes with a colour."""
    return (int(tone) - 1) % kinds if tone.isdigit() else 0


def _dashed(taken: set[tuple[str, str, int]]) -> int:
    """Return a kind of dashes that no line has, in whatever colour, while there is one."""
    used = {kind for what, _, kind in taken if what == "line"}
    return next((kind for kind in range(_DASHED, DASHES) if kind not in used), _DASHED)


def _free(taken: set[tuple[str, str, int]], what: str, tone: str, wanted: int, kinds: int) -> int:
    """Return a kind that has not been used with this colour, the wanted one first, and take it."""
    others = ((wanted + number) % kinds for number in range(kinds))
    kind = next((kind for kind in others if (what, tone, kind) not in taken), wanted)
    taken.add((what, tone, kind))
    return kind
