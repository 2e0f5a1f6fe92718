"""CSV files and others that are read whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.source import read_table
from neuro_divergent.serving.scoring.block import Block, Cutter


@dataclass(frozen=True)
class CsvPart:
    """The series of a CSV file, or of all files of a pattern that have series in common.

    Attributes:
        path: File or pattern.
        cutter: What is kept of each series.
        name: Of the file of forecasts.
        fingerprint: Changes when the files do.
        text_ids: Whether ids are text, because those of another file are.
    """

    path: str
    cutter: Cutter
    name: str
    fingerprint: str
    text_ids: bool

    def blocks(self) -> Iterator[Block]:
        """Yield the series as one block, if any was known as yet."""
        cutter = self.cutter
        table = read_table(self.path, cutter.schema)
        frame = table.frame
        if cutter.id is not None and self.text_ids:
            frame = frame.with_columns(pl.col(cutter.id).cast(pl.String))
        if cutter.as_of is not None:
            times = check_times(frame[cutter.schema.time], table.error, cutter.schema.date_format)
            inside = times <= cutter.limit(times)
            frame = frame.filter(inside)
            if not isinstance(table.rows, int):
                table = dataclasses.replace(table, rows=table.rows[inside.to_numpy()])
        if frame.height:
            found = table.with_frame(frame)
            yield Block(None, lambda: found)
