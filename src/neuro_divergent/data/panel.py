"""All series of a table, laid end to end in contiguous arrays.

Nothing is padded and nothing is copied per series: series ``i`` is rows ``offsets[i]:offsets[i + 1]`` of each array.
Rows of a series are one step of ``frequency`` apart, so a time is computed from the first one and never stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

import numpy as np
import numpy.typing as npt
import polars as pl

from neuro_divergent.core.arrays import Bools, Floats32, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.calendar import show, show_time
from neuro_divergent.data.cleaning.categories import decode_categories
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.io.table import IN_MEMORY, describe
from neuro_divergent.data.joined_array import JoinedArray, as_joined, is_mapped
from neuro_divergent.data.panel_padding import count_out, extend, lengthen
from neuro_divergent.data.panel_store.files import ARRAYS, BY_ROW, PanelFiles
from neuro_divergent.data.schema import Schema

if TYPE_CHECKING:
    from neuro_divergent.data.conversion.progress import Report

BLOCK_ROWS = 2**22
"""Rows that are processed together where a panel may be larger than the memory."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Series ready to be cut into windows.

    Arrays are in memory, or on disk: then they are read-only maps, or joined arrays over such maps where parts were
    appended, series were taken or rows were added.

    Attributes:
        schema: The roles the columns had in the table.
        ids: One value per series, in the type the table had; sorted.
        starts: First time of each series, in the type the table had.
        frequency: Step between two rows.
        offsets: Where each series begins, and the end: ``num_series + 1`` integers.
        y: Target, one value per row; 0 where not observed.
        mask: Whether ``y`` was observed, or ``None`` when all of it was.
        weight: How much each row counts as a target in the loss, or ``None`` when all count the same.
        past_x: Covariates known only in the past, ``(rows, features)``.
        future_x: Covariates known ahead, ``(rows, features)``; calendar features come last.
        static_x: Covariates per series, ``(num_series, features)``.
        past: Names and cardinalities of the columns of ``past_x``.
        future: The same of ``future_x``.
        static: The same of ``static_x``.
        categories: For each categorical column, its values in code order: the code of ``categories[c][k]`` is ``k + 1``
            because 0 is the slot for unknown values.
        source: The file that the series come from, for messages.
        files: The files that values are read from, where they are on disk.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.datasets.Synthetic(num_series=3, length=40).frame().write_parquet("sales.parquet")
        >>> panel = nd.Panel.build("sales.parquet", "panel")
        >>> panel.num_series, len(panel), panel.is_memory_mapped
        (3, 120, True)
        >>> panel.tail(7).lengths.tolist()
        [7, 7, 7]
        >>> str(panel.times_ahead(1)[0])
        '2020-02-10 00:00:00'
    """

    schema: Schema
    ids: pl.Series
    starts: pl.Series
    frequency: Frequency
    offsets: Ints
    y: Floats32
    mask: Bools | None = None
    weight: Floats32 | None = None
    past_x: Floats32 | None = None
    future_x: Floats32 | None = None
    static_x: Floats32 | None = None
    past: tuple[Feature, ...] = ()
    future: tuple[Feature, ...] = ()
    static: tuple[Feature, ...] = ()
    categories: dict[str, list[Any]] = dataclasses.field(default_factory=dict)
    source: str = IN_MEMORY
    files: PanelFiles | None = dataclasses.field(default=None, repr=False)

    def __repr__(self) -> str:
        from neuro_divergent.data.panel_display import describe_panel

        return f"{type(self).__name__}({describe_panel(self)})"

    def _repr_html_(self) -> str:
        from neuro_divergent.data.panel_display import panel_html

        return panel_html(self)

    def __len__(self) -> int:
        """Number of rows of all series together."""
        return len(self.y)

    @property
    def num_series(self) -> int:
        """Number of series."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Number of rows of each series."""
        lengths: Ints = self.offsets[1:] - self.offsets[:-1]  # np.diff takes five times as long for few series.
        return lengths

    @cached_property
    def first_observed(self) -> Ints:
        """First row of each series whose target was observed; the row after its last one where none was."""
        begins, first = self.offsets[:-1], self.offsets[1:].copy()
        if self.mask is None:
            return begins
        if isinstance(self.mask, JoinedArray) and self.mask.is_constant:
            return self._first_observed_piece(self.mask)
        for block in self.blocks():
            rows = np.append(np.flatnonzero(self.mask[block]) + block.start, len(self))
            low = int(np.searchsorted(self.offsets, block.start, side="right")) - 1
            high = int(np.searchsorted(begins, block.stop, side="left"))
            found = rows[np.searchsorted(rows, np.maximum(begins[low:high], block.start))]
            first[low:high] = np.minimum(first[low:high], found)
        return first

    def _first_observed_piece(self, mask: JoinedArray) -> Ints:
        """Return the first observed rows where every piece of the mask has one value, which is looked at once."""
        piece, _, counts, series = mask.pieces.split(self.offsets[:-1], self.lengths)
        is_observed = np.asarray(mask[mask.pieces.bounds[:-1]])[piece]
        rows = np.where(is_observed, np.cumsum(counts) - counts, len(self))
        heads = np.searchsorted(series, np.arange(self.num_series))
        first: Ints = np.minimum(np.minimum.reduceat(rows, heads), self.offsets[1:])
        return first

    def series(self, index: int) -> Floats32:
        """Return the target of one series, without copying it."""
        return self.y[self.offsets[index] : self.offsets[index + 1]]

    @property
    def is_memory_mapped(self) -> bool:
        """Whether the values are read from disk when they are needed."""
        return is_mapped(self.y)

    @property
    def directory(self) -> Path | None:
        """Where the values are on disk, also of some of the series of a stored panel; ``None`` for one in memory."""
        return self.files.directory if self.files is not None and self.is_memory_mapped else None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that have values for each row."""
        return sum(int(array.nbytes) for name in BY_ROW if (array := getattr(self, name)) is not None)

    @property
    def is_as_stored(self) -> bool:
        """Whether the panel has all values of the files it was opened from, and no others."""
        files = self.files
        return files is not None and all(getattr(self, name) is files.fields.get(name) for name in _CONTENT)

    def check_files(self) -> None:
        """Compare the files of a panel on disk with what they were when it was opened; this takes microseconds.

        Raises:
            StorageError: If a file was cut off or written to, or cannot be reached any more.
        """
        if self.files is not None:
            self.files.check()

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[slice]:
        """Yield consecutive slices over all rows, whatever series they are of; the last one may be shorter."""
        for begin in range(0, len(self), rows):
            yield slice(begin, min(begin + rows, len(self)))

    def series_blocks(self, rows: int = BLOCK_ROWS) -> Iterator[tuple[int, int]]:
        """Yield ranges of series with at most that many rows together, and at least one series: first and end."""
        first = 0
        while first < self.num_series:
            end = int(np.searchsorted(self.offsets, self.offsets[first] + rows, side="right")) - 1
            end = max(end, first + 1)
            yield first, end
            first = end

    def part(self, first: int, end: int) -> Panel:
        """Return consecutive series as a panel, without copying what there is for each row."""
        begin, stop = int(self.offsets[first]), int(self.offsets[end])
        arrays: dict[str, Any] = {
            name: array.segments(np.array([begin]), np.array([stop - begin]))
            if isinstance(array, JoinedArray)
            else array[begin:stop]
            for name in BY_ROW
            if (array := getattr(self, name)) is not None
        }
        if self.static_x is not None:
            arrays["static_x"] = self.static_x[first:end]
        offsets = self.offsets[first : end + 1] - begin
        ids, starts = self.ids.slice(first, end - first), self.starts.slice(first, end - first)
        return dataclasses.replace(self, ids=ids, starts=starts, offsets=offsets, **arrays)

    @property
    def aligned(self) -> bool:
        """Whether all series cover the same times."""
        return bool((self.lengths == self.lengths[0]).all()) and self.starts.n_unique() == 1

    def require_aligned(self) -> None:
        """Refuse series that do not cover the same times, which models that mix series need.

        Raises:
            DataError: If a series starts or ends at another time than the first one.
        """
        if self.aligned:
            return
        other = int(np.flatnonzero((self.lengths != self.lengths[0]) | (self.starts != self.starts[0]).to_numpy())[0])
        ends = self.frequency.time_at(self.starts, self.lengths - 1)
        spans = [f"{show(self.ids[i])} from {show_time(self.starts, i)} to {show_time(ends, i)}" for i in (0, other)]
        message = f"series must cover the same times to be forecast together: {spans[0]}, but {spans[1]}. "
        cure = "Cut or fill them, or choose a model that takes one series at a time"
        raise DataError(describe(self.source, message + cure))

    def times(self) -> pl.Series:
        """Return the time of every row."""
        series, steps = count_out(self.lengths)
        return self.frequency.time_at(self.starts.gather(series), steps)

    def times_ahead(self, steps: int) -> pl.Series:
        """Return the times of the next steps after each series, all of the first one, then of the second, ..."""
        return self.frequency.times_after(self.starts, steps, skipped=self.lengths - 1)

    def values_from(self, rows: Ints, length: int) -> tuple[Floats32, Bools]:
        """Return the target of ``length`` rows from each row on, and whether it was observed."""
        places = rows[:, None] + np.arange(length)
        return self.y[places], np.ones(places.shape, np.bool_) if self.mask is None else self.mask[places]

    def tail(self, length: int) -> Panel:
        """Return the last rows of each series; shorter series keep all they have.

        They are copied where there are more, and where they are on disk; there, at most as many rows as a block has.
        """
        kept = np.minimum(self.lengths, length)
        cut = self.lengths - kept
        stays = self.is_memory_mapped and int(kept.sum()) > BLOCK_ROWS
        if not cut.any() and (stays or not self.is_memory_mapped):
            return self
        starts = self.frequency.time_at(self.starts, cut)
        return self._cut_out(self.offsets[:-1] + cut, kept, starts, copy=not stays)

    def without_weights(self) -> Panel:
        """Return the same series without the weights of their rows, which only training needs."""
        if self.schema.weight is None and self.weight is None:
            return self
        return dataclasses.replace(self, weight=None, schema=self.schema.replace(weight=None))

    def without_covariates(self, *roles: str) -> Panel:
        """Return the same series without their covariates of some roles: ``past``, ``future``, ``static``."""
        nothing: dict[str, Any] = {role: () for role in roles if getattr(self, role)}
        if not nothing:
            return self
        names: dict[str, tuple[str, ...]] = dict.fromkeys(nothing, ())
        if "future" in nothing:
            names["calendar"] = ()
        gone = {feature.name for role in nothing for feature in getattr(self, role)}
        names["categorical"] = tuple(name for name in self.schema.categorical if name not in gone)
        arrays: dict[str, Any] = {f"{role}_x": None for role in nothing}
        categories = {name: values for name, values in self.categories.items() if name not in gone}
        schema = self.schema.replace(**names)
        return dataclasses.replace(self, schema=schema, categories=categories, **nothing, **arrays)

    def take(self, indices: npt.ArrayLike) -> Panel:
        """Return some of the series, in the order of their indices; copied, unless they are on disk."""
        chosen = np.asarray(indices, np.int64)
        starts = self.starts.gather(chosen.astype(np.uint32))
        return self._segments(chosen, self.offsets[chosen], self.lengths[chosen], starts)

    def pieces(self, series: npt.ArrayLike, begins: npt.ArrayLike, ends: npt.ArrayLike) -> Panel:
        """Return segments of series as series of their own, with their covariates; names may repeat.

        They are copied, unless they are on disk. ``begins`` and ``ends`` (the row after the last one; no segment is
        empty) are counted over all rows of the panel.
        """
        chosen, first, last = (np.asarray(values, np.int64) for values in (series, begins, ends))
        starts = self.frequency.time_at(self.starts.gather(chosen.astype(np.uint32)), first - self.offsets[chosen])
        return self._segments(chosen, first, last - first, starts)

    def _segments(self, series: Ints, first: Ints, lengths: Ints, starts: pl.Series) -> Panel:
        panel = self._cut_out(first, lengths, starts, copy=not self.is_memory_mapped)
        static_x = None if self.static_x is None else self.static_x[series]
        return dataclasses.replace(panel, ids=self.ids.gather(series.astype(np.uint32)), static_x=static_x)

    def lengthened(self, length: int | Ints) -> Panel:
        """Return a panel whose shorter series begin earlier, with masked rows that repeat the first covariates.

        ``length`` is the least number of rows, of all series or of each. Rows are copied, unless they are on disk.
        """
        return lengthen(self, length)

    def extended(self, steps: int, future_x: Floats32 | None = None) -> Panel:
        """Return a panel that goes on for some steps, with masked targets; rows are copied, unless they are on disk.

        ``future_x`` has the covariates known ahead, ``(num_series, steps, features)``; unset, they repeat their last
        row, as those known only in the past do.
        """
        return extend(self, steps, future_x)

    def trimmed(self) -> Panel:
        """Return the series without what ``lengthened`` added: the rows before the first observed one of each."""
        begins = np.minimum(self.first_observed, self.offsets[1:] - 1)
        cut = begins - self.offsets[:-1]
        if not cut.any():
            return self
        return self._segments(
            np.arange(self.num_series), begins, self.lengths - cut, self.frequency.time_at(self.starts, cut)
        )

    @staticmethod
    def concatenate(panels: Sequence[Panel]) -> Panel:
        """Return the series of several panels that agree on everything else, one panel after another."""
        lengths = np.concatenate([panel.lengths for panel in panels])
        arrays: dict[str, Any] = {}
        for name in (*BY_ROW, "static_x"):
            found = [getattr(panel, name) for panel in panels]
            if name == "mask" and any(array is not None for array in found):
                found = [np.ones(len(panel.y), np.bool_) if panel.mask is None else panel.mask for panel in panels]
            arrays[name] = None if found[0] is None else np.concatenate(found)
        return dataclasses.replace(
            panels[0],
            ids=pl.concat([panel.ids for panel in panels]),
            starts=pl.concat([panel.starts for panel in panels]),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            **arrays,
        )

    def _cut_out(self, first: Ints, lengths: Ints, starts: pl.Series, *, copy: bool) -> Panel:
        """Return segments of rows as series of the same names."""
        if copy:
            segment, steps = count_out(lengths)
            return self.gathered(first[segment] + steps, lengths, starts)
        arrays: dict[str, Any] = {
            name: as_joined(array).segments(first, lengths)
            for name in BY_ROW
            if (array := getattr(self, name)) is not None
        }
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return dataclasses.replace(self, starts=starts, offsets=offsets, **arrays)

    def gathered(self, rows: Ints, lengths: Ints, starts: pl.Series) -> Panel:
        """Return series of some lengths made of copies of these rows, with the names of the present ones."""
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        arrays = {name: array[rows] for name in BY_ROW if (array := getattr(self, name)) is not None}
        return dataclasses.replace(self, starts=starts, offsets=offsets, **arrays)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle a stored panel as its path and what was changed of it, so that no values are copied."""
        if self.files is None or not self.is_memory_mapped:
            return super().__reduce_ex__(protocol)
        from neuro_divergent.data.panel_store.pickling import reduce_panel

        return reduce_panel(self)

    def to_frame(self) -> pl.DataFrame:
        """Return the series as a long table again: id, time, target, past, future and static covariates.

        Missing values and categories unknown in training are null. Numbers are 32-bit floats.
        """
        series, _ = count_out(self.lengths)
        schema, y = self.schema, pl.Series(np.asarray(self.y))
        columns = [] if schema.id is None else [self.ids.gather(series).alias(schema.id)]
        columns.append(self.times().alias(schema.time))
        columns.append(
            (y if self.mask is None else y.set(pl.Series(~np.asarray(self.mask)), None)).alias(schema.target)
        )
        if schema.weight is not None and self.weight is not None:
            columns.append(pl.Series(schema.weight, np.asarray(self.weight)))
        statics = None if self.static_x is None else self.static_x[series]
        for values, features in ((self.past_x, self.past), (self.future_x, self.future), (statics, self.static)):
            for position, feature in enumerate(features):
                if values is not None and feature.name in schema.covariates:
                    columns.append(self._decode(feature, np.asarray(values[:, position])))
        return pl.DataFrame(columns)

    def _decode(self, feature: Feature, values: Floats32) -> pl.Series:
        if feature.cardinality is None:
            return pl.Series(feature.name, values)
        return decode_categories(values, self.categories[feature.name]).alias(feature.name)

    def save(self, directory: str | Path) -> None:
        """Write the panel to a directory of arrays that ``open`` can map into memory; complete or not at all."""
        from neuro_divergent.data.panel_store.writing import write_panel

        write_panel(self, Path(directory))

    @classmethod
    def open(cls, directory: str | Path, *, mmap: bool = True) -> Self:
        """Open a panel that ``save`` or ``from_parquet`` wrote, with all parts that were appended to it.

        With ``mmap`` the values stay on disk until they are needed and cannot be changed. Of their files only the sizes
        are checked then; files read at once are verified by SHA-256.

        Raises:
            DataError: If there is no such directory.
            UntrustedFileError: If a file is damaged or of a newer version.
            StorageError: If the disk refuses, or if there is not enough memory.
        """
        from neuro_divergent.data.panel_store.reading import read_panel

        return cls(**read_panel(Path(directory), mmap=mmap))

    @classmethod
    def append(cls, directory: str | Path, data: Any, *, skip_known: bool = False, **policies: Any) -> Self:
        """Add rows to a stored panel without writing again what is there, and return it; see ``append_rows``.

        Args:
            directory: The panel.
            data: Later rows of known series and rows of new ones, as a table that ``fit`` accepts.
            skip_known: Leave out rows up to the last known time of their series instead of refusing them.
            policies: ``missing``, ``gaps``, ``encoding`` and ``date_format`` instead of those of the panel.

        Raises:
            DataError: If the rows do not continue the panel; nothing is changed then.
        """
        from neuro_divergent.data.panel_store.appending import append_rows

        append_rows(directory, data, skip_known=skip_known, **policies)
        return cls.open(directory)

    def is_consistent(self) -> bool:
        """Whether the arrays of a panel that was read have consistent sizes."""
        rows, series = len(self.y), len(self.ids)
        shapes = {
            "offsets": (series + 1,),
            "y": (rows,),
            "mask": (rows,),
            "weight": (rows,),
            "past_x": (rows, len(self.past)),
            "future_x": (rows, len(self.future)),
            "static_x": (series, len(self.static)),
        }
        sizes = all(array is None or array.shape == shapes[name] for name in ARRAYS for array in [getattr(self, name)])
        ascending = bool((self.lengths > 0).all()) and self.offsets[0] == 0 and self.offsets[-1] == rows
        return sizes and ascending and len(self.starts) == series

    @classmethod
    def build(
        cls,
        source: str | Path,
        directory: str | Path,
        *,
        memory: int | None = None,
        progress: Report | None = None,
        **schema: Any,
    ) -> Self:
        """Turn files that may be larger than the memory into a panel on disk, and return it mapped into memory.

        Rows may come in any order; those sorted by series are converted about four times as fast. A conversion that was
        killed goes on where it was when it is called again.

        Args:
            source: A Parquet or CSV file, or a pattern of several.
            directory: Where to write the panel; one that is there is replaced.
            memory: Bytes to plan with; 512 MiB, or less where less is available, unless given. A single series takes
                what it needs.
            progress: Called some times a second with how far it is.
            schema: Fields of ``Schema``.

        Raises:
            DataError: If the table cannot be used.
            StorageError: If the disk refuses.
        """
        from neuro_divergent.data.conversion.conversion import convert  # it makes panels, and so imports this module

        convert(str(source), Path(directory), Schema(**schema), memory=memory, progress=progress)
        return cls.open(directory)

    @classmethod
    def from_parquet(cls, source: str | Path, directory: str | Path, **schema: Any) -> Self:
        """Do what ``build`` does; the name of earlier versions."""
        return cls.build(source, directory, **schema)


_CONTENT = ("schema", "ids", "starts", "frequency", *ARRAYS, "past", "future", "static", "categories")
