"""Reads a table of any size and order, and hands over its panel in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.frequency_evidence import FrequencyEvidence
from neuro_divergent.data.conversion.assembly import Assembly, OtherFrequencyError, UnsortedError
from neuro_divergent.data.conversion.buckets import Buckets
from neuro_divergent.data.conversion.growing_panel import GrowingPanel
from neuro_divergent.data.conversion.progress import Reporter
from neuro_divergent.data.conversion.rows import Rows
from neuro_divergent.data.conversion.series_index import SeriesIndex, count_series
from neuro_divergent.data.conversion.series_parts import series_parts
from neuro_divergent.data.conversion.sizes import plan_rows
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.layout import lay_out
from neuro_divergent.data.panel import Panel


class Converter:
    """Reads a table and hands over its panel in parts.

    Args:
        rows: The table.
        memory: Bytes to plan with.
        reporter: Hears of the progress.
        directory: Where rows may be written that are not sorted by series; without one they raise ``UnsortedError``.
    """

    def __init__(self, rows: Rows, memory: int, reporter: Reporter, directory: Path | None = None) -> None:
        self.rows, self._reporter, self._directory = rows, reporter, directory
        self.batch, self.bucket_rows = plan_rows(memory, rows.row_bytes)
        self.categories = rows.learn_categories()
        self.assembly = Assembly(rows, self.categories, self._evidence)
        self.buckets: Buckets | None = None
        self.position = 0  # rows, or buckets, that are done

    def parts(self) -> Iterator[Panel]:
        """Yield the parts that are not done; ``position`` then counts the part as done.

        Raises:
            DataError: If the rows cannot be used; the message has the row.
            UnsortedError: If rows are not sorted by series, which was not known before.
            OtherFrequencyError: If the parts before have to be made again.
        """
        if self.buckets is None:
            for table, end in series_parts(self.rows, self.batch, self.position):
                self._reporter.update("writing", self.position, len(self.rows))
                part = self._make_sorted(table)
                self.position = end
                yield part
        else:
            for bucket in range(self.position, len(self.buckets)):
                self._reporter.update("writing", self._rows_before(bucket), len(self.rows))
                part = self._make_of_bucket(self.buckets, bucket)
                self.position = bucket + 1
                yield part
        self._reporter.update("writing", len(self.rows), len(self.rows))

    def restart(self) -> None:
        """Begin with the first part again."""
        self.position = 0
        self.assembly.restart()

    def partition(self) -> None:
        """Distribute the rows over buckets, because they are not sorted by series."""
        if self._directory is None or self.rows.id is None:
            raise UnsortedError
        path = self._directory / "series.parquet"
        total = len(self.rows)
        if path.exists():
            index = SeriesIndex.open(path, self.rows.id)
        else:
            index = count_series(self.rows, self.batch, lambda done: self._reporter.update("counting", done, total))
            index.save(path.with_suffix(".partial"))
            path.with_suffix(".partial").rename(path)
        self.buckets = Buckets(self.rows, index, self.categories, self._directory / "runs", self.bucket_rows)
        self.buckets.write(lambda done: self._reporter.update("partitioning", done, total))

    def _rows_before(self, bucket: int) -> int:
        assert self.buckets is not None
        return int(self.buckets.index.counts[: self.buckets.borders[bucket]].sum())

    def _make_sorted(self, table: Table) -> Panel:
        try:
            return self.assembly.make(table)
        except DataError:
            if self._is_sorted_from(table):
                raise
            # Half of a series looks as if rows were missing.
            raise UnsortedError from None

    def _is_sorted_from(self, table: Table) -> bool:
        """Whether all series from a table on come in ascending order and in one piece."""
        name, last = self.rows.id, self.assembly.last
        if name is None:
            return True
        assert isinstance(table.rows, int)
        for part, _ in series_parts(self.rows, self.batch, table.rows, [name]):
            names = part.frame[name]
            if names.null_count():
                return True  # which is an error of its own
            if last is not None and names.min() <= last:
                return False
            last = names.max()
        return True

    def _make_of_bucket(self, buckets: Buckets, bucket: int) -> Panel:
        try:
            return self.assembly.make(buckets.table(bucket))
        except DataError:
            self.assembly.make(buckets.table_with_rows(bucket))  # says the same with the rows of the table
            raise

    def _evidence(self) -> FrequencyEvidence:
        """Read all names and times."""
        evidence = FrequencyEvidence()
        names = [self.rows.schema.time, *([self.rows.id] if self.rows.id else [])]
        last: Any = None
        for done, table in self._tables(names):
            layout = lay_out(table, self.rows.schema, is_resolved=True)
            if last is not None and layout.ids[0] <= last:
                raise UnsortedError
            last = layout.ids[-1]
            evidence.update(layout.times, layout.offsets)
            self._reporter.update("checking times", done, len(self.rows))
        return evidence

    def _tables(self, names: Sequence[str]) -> Iterator[tuple[int, Table]]:
        if self.buckets is None:
            for table, end in series_parts(self.rows, self.batch, 0, names):
                yield end, table
        else:
            for bucket in range(len(self.buckets)):
                yield self._rows_before(bucket + 1), self.buckets.table(bucket, names)


def convert_in_memory(rows: Rows, memory: int) -> Panel:
    """Return the panel of a table whose rows are sorted by series, with hardly more memory than it needs itself.

    Raises:
        UnsortedError: If they are not sorted.
        DataError: If the table cannot be used.
    """
    converter = Converter(rows, memory, Reporter(None))
    while True:
        sink = GrowingPanel(len(rows))
        try:
            for part in converter.parts():
                sink.append(part)
        except OtherFrequencyError:
            converter.restart()
            continue
        panel = sink.finish()
        converter.assembly.warn()
        return panel
