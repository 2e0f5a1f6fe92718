"""Rows that are put before and after the series of a panel.

In memory all rows are copied. Those on disk are not: the new arrays are joined from them and from what is added.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from neuro_divergent.core.arrays import Array, Floats32, Ints
from neuro_divergent.data.cleaning.calendar import calendar_features
from neuro_divergent.data.joined_array import JoinedArray, interleave

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel

_ZERO = np.zeros(1, np.float32)
_YES = np.ones(1, np.bool_)
_NO = np.zeros(1, np.bool_)
_Group = tuple[Array | JoinedArray, Ints, Ints, bool]


def lengthen(panel: Panel, length: int | Ints) -> Panel:
    """Do the work of ``Panel.lengthened``."""
    added = np.maximum(length - panel.lengths, 0)
    starts = panel.frequency.time_at(panel.starts, -added)
    if panel.is_memory_mapped:
        return dataclasses.replace(panel, starts=starts, **_pad_rows(panel, added))
    series, steps = count_out(panel.lengths + added)
    old = steps - added[series]
    longer = panel.gathered(panel.offsets[:-1][series] + np.maximum(old, 0), panel.lengths + added, starts)
    longer.y[old < 0] = 0
    mask = (longer.mask if longer.mask is not None else True) & (old >= 0)
    if longer.future_x is not None and (names := panel.schema.calendar):
        calendar_features(longer.times(), names, longer.future_x[:, -len(names) :])
    return dataclasses.replace(longer, mask=mask)


def extend(panel: Panel, steps: int, future_x: Floats32 | None) -> Panel:
    """Do the work of ``Panel.extended``."""
    if panel.is_memory_mapped:
        return dataclasses.replace(panel, **_continue_rows(panel, steps, future_x))
    series, places = count_out(panel.lengths + steps)
    ahead = places - panel.lengths[series]
    rows = panel.offsets[:-1][series] + np.minimum(places, panel.lengths[series] - 1)
    longer = panel.gathered(rows, panel.lengths + steps, panel.starts)
    longer.y[ahead >= 0] = 0
    if longer.future_x is not None and future_x is not None:
        longer.future_x[ahead >= 0] = future_x.reshape(-1, longer.future_x.shape[1])
    mask = (longer.mask if longer.mask is not None else True) & (ahead < 0)
    return dataclasses.replace(longer, mask=mask)


def count_out(lengths: Ints) -> tuple[Ints, Ints]:
    """Return for each row of series with these lengths which series it belongs to and its place in it."""
    series = np.repeat(np.arange(len(lengths)), lengths)
    return series, np.arange(len(series)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _pad_rows(panel: Panel, added: Ints) -> dict[str, Any]:
    """Return offsets and arrays with that many masked rows before each series, which repeat its first covariates."""
    begins, count = panel.offsets[:-1], panel.num_series
    nowhere = np.zeros(count, np.int64)
    before: dict[str, _Group] = {"y": (_ZERO, nowhere, added, True), "mask": (_NO, nowhere, added, True)}
    if panel.future_x is not None and (names := panel.schema.calendar):
        future = panel.future_x[np.repeat(begins, added)]
        series = np.repeat(np.arange(count), added)
        steps = np.arange(len(series)) - np.repeat(np.cumsum(added) - added, added)
        starts = panel.frequency.time_at(panel.starts, -added)
        if len(future):
            calendar_features(panel.frequency.time_at(starts.gather(series), steps), names, future[:, -len(names) :])
        before["future_x"] = (future, np.cumsum(added) - added, added, False)
    return _joined(panel, before, {}, added)


def _continue_rows(panel: Panel, steps: int, future_x: Floats32 | None) -> dict[str, Any]:
    """Return offsets and arrays with some masked rows after each series, which repeat its last covariates."""
    count = panel.num_series
    nowhere, added = np.zeros(count, np.int64), np.full(count, steps)
    after: dict[str, _Group] = {"y": (_ZERO, nowhere, added, True), "mask": (_NO, nowhere, added, True)}
    if panel.future_x is not None and future_x is not None:
        known = np.ascontiguousarray(future_x.reshape(-1, panel.future_x.shape[1]), np.float32)
        after["future_x"] = (known, np.arange(count) * steps, added, False)
    return _joined(panel, {}, after, added)


def _joined(panel: Panel, before: dict[str, _Group], after: dict[str, _Group], added: Ints) -> dict[str, Any]:
    begins, ends, lengths = panel.offsets[:-1], panel.offsets[1:], panel.lengths
    pairs = np.arange(2 * panel.num_series).reshape(2, -1).T.reshape(-1)  # of each series what is first, then the rest
    fields: dict[str, Any] = {"offsets": np.concatenate([[0], np.cumsum(lengths + added)])}
    for name in ("y", "mask", "weight", "past_x", "future_x"):
        array = getattr(panel, name)
        if array is not None:
            own: _Group = (array, begins, lengths, False)
        elif name == "mask":
            own = (_YES, np.zeros(len(begins), np.int64), lengths, True)
        else:
            continue
        if after:
            groups = [own, after.get(name, (array, ends - 1, added, True))]
        else:
            groups = [before.get(name, (array, begins, added, True)), own]
        fields[name] = interleave(groups, pairs)
    return fields
