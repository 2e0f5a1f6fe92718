"""Which series are sums of which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Floats, Ints
from neuro_divergent.core.errors import DataError, check_choice
from neuro_divergent.data.io.source import read_table, to_native
from neuro_divergent.data.io.table import Table, describe

Gaps = Literal["error", "zero"]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Which series are sums of which: a tree, several trees over the same leaves, or any other weighted sums.

    Series are named by text; integers become text. The matrix is dense, which is fine for thousands of nodes.

    Attributes:
        nodes: All series, in the order of the rows of ``summing``.
        bottom: The series that are no sums, in the order of its columns.
        summing: The matrix ``S``, ``(nodes, bottom)``: a node is that sum of bottom series.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> shops = pl.DataFrame({"unique_id": ["a", "b", "c"], "state": ["ohio", "ohio", "iowa"]})
        >>> hierarchy = nd.Hierarchy.from_columns(shops, ["state"])
        >>> hierarchy.nodes
        ('total', 'ohio', 'iowa', 'a', 'b', 'c')
        >>> hierarchy.summing[:3].tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        >>> sales = pl.DataFrame({"unique_id": ["a", "b", "c"], "ds": [1, 1, 1], "y": [5.0, 3.0, 2.0]})
        >>> hierarchy.aggregate_table(sales)["y"].to_list()
        [10.0, 8.0, 2.0, 5.0, 3.0, 2.0]
    """

    nodes: tuple[str, ...]
    bottom: tuple[str, ...]
    summing: Floats

    def __post_init__(self) -> None:
        """Check that every bottom series is itself a node, and that every node has parts.

        Raises:
            DataError: If the matrix does not fit the names, or a name, a row or a weight cannot be used.
        """
        if self.summing.shape != (len(self.nodes), len(self.bottom)):
            raise DataError(
                f"the summing matrix is {' x '.join(map(str, self.summing.shape))}; {len(self.nodes)} nodes and "
                f"{len(self.bottom)} bottom series were named."
            )
        for names, kind in ((self.nodes, "node"), (self.bottom, "bottom series")):
            if twice := _first_twice(names):
                raise DataError(f"{kind} {twice!r} is named twice.")
        if not self.bottom or not np.isfinite(self.summing).all():
            raise DataError("the summing matrix must have columns, and weights that are finite.")
        counts = np.count_nonzero(self.summing, axis=1)
        if not counts.all():
            raise DataError(f"node {self.nodes[int(counts.argmin())]!r} is the sum of nothing.")
        for column, name in enumerate(self.bottom):
            place = self._places.get(name)
            if place is None or self.summing[place, column] != 1 or counts[place] != 1:
                raise DataError(f"bottom series {name!r} must be a node that is the sum of itself alone.")

    @classmethod
    def from_entries(cls, nodes: Sequence[str], bottom: Sequence[str], weights: Sequence[float]) -> Hierarchy:
        """Build a hierarchy from the entries of its matrix that are not zero, row name, column name and weight each."""
        if twice := _first_twice(zip(nodes, bottom, strict=True)):
            raise DataError(f"bottom series {twice[1]!r} is listed twice as a part of node {twice[0]!r}.")
        all_nodes, all_bottom = tuple(dict.fromkeys(nodes)), tuple(dict.fromkeys(bottom))
        rows = {name: place for place, name in enumerate(all_nodes)}
        columns = {name: place for place, name in enumerate(all_bottom)}
        summing = np.zeros((len(rows), len(columns)))
        for node, part, weight in zip(nodes, bottom, weights, strict=True):
            summing[rows[node], columns[part]] = weight
        return cls(all_nodes, all_bottom, summing)

    @classmethod
    def from_frame(
        cls, data: Any, *, node: str = "unique_id", bottom: str = "bottom_id", weight: str | None = "w"
    ) -> Hierarchy:
        """Read a table of the entries that are not zero, one row for each node and bottom series below it.

        Args:
            data: Path of a CSV or Parquet file, or a polars, pandas or Arrow table.
            node: Column that names the node; a bottom series is a node too, the sum of itself.
            bottom: Column that names the bottom series.
            weight: Column of weights; ``None`` if all are 1.

        Raises:
            DataError: If a column is missing, holds nulls, or the rows are no hierarchy.
        """
        table = _read(data, [node, bottom, *([] if weight is None else [weight])])
        if weight is not None and not table.frame[weight].dtype.is_numeric():
            raise table.error(f"column {weight!r} must hold numbers.")
        weights = [1.0] * table.frame.height if weight is None else table.frame[weight].cast(pl.Float64).to_list()
        names = table.frame.select(pl.col(node, bottom).cast(pl.String))
        return cls.from_entries(names[node].to_list(), names[bottom].to_list(), weights)

    @classmethod
    def from_columns(
        cls,
        data: Any,
        levels: Iterable[str | Sequence[str]],
        *,
        id: str = "unique_id",  # noqa: A002 (as everywhere else)
        total: str | None = "total",
        separator: str = "/",
    ) -> Hierarchy:
        """Build the sums over columns that describe the bottom series.

        ``Hierarchy.from_columns(frame, ["state", ("state", "purpose")])`` has a node for the total, for each state, for
        each purpose of each state, such as ``"Ohio/business"``, and for each bottom series.

        Args:
            data: Table with one or more rows per bottom series: a list of them, or the long table itself.
            levels: Columns whose values make a node, for each level.
            id: Column that names the bottom series.
            total: Name of the sum of everything; ``None`` for no such node.
            separator: Put between the values of several columns.

        Raises:
            DataError: If a series has two values in a column, or two different sums would have the same name.
        """
        chosen = [(level,) if isinstance(level, str) else tuple(level) for level in levels]
        table = _read(data, list(dict.fromkeys([id, *(column for level in chosen for column in level)])))
        rows = table.frame.select(pl.all().cast(pl.String)).unique(maintain_order=True)
        if twice := _first_twice(rows[id].to_list()):
            found = rows.filter(pl.col(id) == twice)
            column = next(name for name in rows.columns if found[name].n_unique() > 1)
            raise table.error(f"series {twice!r} has several values in column {column!r}: {found[column].to_list()}.")
        bottom = rows[id].to_list()
        sums: dict[str, list[str]] = {} if total is None else {total: bottom}
        for level in [*chosen, (id,)]:
            names = rows.select(pl.concat_str(level, separator=separator)).to_series()
            for (name,), parts in rows[id].to_frame().group_by(names, maintain_order=True):
                members = parts[id].to_list()
                if sums.setdefault(str(name), members) != members:
                    raise table.error(
                        f"two different sums are called {name!r}. Make the values of different columns differ"
                        f"{', or pass another name as total=' if name == total else ''}."
                    )
        entries = [(node, part) for node, members in sums.items() for part in members]
        return cls.from_entries([node for node, _ in entries], [part for _, part in entries], [1.0] * len(entries))

    def to_frame(self) -> pl.DataFrame:
        """Return the entries that are not zero as the table that ``from_frame`` reads."""
        rows, columns = np.nonzero(self.summing)
        return pl.DataFrame(
            {
                "unique_id": [self.nodes[row] for row in rows],
                "bottom_id": [self.bottom[column] for column in columns],
                "w": self.summing[rows, columns],
            }
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.nodes)}

    @cached_property
    def bottom_rows(self) -> Ints:
        """Places of the bottom series among the nodes."""
        return np.array([self._places[name] for name in self.bottom], dtype=np.int64)

    @property
    def total_row(self) -> int | None:
        """Place of the node that is the sum of all bottom series, if there is one."""
        totals = np.flatnonzero((self.summing == 1).all(1))
        return int(totals[0]) if len(totals) else None

    def aggregate(self, bottom: Array) -> Floats:
        """Return values of all nodes ``(..., nodes, horizon)`` for values of the bottom ``(..., bottom, horizon)``."""
        total: Floats = self.summing @ bottom
        return total

    def aggregate_table(
        self,
        data: Any,
        *,
        target: str = "y",
        time: str = "ds",
        id: str = "unique_id",  # noqa: A002 (as everywhere else)
        gaps: Gaps = "error",
    ) -> Any:
        """Return the table of all nodes for a long table of the bottom series, in the same kind of frame.

        A sum with a missing part is missing. Columns other than these three are left out, because what a covariate of a
        sum is depends on the covariate.

        Args:
            data: Path, or polars, pandas or Arrow table with one row per bottom series and time.
            target: Column to add up.
            time: Column of times.
            id: Column that names the series.
            gaps: What is done about times that a bottom series has no row for, as before a shop was opened: refuse, or
                count them as ``"zero"`` in the sums. No node gets a row at a time that none of its parts has.

        Raises:
            DataError: If series are not those of the hierarchy, or do not have the same times once each.
        """
        check_choice("gaps", gaps, get_args(Gaps))
        table = _read(data, [id, time, target], nulls=target)
        if not table.frame[target].dtype.is_numeric():
            raise table.error(f"column {target!r} must hold numbers.")
        frame = table.frame.with_columns(pl.col(id).cast(pl.String), pl.col(target).cast(pl.Float64))
        check_names(frame[id].unique().to_list(), self.bottom, "bottom series", table.name)
        order = pl.DataFrame({id: self.bottom, "place of series": range(len(self.bottom))})
        frame = frame.join(order, on=id).sort("place of series", time)
        times = frame[time].unique().sort()
        counts = frame.group_by(id, maintain_order=True).agg(pl.len(), pl.col(time).n_unique().alias("times"))
        expected = pl.lit(len(times)) if gaps == "error" else pl.col("times")
        wrong = counts.filter((pl.col("len") != expected) | (pl.col("times") != expected))
        if wrong.height:
            name, rows, different = wrong.row(0)
            raise table.error(
                f"series {name!r} has {rows} rows at {different} times, the table has {len(times)} times: a sum needs "
                'every part at every time once. Fill or cut the series first, or pass gaps="zero" to count rows that '
                "are missing as 0."
            )
        values = np.zeros((len(self.bottom), len(times)))
        place = frame["place of series"].to_numpy(), times.search_sorted(frame[time]).to_numpy()
        values[place] = frame[target].fill_null(np.nan).to_numpy()
        present = np.zeros(values.shape, bool)
        present[place] = True
        missing, is_part = np.isnan(values), (self.summing != 0).astype(np.float64)
        sums = self.aggregate(np.where(missing, 0, values))
        sums[is_part @ missing > 0] = np.nan
        node, step = np.nonzero(is_part @ present)
        columns = {
            id: pl.Series(self.nodes).gather(node),
            time: times.gather(step),
            target: pl.Series(sums[node, step]).fill_nan(None),
        }
        return to_native(columns, table.backend)

    def incoherence(self, values: Array) -> float:
        """Return the largest difference between a node and the sum of its parts, in ``(..., nodes, horizon)``."""
        return float(np.abs(self.aggregate(values[..., self.bottom_rows, :]) - values).max())


def check_names(found: Sequence[str], known: Sequence[str], kind: str, source: str) -> None:
    """Refuse a table whose series are not exactly the known ones.

    Args:
        found: Names of the series of the table.
        known: Names that they should have.
        kind: What those are.
        source: Name of the table, for the message.

    Raises:
        DataError: With the first series that is missing or too many.
    """
    missing, unknown = sorted(set(known) - set(found)), sorted(set(found) - set(known))
    if missing:
        message = f"{kind} {missing[0]!r} of the hierarchy is not in the table ({len(missing)} missing)."
        cure = " Hierarchy.aggregate_table makes the sums from a table of bottom series." if kind == "node" else ""
        raise DataError(describe(source, message + cure))
    if unknown:
        message = f"series {unknown[0]!r} is no {kind} of the hierarchy ({len(unknown)} series)."
        raise DataError(describe(source, message))


def _read(data: Any, columns: list[str], *, nulls: str | None = None) -> Table:
    """Read columns that must be there and have no nulls, but for the one that may."""
    table = read_table(data, only=columns)
    for name in columns:
        if name not in table.frame.columns:
            raise table.lacks(name)
        if name != nulls and (count := table.frame[name].null_count()):
            raise table.error(f"column {name!r}: {count} missing values.")
    return table


def _first_twice(values: Iterable[Any]) -> Any:
    """Return the first value that comes a second time."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
