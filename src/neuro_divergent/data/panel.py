"""All series of a table, laid end to end in contiguous arrays.

Nothing is padded and nothing is copied per series: series ``i`` is rows ``offsets[i]:offsets[i + 1]`` of each array.
Rows of a series are one step of ``frequency`` apart, so a time is computed from the first one and never stored.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from neuro_divergent.core.arrays import Array, Bools, Floats32, Ints
from neuro_divergent.core.errors import DataError, UntrustedFileError
from neuro_divergent.core.spec import Feature
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import new_directory, read_directory, read_json
from neuro_divergent.data.cleaning.calendar import calendar_features, show, show_time
from neuro_divergent.data.cleaning.categories import decode_categories
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.io.parquet_header import read_header
from neuro_divergent.data.io.table import IN_MEMORY, describe
from neuro_divergent.data.schema import Schema

FORMAT = 1
_BY_ROW = ("y", "mask", "weight", "past_x", "future_x")
_ARRAYS = ("offsets", *_BY_ROW, "static_x")
_AT_ONCE = ("panel.json", "index.parquet", "offsets.npy")  # read even if the values stay on disk
_DAMAGES = (
    KeyError, TypeError, ValueError, EOFError, OSError, MemoryError,
    pl.exceptions.PolarsError, pl.exceptions.PanicException,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Panel:
    """Series ready to be cut into windows.

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
        past: Names and cardinalities of the columns of ``past_x``; likewise ``future`` and ``static``.
        categories: For each categorical column, its values in code order: the code of ``categories[c][k]`` is ``k + 1``
            because 0 is the slot for unknown values.
        source: The file that the series come from, for messages.
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
        begins, ends = self.offsets[:-1], self.offsets[1:]
        if self.mask is None:
            return begins
        rows = np.flatnonzero(self.mask)
        places = np.searchsorted(rows, begins)
        first: Ints = np.minimum(np.append(rows, len(self))[places], ends)
        return first

    def series(self, index: int) -> Floats32:
        """Return the target of one series, without copying it."""
        return self.y[self.offsets[index] : self.offsets[index + 1]]

    @property
    def is_memory_mapped(self) -> bool:
        """Whether the values are read from disk when they are needed."""
        return isinstance(self.y, np.memmap)

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
        series, steps = _count_out(self.lengths)
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

        They are copied where there are more, and where they are on disk.
        """
        kept = np.minimum(self.lengths, length)
        cut = self.lengths - kept
        if not (cut.any() or self.is_memory_mapped):
            return self
        series, steps = _count_out(kept)
        return self._gather((self.offsets[:-1] + cut)[series] + steps, kept, self.frequency.time_at(self.starts, cut))

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
        """Return some of the series, copied, in the order of their indices."""
        chosen = np.asarray(indices, np.int64)
        starts = self.starts.gather(chosen.astype(np.uint32))
        return self._segments(chosen, self.offsets[chosen], self.lengths[chosen], starts)

    def pieces(self, series: npt.ArrayLike, begins: npt.ArrayLike, ends: npt.ArrayLike) -> Panel:
        """Return segments of series as series of their own, copied, with their covariates; names may repeat.

        ``begins`` and ``ends`` (the row after the last one; no segment is empty) are counted over all rows of the
        panel.
        """
        chosen, first, last = (np.asarray(values, np.int64) for values in (series, begins, ends))
        starts = self.frequency.time_at(self.starts.gather(chosen.astype(np.uint32)), first - self.offsets[chosen])
        return self._segments(chosen, first, last - first, starts)

    def _segments(self, series: Ints, first: Ints, lengths: Ints, starts: pl.Series) -> Panel:
        segment, steps = _count_out(lengths)
        panel = self._gather(first[segment] + steps, lengths, starts)
        static_x = None if self.static_x is None else self.static_x[series]
        return dataclasses.replace(panel, ids=self.ids.gather(series.astype(np.uint32)), static_x=static_x)

    def lengthened(self, length: int | Ints) -> Panel:
        """Return a copy whose shorter series begin earlier, with masked rows that repeat the first covariates.

        ``length`` is the least number of rows, of all series or of each.
        """
        added = np.maximum(length - self.lengths, 0)
        series, steps = _count_out(self.lengths + added)
        old = steps - added[series]
        starts = self.frequency.time_at(self.starts, -added)
        panel = self._gather(self.offsets[:-1][series] + np.maximum(old, 0), self.lengths + added, starts)
        panel.y[old < 0] = 0
        mask = (panel.mask if panel.mask is not None else True) & (old >= 0)
        if panel.future_x is not None and (names := self.schema.calendar):
            calendar_features(panel.times(), names, panel.future_x[:, -len(names) :])
        return dataclasses.replace(panel, mask=mask)

    def extended(self, steps: int, future_x: Floats32 | None = None) -> Panel:
        """Return a copy that goes on for some steps, with masked targets.

        ``future_x`` has the covariates known ahead, ``(num_series, steps, features)``; unset, they repeat their last
        row, as those known only in the past do.
        """
        series, places = _count_out(self.lengths + steps)
        ahead = places - self.lengths[series]
        rows = self.offsets[:-1][series] + np.minimum(places, self.lengths[series] - 1)
        panel = self._gather(rows, self.lengths + steps, self.starts)
        panel.y[ahead >= 0] = 0
        if panel.future_x is not None and future_x is not None:
            panel.future_x[ahead >= 0] = future_x.reshape(-1, panel.future_x.shape[1])
        mask = (panel.mask if panel.mask is not None else True) & (ahead < 0)
        return dataclasses.replace(panel, mask=mask)

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
        for name in (*_BY_ROW, "static_x"):
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

    def _gather(self, rows: Ints, lengths: Ints, starts: pl.Series) -> Panel:
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        arrays = {name: array[rows] for name in _BY_ROW if (array := getattr(self, name)) is not None}
        return dataclasses.replace(self, starts=starts, offsets=offsets, **arrays)

    def to_frame(self) -> pl.DataFrame:
        """Return the series as a long table again: id, time, target, past, future and static covariates.

        Missing values and categories unknown in training are null. Numbers are 32-bit floats.
        """
        series, _ = _count_out(self.lengths)
        schema, y = self.schema, pl.Series(self.y)
        columns = [] if schema.id is None else [self.ids.gather(series).alias(schema.id)]
        columns.append(self.times().alias(schema.time))
        columns.append((y if self.mask is None else y.set(pl.Series(~self.mask), None)).alias(schema.target))
        if schema.weight is not None and self.weight is not None:
            columns.append(pl.Series(schema.weight, self.weight))
        statics = None if self.static_x is None else self.static_x[series]
        for values, features in ((self.past_x, self.past), (self.future_x, self.future), (statics, self.static)):
            for position, feature in enumerate(features):
                if values is not None and feature.name in schema.covariates:
                    columns.append(self._decode(feature, values[:, position]))
        return pl.DataFrame(columns)

    def _decode(self, feature: Feature, values: Floats32) -> pl.Series:
        if feature.cardinality is None:
            return pl.Series(feature.name, values)
        return decode_categories(values, self.categories[feature.name]).alias(feature.name)

    def save(self, directory: str | Path) -> None:
        """Write the panel to a directory of arrays that ``open`` can map into memory; complete or not at all."""
        with new_directory(Path(directory)) as work:
            for name in _ARRAYS:
                if (array := getattr(self, name)) is not None:
                    np.save(work / f"{name}.npy", array, allow_pickle=False)
            self._save_rest(work)

    def _save_rest(self, work: Path) -> None:
        pl.DataFrame([self.ids.alias("id"), self.starts.alias("start")]).write_parquet(work / "index.parquet")
        rest = {
            "format": FORMAT,
            "schema": self.schema.to_dict(),
            "names": [self.ids.name, self.starts.name],
            "frequency": str(self.frequency),
            "features": {
                role: [[feature.name, feature.cardinality] for feature in getattr(self, role)]
                for role in ("past", "future", "static")
            },
            "categories": self.categories,
        }
        (work / "panel.json").write_bytes(strict_json.dumps(rest, indent=2))

    @classmethod
    def open(cls, directory: str | Path, *, mmap: bool = True) -> Self:
        """Read a panel that ``save`` or ``from_parquet`` wrote.

        With ``mmap`` the values stay on disk until they are needed, and changes to them stay in memory. Of their files
        only the sizes are checked then; files read at once are verified by SHA-256.

        Raises:
            DataError: If there is no such directory.
            UntrustedFileError: If a file is damaged or of a newer version.
        """
        path = Path(directory)
        if not (path / "panel.json").is_file():
            raise DataError(f"{directory}: not found, or not a saved panel")
        rest = read_json(path / "panel.json")
        if not isinstance(rest, dict) or not isinstance(rest.get("format"), int):
            raise UntrustedFileError(f"{directory}: not a saved panel")
        if rest["format"] > FORMAT:
            raise UntrustedFileError(f"{directory}: format {rest['format']}, this version reads ≤{FORMAT}")
        files = read_directory(path, _AT_ONCE if mmap else None)
        try:
            panel = cls(**_read_parts(path, files))
            if not panel.is_consistent():
                raise ValueError("sizes do not agree")
        except _DAMAGES as error:
            raise UntrustedFileError(f"{directory}: damaged panel ({error})") from None
        return panel

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
        sizes = all(array is None or array.shape == shapes[name] for name in _ARRAYS for array in [getattr(self, name)])
        ascending = bool((self.lengths > 0).all()) and self.offsets[0] == 0 and self.offsets[-1] == rows
        return sizes and ascending and len(self.starts) == series

    @classmethod
    def from_parquet(cls, source: str | Path, directory: str | Path, **schema: Any) -> Self:
        """Turn Parquet files that may be larger than the memory into a panel on disk, and return it mapped into memory.

        About a million rows are read at a time, so memory holds those or the longest series, whichever is more. Row
        numbers in messages count from the row that the message names first.

        Args:
            source: A Parquet file or a pattern of several, whose rows are sorted by series.
            directory: Where to write the panel.
            schema: Fields of ``Schema``. A frequency that is not given is taken from the first million rows.

        Raises:
            DataError: If the table cannot be used, or if a series comes back after another one.
        """
        from neuro_divergent.data.load import read_in_parts  # it makes panels, and so imports this module

        parts = read_in_parts(str(source), Schema(**schema))
        with new_directory(Path(directory)) as work, ExitStack() as stack:
            files: dict[str, _ArrayFile] = {}
            index: list[Panel] = []
            hidden = False
            for part in parts:
                hidden = hidden or part.mask is not None
                observed = np.ones(len(part), np.bool_) if part.mask is None else part.mask
                for name in _BY_ROW:
                    array = observed if name == "mask" else getattr(part, name)
                    if array is not None:
                        if name not in files:
                            files[name] = stack.enter_context(_ArrayFile(work / f"{name}.npy", array))
                        files[name].append(array)
                nothing = dict.fromkeys(_BY_ROW[1:])
                index.append(dataclasses.replace(part, y=part.y[:0].copy(), **nothing))  # type: ignore[arg-type]
            stack.close()
            if not hidden:
                (work / "mask.npy").unlink()
            whole = cls.concatenate(index)
            np.save(work / "offsets.npy", whole.offsets, allow_pickle=False)
            if whole.static_x is not None:
                np.save(work / "static_x.npy", whole.static_x, allow_pickle=False)
            whole._save_rest(work)
        return cls.open(directory)


class _ArrayFile:
    """An array on disk that grows by rows."""

    def __init__(self, path: Path, like: Array) -> None:
        self.file, self.rows, self.like = path.open("wb"), 0, like[:0]
        self._write_header()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.file.seek(0)
        self._write_header()  # As long as the first one: numpy leaves room for a growing number of rows.
        self.file.close()

    def append(self, array: Array) -> None:
        self.rows += len(array)
        self.file.write(np.ascontiguousarray(array).data)

    def _write_header(self) -> None:
        descr = np.lib.format.dtype_to_descr(self.like.dtype)
        shape = (self.rows, *self.like.shape[1:])
        np.lib.format.write_array_header_1_0(self.file, {"descr": descr, "fortran_order": False, "shape": shape})


def _count_out(lengths: Ints) -> tuple[Ints, Ints]:
    """Return for each row of series with these lengths which series it belongs to and its place in it."""
    series = np.repeat(np.arange(len(lengths)), lengths)
    return series, np.arange(len(series)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _read_parts(path: Path, files: dict[str, bytes]) -> dict[str, Any]:
    """Return the fields of a panel from its files; arrays that were not read are memory-mapped."""
    rest = strict_json.loads(files["panel.json"], str(path / "panel.json"))
    arrays = {
        name: np.load(io.BytesIO(files[file]), allow_pickle=False)
        if (file := f"{name}.npy") in files
        else np.load(path / file, mmap_mode="c", allow_pickle=False)
        for name in _ARRAYS
        if (path / f"{name}.npy").exists()
    }
    read_header(str(path / "index.parquet"))
    index = pl.read_parquet(io.BytesIO(files["index.parquet"]))
    features = {role: tuple(Feature(*item) for item in rest["features"][role]) for role in ("past", "future", "static")}
    return {
        **arrays,
        **features,
        "offsets": np.array(arrays["offsets"]),
        "schema": Schema.from_dict(rest["schema"]),
        "ids": index["id"].alias(rest["names"][0]),
        "starts": index["start"].alias(rest["names"][1]),
        "frequency": Frequency.parse(rest["frequency"]),
        "categories": {name: list(values) for name, values in rest["categories"].items()},
    }
