"""Panels as sources: some of their series at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.announce import announce
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.panel import Panel
from neuro_divergent.serving.scoring.block import Block, Cutter

_ROWS = 2**20  # rows that are read together, and rows of forecasts of a part, about


@dataclass(frozen=True, eq=False)
class PanelPart:
    """Series of a panel that follow each other.

    Attributes:
        panel: The panel.
        cutter: What is kept of each series.
        name: Of the file of forecasts.
        fingerprint: Changes when the panel does.
        first: First series.
        end: Series after the last one.
    """

    panel: Panel
    cutter: Cutter
    name: str
    fingerprint: str
    first: int
    end: int

    def blocks(self) -> Iterator[Block]:
        """Yield the series, some at a time; only the ends of series are read where forecasts need no more."""
        cutter = self.cutter
        history = cutter.history if cutter.as_of is None else None
        needed = self.panel.lengths[self.first : self.end]
        if history is not None:
            needed = np.minimum(needed, history)
        borders = self._borders(needed)
        for first, end in zip(borders, [*borders[1:], self.end], strict=True):
            self.panel.check_files()
            part = self.panel.part(first, end)
            if history is not None:
                announce(part.y, part.offsets[1:] - history, history)
                part = part.tail(history)
            table = self._table(part)
            if table.frame.height:
                yield Block(None, lambda table=table: table)  # type: ignore[misc]

    def _borders(self, rows: Ints) -> list[int]:
        """Return the first series of each block of about so many rows."""
        block = np.cumsum(rows) // _ROWS
        return (self.first + np.flatnonzero(np.diff(block, prepend=-1))).tolist()

    def _table(self, part: Panel) -> Table:
        cutter, own = self.cutter, part.schema
        frame = part.to_frame()
        names = {own.time: cutter.schema.time, own.target: cutter.schema.target}
        if own.id is not None and cutter.id is not None:
            names[own.id] = cutter.id
        frame = frame.rename({old: new for old, new in names.items() if old != new})
        if cutter.as_of is not None:
            times = frame[cutter.schema.time]
            frame = frame.filter(times <= cutter.limit(times))
        return Table(frame, self.panel.source, "polars", tuple(frame.columns))


def columns_of_panel(panel: Panel) -> tuple[str, ...]:
    """Return the columns of the table that a panel was made of, as far as it has them."""
    schema = panel.schema
    return (*([schema.id] if schema.id else []), schema.time, schema.target, *schema.covariates)


def plan_panel(panel: Panel, cutter: Cutter, steps: int, *, single: bool) -> list[PanelPart]:
    """Divide a panel into parts with about a million rows of forecasts each; ``single`` for one part."""
    identity = _identity(panel)
    size = panel.num_series if single else max(_ROWS // steps, 1)
    firsts = range(0, panel.num_series, size)
    parts = []
    for place, first in enumerate(firsts):
        end = min(first + size, panel.num_series)
        name = "part" if len(firsts) == 1 else f"part-{place:05d}"
        mark = hashlib.sha256(f"{identity} {first} {end}".encode()).hexdigest()
        parts.append(PanelPart(panel, cutter, name, mark, first, end))
    return parts


def _identity(panel: Panel) -> str:
    """Return a digest of what a panel holds: that of its manifest if it is stored, else of all of its values."""
    digest = hashlib.sha256(f"{len(panel)} {panel.num_series}".encode())
    if panel.files is not None and panel.is_as_stored:
        for entries in panel.files.manifests:
            for name, entry in sorted(entries.items()):
                digest.update(f"{name} {entry.digest}\n".encode())
        return digest.hexdigest()
    for values in (panel.ids, panel.starts):
        digest.update(pl.DataFrame([values]).hash_rows().to_numpy().tobytes())
    for name in ("y", "mask", "past_x", "future_x", "static_x"):
        array = getattr(panel, name)
        for first in range(0, 0 if array is None else len(array), _ROWS):
            digest.update(np.ascontiguousarray(array[first : first + _ROWS]).tobytes())
    return digest.hexdigest()
