"""The first part of a stored panel and those appended to it, as one panel.

Nothing per row is copied: the arrays of the panel are joined arrays, in which the rows of a series are in the order of
the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Bools, Ints
from neuro_divergent.data.joined_array import JoinedArray, Pieces, as_joined, interleave
from neuro_divergent.data.panel_store.files import BY_ROW


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a stored panel.

    Attributes:
        fields: Fields of a panel with the rows of the part.
        series: Which series of the panel with this part and all before it those of the part are; ``None`` for the first
            part, whose series are all there are.
        is_new: Whether a series is in no part before.
    """

    fields: dict[str, Any]
    series: Ints | None = None
    is_new: Bools | None = None


def join_parts(parts: list[Part]) -> dict[str, Any]:
    """Return the fields of the panel that parts are together.

    Raises:
        ValueError: If they do not fit together.
    """
    places = _places(parts)
    count = 1 + max(int(place.max()) for place in places)
    lengths = [_lengths(part) for part in parts]
    total = np.zeros(count, np.int64)
    for place, rows in zip(places, lengths, strict=True):
        total[place] += rows
    order = np.argsort(np.concatenate(places), kind="stable")  # of one series, older parts come first
    firsts = [part.fields["offsets"][:-1] for part in parts]
    fields = dict(parts[0].fields)
    layout: Pieces | None = None  # the same for all arrays that every part has
    for name in BY_ROW:
        arrays = [part.fields[name] for part in parts]
        if all(array is None for array in arrays):
            continue
        is_everywhere = all(array is not None for array in arrays)
        if not is_everywhere and name != "mask":
            raise ValueError(f"{name} is missing in a part")
        if is_everywhere and layout is not None:
            fields[name] = JoinedArray(arrays, layout)
            continue
        groups = [
            (np.ones(1, np.bool_), np.zeros(len(rows), np.int64), rows, True)
            if array is None
            else (array, first, rows, False)
            for array, first, rows in zip(arrays, firsts, lengths, strict=True)
        ]
        found = as_joined(interleave(groups, order))
        fields[name] = found
        if is_everywhere:
            layout = found.pieces
    chosen = np.empty(count, np.int64)  # where the name of each series is, counted over all parts
    base = 0
    for part, place in zip(parts, places, strict=True):
        new = np.arange(len(place)) if part.is_new is None else np.flatnonzero(part.is_new)
        chosen[place[new]] = base + new
        base += len(place)
    for name in ("ids", "starts"):
        columns = [part.fields[name] for part in parts]
        if len({column.dtype for column in columns}) > 1:  # categories of a table, which text was added to
            columns = [column.cast(pl.String) for column in columns]
        fields[name] = pl.concat(columns).gather(chosen.astype(np.uint32))
    if fields["static_x"] is not None:
        fields["static_x"] = np.concatenate([part.fields["static_x"] for part in parts])[chosen]
    newest = parts[-1].fields
    fields["offsets"] = np.concatenate([[0], np.cumsum(total)])
    return fields | {name: newest[name] for name in ("past", "future", "static", "categories", "schema")}


def _places(parts: list[Part]) -> list[Array]:
    """Return which series of the whole panel those of each part are."""
    places: list[Array] = []
    count = len(parts[0].fields["ids"])
    places.append(np.arange(count))
    for part in parts[1:]:
        series, is_new = part.series, part.is_new
        if series is None or is_new is None or len(series) != len(part.fields["ids"]) or len(is_new) != len(series):
            raise ValueError("the series of a part are not named")
        added = series[is_new]
        taken = np.zeros(count + len(added), np.bool_)
        taken[added] = True
        if (np.diff(series) <= 0).any() or int(taken.sum()) != len(added):
            raise ValueError("the series of a part are not in order")
        if len(added):
            moved = np.flatnonzero(~taken)  # where the series before this part are now
            places = [moved[found] for found in places]
        places.append(series)
        count += len(added)
    return places


def _lengths(part: Part) -> Ints:
    lengths: Ints = np.diff(part.fields["offsets"])
    return lengths
