"""Expectations on a table: what violates them, row by row or series by series."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.core.formatting import format_count, format_duration, format_number, format_percent
from neuro_divergent.data.cleaning.calendar import check_times, show
from neuro_divergent.data.schema import DateFormat, Schema

Type = Literal["number", "integer", "text", "boolean", "time"]
Scope = Literal["table", "series", "rows"]
_MOST_UNREADABLE = 1000
_JUMP_ROWS = 5


@dataclass(frozen=True)
class Violation:
    """What violates an expectation.

    Attributes:
        expectation: Name of the expectation.
        scope: Whether it is the table, a series or some rows.
        column: Name of the column; empty for none.
        message: What is wrong, in a sentence.
        count: How many rows it is about; ``None`` where it is the whole table.
        rows: Which rows, if it is about some.
        series: Name of the series, if it is about one.
    """

    expectation: str
    scope: Scope
    column: str
    message: str
    count: int | None = None
    rows: pl.Series | None = None
    series: Any = None


class TableValidator:
    """Compares a table with expectations.

    Args:
        frame: The rows as they came.
        schema: Roles of the columns, with ``id`` if the table has one.
    """

    def __init__(self, frame: pl.DataFrame, schema: Schema) -> None:
        self.frame, self.schema = frame, schema
        self.times: pl.Series | None = None
        """The times, as far as they can be read; null elsewhere. ``check_times`` of this class fills them in."""

    def check_columns(self, required: Sequence[str]) -> Iterator[Violation]:
        """Yield columns that are missing."""
        schema = self.schema
        roles = (schema.time, schema.target, *([schema.id] if schema.id else []), *schema.covariates)
        for name in dict.fromkeys((*roles, *([schema.weight] if schema.weight else []), *required)):
            if name not in self.frame.columns:
                found = ", ".join(self.frame.columns[:20])
                yield Violation("columns", "table", name, f"column {name!r} is missing; found {found}")

    def check_times(self) -> Iterator[Violation]:
        """Read the times, and yield the rows whose times are missing or cannot be read."""
        column, place = self.frame[self.schema.time], self.schema.time
        try:
            self.times = check_times(column, DataError, self.schema.date_format)
            return
        except DataError as error:
            reason = str(error)
        bad = _unreadable(column, self.schema.date_format)
        if bad is None or bad.all():
            yield Violation("types", "table", place, reason)
            return
        good = check_times(column.filter(~bad), DataError, self.schema.date_format)
        self.times = pl.Series(place, [None] * len(column), dtype=good.dtype).scatter((~bad).arg_true(), good)
        yield self._rows("types", place, bad, f"time is missing or cannot be read ({reason})")

    def check_types(self, types: Mapping[str, Type]) -> Iterator[Violation]:
        """Yield values that are not of their type: numbers in the target and in columns that say so."""
        for name, kind in {self.schema.target: "number", **types}.items():
            if name == self.schema.time or name not in self.frame.columns:
                continue
            column = self.frame[name]
            bad = _mistyped(column, kind)
            if bad is None:
                text = f"column {name!r} is {column.dtype}, expected {kind}"
                yield Violation("types", "table", name, text)
            elif bad.any():
                first = show(column.filter(bad)[0])
                yield self._rows("types", name, bad, f"not of type {kind}, such as {first}")

    def check_ranges(self, ranges: Mapping[str, tuple[float | None, float | None]]) -> Iterator[Violation]:
        """Yield values outside their range, and infinite ones of the target."""
        for name in dict.fromkeys((self.schema.target, *ranges)):
            if name not in self.frame.columns:
                continue
            low, high = ranges.get(name, (None, None))
            values = self.frame[name].cast(pl.Float64, strict=False)
            bad = values.is_infinite().fill_null(False)
            if bad.any():
                yield self._rows("ranges", name, bad, "infinite")
            outside = pl.Series([False]).new_from_index(0, len(values))
            outside = outside if low is None else outside | (values < low).fill_null(False)
            outside = outside if high is None else outside | (values > high).fill_null(False)
            outside &= ~bad
            if outside.any():
                ends = ("-inf" if low is None else format_number(low), "inf" if high is None else format_number(high))
                span = " to ".join(ends)
                example = format_number(values.filter(outside)[0])
                yield self._rows("ranges", name, outside, f"outside {span}, such as {example}")

    def check_duplicates(self) -> Iterator[Violation]:
        """Yield rows after the first with the same series and time."""
        if self.times is None:
            return
        keys = self._keyed().with_columns(is_known=pl.col(self.schema.time).is_not_null())
        names = [*self._by, self.schema.time]
        again = keys.select(~pl.struct(names).is_first_distinct() & pl.col("is_known")).to_series()
        if again.any():
            example = show(str(self.times.filter(again)[0]))
            yield self._rows(
                "duplicates", self.schema.time, again, f"series and time are there before, such as {example}"
            )

    def check_missing(self, limits: Mapping[str, float]) -> Iterator[Violation]:
        """Yield series of which more than a fraction is missing."""
        for name, limit in limits.items():
            if name not in self.frame.columns:
                continue
            values = self.frame[name]
            empty = values.is_null() | (values.is_nan().fill_null(False) if values.dtype.is_float() else False)
            fractions = self._by_series(empty.cast(pl.Float64), pl.col("value").mean())
            for series, fraction in fractions:
                if fraction is not None and fraction > limit:
                    text = f"{format_percent(fraction)} missing, at most {format_percent(limit)} expected"
                    yield self._series("missing", name, series, text)

    def check_rows(self, min_rows: int, min_series: int) -> Iterator[Violation]:
        """Yield series with too few rows, and tables with too few series."""
        for series, count in self._lengths.items():
            if count < min_rows:
                text = f"{format_count(count, 'row')}, at least {min_rows:,} expected"
                yield self._series("min_rows", "", series, text)
        if len(self._lengths) < min_series:
            text = f"{len(self._lengths):,} series, at least {min_series:,} expected"
            yield Violation("min_series", "table", "", text)

    def check_freshness(self, seconds: float) -> Iterator[Violation]:
        """Yield series whose last row is older than a length of time; times without a zone are in UTC."""
        now = time.time()
        for series, last in self.last_times():
            if now - last > seconds:
                age, limit = format_duration(now - last), format_duration(seconds)
                yield self._series(
                    "freshness", self.schema.time, series, f"last row is {age} old, at most {limit} expected"
                )

    def last_times(self) -> list[tuple[Any, float]]:
        """Return the last time of each series in seconds since 1970; times without a zone are in UTC."""
        if self.times is None:
            return []
        if not self.times.dtype.is_temporal():
            raise DataError(f"freshness: column {self.schema.time!r} holds integers, which have no age.")
        times = self.times if self.times.dtype != pl.Date else self.times.cast(pl.Datetime("us"))
        found = self._by_series(times.dt.timestamp("us"), pl.col("value").max())
        return [(series, last / 1e6) for series, last in found if last is not None]

    def check_unit_jumps(self, factor: float) -> Iterator[Violation]:
        """Yield series whose values become a factor larger or smaller from one row to the next, and stay so.

        The medians of absolute values, without zeros, of five rows before and from there on are compared.
        """
        if self.times is None:
            return
        value = self.frame[self.schema.target].cast(pl.Float64, strict=False).abs()
        rows = self._keyed().with_columns(value.alias("size")).drop_nulls()
        rows = rows.filter((pl.col("size") > 0) & pl.col("size").is_finite())
        rows = rows.sort([*self._by, self.schema.time], maintain_order=True)
        middle = pl.col("size").rolling_median(_JUMP_ROWS, min_samples=_JUMP_ROWS)
        before, after = self._over(middle.shift(1)), self._over(middle.shift(1 - _JUMP_ROWS))
        rows = rows.with_columns(ratio=after / before)
        wild = rows.filter((pl.col("ratio") >= factor) | (pl.col("ratio") <= 1 / factor))
        for part in wild.partition_by(self._by, maintain_order=True) if self._by else [wild] if wild.height else []:
            series = part[self._by[0]][0] if self._by else None
            middle_row = min(part.height, _JUMP_ROWS) // 2  # rows on both sides of a jump have such medians
            ratio, when = part["ratio"][middle_row], part[self.schema.time][middle_row]
            times = f"{format_number(ratio)} times larger" if ratio > 1 else f"{format_number(1 / ratio)} times smaller"
            yield self._series("unit_jumps", self.schema.target, series, f"values become {times} about {when}")

    @property
    def _by(self) -> list[str]:
        return [self.schema.id] if self.schema.id else []

    def _over(self, expression: pl.Expr) -> pl.Expr:
        return expression.over(self._by) if self._by else expression

    def _keyed(self) -> pl.DataFrame:
        """Return series and time of each row."""
        assert self.times is not None
        return pl.DataFrame([*self.frame.select(self._by).get_columns(), self.times.alias(self.schema.time)])

    def _by_series(self, values: pl.Series, expression: pl.Expr) -> list[tuple[Any, Any]]:
        """Return a statistic of each series, in the order of their names."""
        if not self._by:
            return [(None, values.alias("value").to_frame().select(found=expression).item())]
        frame = pl.DataFrame([self.frame[self._by[0]].alias("series"), values.alias("value")])
        return frame.group_by("series").agg(found=expression).sort("series").rows()

    def _rows(self, expectation: str, column: str, bad: pl.Series, text: str) -> Violation:
        count, first = int(bad.sum()), int(bad.arg_true()[0]) + 1
        message = f"column {column!r}: {format_count(count, 'value')}, first row {first}: {text}"
        return Violation(expectation, "rows", column, message, count, bad)

    def _series(self, expectation: str, column: str, series: Any, text: str) -> Violation:
        place = f"series {show(series)}" if self._by else "the series"
        place += f", column {column!r}" if column else ""
        return Violation(expectation, "series", column, f"{place}: {text}", self._lengths[series], series=series)

    @cached_property
    def _lengths(self) -> dict[Any, int]:
        """How many rows each series has."""
        return dict(self._by_series(self.frame[self.schema.target], pl.len()))


def _mistyped(column: pl.Series, kind: Type) -> pl.Series | None:
    """Return which values are not of a type; ``None`` if the whole column is of another one."""
    dtype, none = column.dtype, pl.Series([False]).new_from_index(0, len(column))
    if dtype == pl.Null:
        return none
    if kind == "boolean":
        return none if dtype == pl.Boolean else None
    if kind == "text":
        return none if dtype in (pl.String, pl.Categorical, pl.Enum) else None
    if kind == "time":
        if dtype == pl.String:
            bad = _unreadable(column, None)
            return None if bad is None else bad & column.is_not_null()
        return none if dtype.is_temporal() else None
    if dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
        return numbers.is_null() & column.is_not_null()
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        return None
    if kind == "integer" and not dtype.is_integer():
        values = column.cast(pl.Float64)
        return (values != values.round()).fill_null(False) & values.is_finite().fill_null(False)
    return none


def _unreadable(column: pl.Series, date_format: DateFormat | None) -> pl.Series | None:
    """Return which times cannot be read, in the format of the first that can; ``None`` if there are too many."""
    texts = column.unique(maintain_order=True).drop_nulls()
    good = next(
        (texts.slice(place, 1) for place in range(min(len(texts), 100)) if _reads(texts.slice(place, 1), date_format)),
        None,
    )
    if good is None:
        return None
    bad: list[Any] = []
    todo: list[pl.Series] = [texts]
    while todo:
        part = todo.pop()
        if _reads(pl.concat([good, part]), date_format):
            continue
        if len(part) == 1:
            bad.append(part[0])
            if len(bad) > _MOST_UNREADABLE:
                return None
            continue
        half = len(part) // 2
        todo += [part.slice(half), part.slice(0, half)]
    return column.is_null() | column.is_in(pl.Series(bad, dtype=column.dtype).implode() if bad else [])


def _reads(times: pl.Series, date_format: DateFormat | None) -> bool:
    try:
        check_times(times, DataError, date_format)
    except DataError:
        return False
    return True
