"""The rows of a figure whose vertical axis has names instead of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Bars, Heatmap, Mark, Spans, Values
from neuro_divergent.reporting.svg.labels import write_values

_Key = tuple[str, int]


class Rows:
    """Named rows from top to bottom.

    Marks share rows of the same name. Bars of one mark that have the same name are different things, though, and get a
    row each; spans with the same name lie in the same row.
    """

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._numbers: dict[_Key, int] = {}
        for mark in marks:
            for key in _keys(mark):
                self._numbers.setdefault(key, len(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def names(self) -> list[str]:
        """What the rows are called."""
        return [name for name, _ in self._numbers]

    def numbers(self, mark: Mark) -> Ints:
        """Return the row of each thing in a mark, counted from 0."""
        return np.array([self._numbers[key] for key in _keys(mark)], dtype=np.int64)


def has_names(mark: Bars) -> bool:
    """Whether bars stand for named things."""
    is_counted = np.asarray(mark.places).dtype.kind not in "UTO"
    return not (is_counted or any(hasattr(place, "isoformat") for place in mark.places))


def rows_of(marks: Iterable[Mark]) -> Rows | None:
    """Return the rows of a figure, or ``None`` if its vertical axis counts."""
    marks = tuple(marks)
    bars = [mark for mark in marks if isinstance(mark, Bars) and len(mark.places)]
    named = [mark for mark in bars if has_names(mark)]
    if named and len(named) < len(bars):
        raise InputError("a figure has bars with names and bars with numbers; draw them in two figures.")
    others = [mark for mark in marks if isinstance(mark, Spans | Heatmap)]
    return Rows([mark for mark in marks if mark in (*named, *others)]) if named or others else None


def _keys(mark: Mark) -> list[_Key]:
    if isinstance(mark, Spans):
        return [(str(name), 0) for name in mark.rows]
    names: Values = mark.places if isinstance(mark, Bars) else mark.y if isinstance(mark, Heatmap) else ()
    seen: Counter[str] = Counter()
    keys = []
    for text in write_values(names):
        keys.append((text, seen[text]))
        seen[text] += 1
    return keys
