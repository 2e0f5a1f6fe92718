"""Reads small CSV files without polars.

Only what is plain is read here: UTF-8 without quotation marks, rows in time order and one step apart, times in ISO 8601
or integers, columns of the types of training. Everything else is an ``UnusualCsvError``, for which callers use the
reader of tables (``data.io``), so that results and messages are the same with both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.serving.calendar.step import Step
from neuro_divergent.serving.calendar.time_type import TimeType
from neuro_divergent.serving.category_codes import CategoryCodes
from neuro_divergent.serving.description import Description, ExportedFeature
from neuro_divergent.serving.histories import Histories

LARGEST_FILE = 4 << 20
"""Bytes that take less time to read here (0.03 s for each million) than it takes to import polars."""
_DEFAULT_ID = "unique_id"  # What tables call the series column if nothing else is said.
_LARGEST_FIELD = 1000
_NUMBER = frozenset("0123456789.-")
_INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z?", re.ASCII)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_ -]*")
_NOT_WORDS = frozenset(("true", "false", "nan", "inf", "infinity", "null", "none"))


class UnusualCsvError(DataError):
    """A CSV file that only the reader of tables can read, or has to explain."""


@dataclass(frozen=True, eq=False)
class CsvHistories:
    """Series of a CSV file.

    Attributes:
        histories: In the order of tables: sorted by id.
        step: Between their times, in the type that the file has.
    """

    histories: Histories
    step: Step

    @property
    def ends(self) -> tuple[int, ...]:
        """Time of the last row of each series."""
        return tuple(end for end in self.histories.ends if end is not None)


def read_small_csv(
    content: bytes, description: Description, *, ahead: bytes | None = None, horizon: int
) -> CsvHistories:
    """Read series with the columns of training from a CSV file.

    Args:
        content: The file.
        description: Of the exported model.
        ahead: A second file, with the covariates known ahead for each step to forecast.
        horizon: Steps to forecast.

    Raises:
        UnusualCsvError: If anything in it is unusual, or wrong.
    """
    table = _Table(content)
    if description.id is None and _DEFAULT_ID in table.names and _DEFAULT_ID not in _roles(description):
        raise UnusualCsvError("the file has a series column, which the model has not")
    time_type, times = _times(table.column(description.time), description)
    names, codes = _series(table, description)
    order = np.argsort(codes, kind="stable")
    offsets = np.append(np.flatnonzero(np.diff(codes[order], prepend=-1)), len(codes))
    times = times[order]
    step = _step(times, offsets, description, time_type)
    target = _floats(table.column(description.target), description.target)[order]
    past = _covariates(table, description.past, description)[order]
    future = _covariates(table, description.future, description)[order]
    static = _constant(_covariates(table, description.static, description)[order], offsets)
    ends = times[offsets[1:] - 1]
    known = _known_ahead(ahead, description, names, ends, step, horizon)
    histories = Histories(tuple(names), tuple(ends.tolist()), offsets, target, past, future, known, static)
    return CsvHistories(histories, step)


class _Table:
    """The fields of a file by column, as text; an empty one is missing."""

    def __init__(self, content: bytes) -> None:
        if len(content) > LARGEST_FILE:
            raise UnusualCsvError(f"the file has more than {LARGEST_FILE:,} bytes")
        if b'"' in content or b"\0" in content or content.startswith(b"\xef\xbb\xbf"):
            raise UnusualCsvError("the file has quotation marks, NUL bytes or a byte order mark")
        try:
            text = content.replace(b"\r\n", b"\n").decode("utf-8")
        except UnicodeDecodeError:
            raise UnusualCsvError("the file is not UTF-8") from None
        lines = text.removesuffix("\n").split("\n")
        if "\r" in text or len(lines) < 2 or "" in lines:
            raise UnusualCsvError("the file has no rows, blank lines or other line ends")
        self.names = lines[0].split(",")
        width = len(self.names)
        if width < 2 or len(set(self.names)) < width or "" in self.names:
            raise UnusualCsvError("the header is not one name for each of several columns")
        if max(map(len, lines)) > _LARGEST_FIELD * width or any(line.count(",") != width - 1 for line in lines):
            raise UnusualCsvError("rows have different numbers of fields")
        self._fields = ",".join(lines[1:]).split(",")

    def column(self, name: str) -> list[str]:
        """Return the fields of a column."""
        if name not in self.names:
            raise UnusualCsvError(f"column {name[:40]!r} missing")
        return self._fields[self.names.index(name) :: len(self.names)]


def _roles(description: Description) -> set[str]:
    covariates = (*description.past, *description.future, *description.static)
    return {description.time, description.target, *(feature.name for feature in covariates)}


def _series(table: _Table, description: Description) -> tuple[Sequence[str | int | None], Ints]:
    """Return the sorted names of the series, and the place of each row's among them; ``None`` for one without name."""
    if description.id is None:
        rows = len(table.column(description.time))
        return [None], np.zeros(rows, np.int64)
    fields = table.column(description.id)
    found = set(fields)
    if "" in found:
        raise UnusualCsvError("a row has no series")
    names: list[str] | list[int] = sorted(found)
    if all(_INTEGER.fullmatch(name) for name in found):
        names = sorted(map(int, found))
    elif any(re.fullmatch(r"[+-]?\d+", name) for name in found):
        raise UnusualCsvError("names of series are text and integers")
    places = {str(name): place for place, name in enumerate(names)}
    return names, np.array([places[field] for field in fields], np.int64)


def _times(fields: list[str], description: Description) -> tuple[TimeType, Ints]:
    """Return the type of a column of times, which must be that of training, and its integers."""
    first = fields[0]
    if description.time_type == "integer":
        if not all(_INTEGER.fullmatch(field) for field in fields):
            raise UnusualCsvError("times are not integers as in training")
        time_type, times = TimeType("integer"), np.array(list(map(int, fields)), np.int64)
        if times.min() >= 19_000_101 and times.max() <= 21_001_231:
            raise UnusualCsvError("times look like dates without separators")
    elif description.time_type == "date":
        _check_format(fields, _DAY)
        time_type, times = TimeType("date"), _parse(fields, "D")
    else:
        _check_format(fields, _TIME)
        zone = "UTC" if first.endswith("Z") else None
        if zone != description.time_zone:
            raise UnusualCsvError("times have another zone than in training")
        time_type = TimeType("datetime", "us", zone)
        times = _parse([field[:-1] for field in fields] if zone else fields, "us")
    try:
        time_type.check_range(times, "times")
    except DataError as error:
        raise UnusualCsvError(str(error)) from None
    return time_type, times


def _check_format(fields: list[str], pattern: re.Pattern[str]) -> None:
    """Refuse times that are not all written like the first one."""
    first = fields[0]
    if not pattern.fullmatch(first) or not all(field.isascii() for field in fields):
        raise UnusualCsvError("times are not in ISO 8601")
    letters = np.array(fields, f"S{len(first)}") if len(set(map(len, fields))) == 1 else None
    if letters is None:
        raise UnusualCsvError("times are written in several ways")
    codes = letters.view(np.uint8).reshape(len(fields), len(first))
    digit = np.array([letter.isdigit() for letter in first])
    is_digit = (codes >= ord("0")) & (codes <= ord("9"))
    if not is_digit[:, digit].all() or (codes[:, ~digit] != codes[0, ~digit]).any():
        raise UnusualCsvError("times are written in several ways")


def _parse(fields: list[str], unit: str) -> Ints:
    try:
        return np.array(fields, f"datetime64[{unit}]").astype(np.int64)
    except ValueError:
        raise UnusualCsvError("a time does not exist") from None


def _step(times: Ints, offsets: Ints, description: Description, time_type: TimeType) -> Step:
    """Return the step between times of the file, after checking that all rows are one step apart."""
    try:
        step = Step.parse(description.frequency, time_type)
    except DataError as error:
        raise UnusualCsvError(str(error)) from None
    starts = times[offsets[:-1]]
    if step.ending(times) is not step or not step.is_on_calendar(starts).all():
        raise UnusualCsvError("a series begins at another time than the frequency has")
    if len(times) > 1:
        steps = step.between(times[:-1], times[1:])
        steps[offsets[1:-1] - 1] = 1  # between two series
        backwards = np.diff(times) <= 0
        backwards[offsets[1:-1] - 1] = False
        if (steps != 1).any() or backwards.any():
            raise UnusualCsvError("rows are not in time order, or not one step apart")
    return step


def _floats(fields: list[str], name: str) -> Floats:
    """Return numbers, NaN where a field is empty."""
    if not _NUMBER.issuperset("".join(fields)):
        raise UnusualCsvError(f"column {name[:40]!r} has other than plain decimal numbers")
    try:
        return np.array([float(field) if field else np.nan for field in fields], np.float64)
    except ValueError:
        raise UnusualCsvError(f"column {name[:40]!r} has something that is not a number") from None


def _covariates(table: _Table, features: tuple[ExportedFeature, ...], description: Description) -> Floats:
    """Return covariates as numbers and codes, NaN where one is missing, ``(rows, features)``."""
    rows = len(table.column(description.time))
    values = np.empty((rows, len(features)), np.float64)
    for position, feature in enumerate(features):
        fields = table.column(feature.name)
        values[:, position] = _floats(fields, feature.name) if feature.categories is None else _codes(fields, feature)
    return values


def _codes(fields: list[str], feature: ExportedFeature) -> Floats:
    """Return codes of categories that are words in training and in the file."""
    known = feature.categories or ()
    found = set(fields) - {""}
    if not all(isinstance(value, str) for value in known) or not all(map(_is_word, found)):
        raise UnusualCsvError(f"column {feature.name[:40]!r} has categories that are not words")
    if unknown := found.difference(known):
        raise UnusualCsvError(f"column {feature.name[:40]!r} has new categories, such as {min(unknown)[:40]!r}")
    return CategoryCodes(feature, "error").encode([field or None for field in fields], feature.name)


def _is_word(text: str) -> bool:
    return _WORD.fullmatch(text) is not None and text.lower() not in _NOT_WORDS


def _constant(values: Floats, offsets: Ints) -> Floats:
    """Return the one value of each series."""
    firsts = values[offsets[:-1]]
    if np.isnan(values).any() or (values != np.repeat(firsts, np.diff(offsets), axis=0)).any():
        raise UnusualCsvError("a static covariate is missing or changes")
    return firsts


def _known_ahead(
    content: bytes | None,
    description: Description,
    names: Sequence[str | int | None],
    ends: Ints,
    step: Step,
    horizon: int,
) -> Floats:
    """Return covariates known ahead, ``(series, horizon, features)``, from the rows of a second file."""
    width = len(description.future)
    if not width or content is None:
        if width or content is not None:
            raise UnusualCsvError("covariates known ahead are needed and not given, or given and not needed")
        return np.empty((len(names), horizon, 0), np.float64)
    table = _Table(content)
    time_type, times = _times(table.column(description.time), description)
    own, codes = _series(table, description)
    if time_type != step.type or (isinstance(own[0], str) != isinstance(names[0], str)):
        raise UnusualCsvError("the covariates known ahead have times or names of another type")
    values = _covariates(table, description.future, description)
    rows = {key: row for row, key in enumerate(zip(codes.tolist(), times.tolist(), strict=True))}
    places = {name: place for place, name in enumerate(own)}
    wanted = step.time_at(np.repeat(ends, horizon), np.tile(np.arange(1, horizon + 1), len(ends)))
    keys = zip(np.repeat([places.get(name, -1) for name in names], horizon).tolist(), wanted.tolist(), strict=True)
    found = [rows.get(key, -1) for key in keys]
    if len(rows) < len(times) or -1 in found:
        raise UnusualCsvError("the covariates known ahead have rows twice or not at all")
    return values[found].reshape(len(names), horizon, width)
