"""What separates the columns of text, found in its first lines."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_MARKS = (",", ";", "\t", "|")
LARGEST_FIELD = 1 << 20
"""Bytes of one value; longer ones are forgotten quotation marks or attacks."""


def possible_separators(text: str, usual: str) -> list[str]:
    """Return the marks by which all lines have as many fields as the first; where there is none, the likeliest."""
    equal, header, below = [], {}, {}
    for mark in sorted(_MARKS, key=lambda mark: mark != usual):
        try:
            with large_fields():
                counts = [len(row) for row in csv.reader(io.StringIO(text, ""), delimiter=mark) if row]
        except csv.Error:
            continue
        if not counts:
            continue
        header[mark], below[mark] = counts[0], Counter(counts).most_common(1)[0][0]
        if counts[0] > 1 and all(count == counts[0] for count in counts):
            equal.append(mark)
    if equal:
        return equal
    for found in (header, below):  # The first line may be a title.
        if split := [mark for mark, count in found.items() if count > 1]:
            return [usual] if usual in split else [max(split, key=lambda mark: found[mark])]
    return []


@contextmanager
def large_fields() -> Iterator[None]:
    """Let the csv module take fields up to the largest size that is allowed; its own limit is lower."""
    before = csv.field_size_limit(LARGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def flag_of(mark: str) -> str:
    """Return a separator as it is written on a command line."""
    return "tab" if mark == "\t" else f'"{mark}"'
