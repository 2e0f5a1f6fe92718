"""Roles of the columns of a table, and policies for missing values, gaps and short series."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.config import Config

# Day, month, year and time of day, as strptime has them; without those that depend on the language of the machine.
_DATE_MARKS = frozenset("YymdjbBaAHIMSfpz%")

_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_SPACES = ("\u00a0", "\u202f")  # no-break spaces, which programs write between thousands

Policy = Literal["error", "interpolate", "forward", "zero", "mask"]
Duplicates = Literal["error", "first", "last", "mean", "sum"]
DateFormat = str | tuple[str, ...]

EPOCHS = {"epoch-s": "seconds", "epoch-ms": "milliseconds", "epoch-us": "microseconds", "epoch-ns": "nanoseconds"}
"""Formats of times that are counted from the beginning of 1970 in UTC, and what they count."""

READING = (
    "encoding", "separator", "decimal", "thousands", "null_values", "date_format", "skip_rows", "sheet", "query",
    "wide",
)  # fmt: skip
"""Fields of a schema that say how a table is read; a panel, which was read already, does not need them."""


class Schema(Config):
    """Names and roles of the columns of a long table, and the policies for unclean data.

    Attributes:
        target: Column to forecast.
        time: Column of dates, datetimes or integers.
        id: Column that names the series. Left unset, ``unique_id`` is used if it exists, else the table is one series.
        past: Covariates known only in the past.
        future: Covariates known ahead; their values for the horizon are needed when forecasting.
        static: Covariates that are constant within a series.
        weight: Column with the weight of each target in the loss, zero or more; rows that fill gaps count 0.
        categorical: Numeric columns to treat as categories. Text, categorical and enum columns are categories anyway;
            booleans are the numbers 0 and 1.
        calendar: Features computed from the time column and treated as known ahead, for example ``("hour",
            "day_of_week")``.
        frequency: Step between rows, such as ``"1h"``, ``"1d"``, ``"1mo"`` or ``1``; inferred when unset.
        missing: Policy for missing targets and covariates: refuse, fill in between, repeat the last value, put
            zero, or mask (hidden from training and loss).
        gaps: Policy for missing rows, with the same values.
        short: Policy for short series: ``pad`` lets histories begin before the first row, with masked values;
            ``drop`` leaves out, with a warning, and ``error`` refuses those that are too short for one window.
        unknown_category: Policy for a category at prediction that training never saw: refuse, or use the slot
            reserved for unknown ones.
        duplicates: Policy for several rows of one series and time: refuse, keep the first or last one, or put the mean
            or sum of the targets; numeric covariates then take their mean, and others keep the first value.
        encoding: How the text of CSV files is written, such as ``"latin-1"``; UTF-8 when unset.
        separator: Character between the columns of CSV files, such as ``";"`` or ``"tab"``, found in the file when
            unset.
        decimal: Decimal mark of numbers that are text, ``"."`` or ``","``. When unset, commas are taken for one where
            they cannot be anything else, with a warning, and where a point stands between thousands.
        thousands: Mark between thousands in numbers that are text: a comma, point, apostrophe, underscore or space.
        null_values: Texts and numbers that mean a missing value, such as ``("n/a", "-999")``; empty ones always do.
        date_format: How times are written where not in ISO 8601, as for ``strptime``: ``"%d/%m/%Y"``, or several
            formats where a column mixes them. Seconds since 1970 in UTC are ``"epoch-s"``, smaller units
            ``"epoch-ms"``, ``"epoch-us"`` and ``"epoch-ns"``.
        skip_rows: Lines above the header of CSV files and Excel sheets.
        sheet: Name or number of an Excel sheet, the first one when unset.
        query: SELECT statement whose rows are the table, where the source is the address of a database.
        wide: Whether each column but the time and the covariates is a series, named by its header. Covariates are
            those of all series. The time is the column ``time`` or, if there is none, the first one.
        strict: Turn warnings into errors: rows out of time order, constant series, guessed decimal marks.

    Examples:
        >>> import neuro_divergent as nd
        >>> schema = nd.Schema(target="units", time="date", id="store", future="price", calendar="day_of_week")
        >>> schema.covariates
        ('price',)
        >>> nd.Schema(target="units", past="units")
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: column 'units' has more than one role; give it one of target, ...
    """

    target: str = "y"
    time: str = "ds"
    id: str | None = None
    past: tuple[str, ...] = ()
    future: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    weight: str | None = None
    categorical: tuple[str, ...] = ()
    calendar: tuple[str, ...] = ()
    frequency: str | int | None = Field(default=None)
    missing: Policy = "error"
    gaps: Policy = "error"
    short: Literal["error", "drop", "pad"] = "pad"
    unknown_category: Literal["error", "unknown"] = "error"
    duplicates: Duplicates = "error"
    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    null_values: tuple[str, ...] = ()
    date_format: DateFormat | None = None
    skip_rows: int = Field(default=0, ge=0)
    sheet: str | int | None = None
    query: str | None = None
    wide: bool = False
    strict: bool = False

    @field_validator("past", "future", "static", "categorical", "calendar", "null_values", mode="before")
    @classmethod
    def _one_name(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, value: str | None) -> str | None:
        try:
            if value is not None:
                "".encode(value)  # Of those that Python knows, only encodings of text can do this.
            return value
        except (LookupError, ValueError, TypeError):
            raise ValueError(f"{value!r} is not known; write 'utf-8', 'latin-1', 'cp1252', 'utf-16', ...") from None

    @field_validator("separator", mode="before")
    @classmethod
    def _one_character(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        value = _SEPARATORS.get(value.lower(), value)
        if len(value) != 1 or not value.isascii() or value in "\"'\r\n\0" or value.isalnum():
            raise ValueError(f"{value!r} cannot separate columns; write one character, such as ';', or 'tab'")
        return value

    @field_validator("decimal")
    @classmethod
    def _known_decimal(cls, value: str | None) -> str | None:
        value = {"comma": ",", "point": "."}.get(value or "", value)
        if value not in (None, ".", ","):
            raise ValueError(f"{value!r} is no decimal mark; write '.' or ','")
        return value

    @field_validator("thousands")
    @classmethod
    def _known_mark(cls, value: str | None) -> str | None:
        value = " " if value in (*_SPACES, "space") else value
        if value is not None and value not in (",", ".", " ", "'", "_"):
            raise ValueError(f"{value!r} is not known; write ',', '.', ' ', \"'\" or '_'")
        return value

    @field_validator("date_format")
    @classmethod
    def _known_formats(cls, value: DateFormat | None) -> DateFormat | None:
        formats = (value,) if isinstance(value, str) else value or ()
        for form in formats:
            if form in EPOCHS:
                continue
            marks = re.findall(r"%(.?)", form)
            strange = [mark for mark in marks if mark not in _DATE_MARKS]
            if strange or not {"Y", "y"} & set(marks):
                wrong = f"'%{strange[0]}' in {form!r} is not known" if strange else f"{form!r} has no year"
                raise ValueError(f"{wrong}; write it as for strptime, such as '%d/%m/%Y' or '%Y-%m-%d %H:%M'")
        return formats if len(formats) > 1 else formats[0] if formats else None

    @model_validator(mode="after")
    def _one_role_each(self) -> Schema:
        single = [name for name in (self.target, self.time, self.id, self.weight) if name]
        roles = [*single, *self.past, *self.future, *self.static]
        twice = sorted({name for name in roles if roles.count(name) > 1})
        if twice:
            raise ValueError(
                f"column {twice[0]!r} has more than one role; give it one of target, time, id, weight, past, future or "
                "static"
            )
        stray = [name for name in self.categorical if name not in (*self.past, *self.future, *self.static)]
        if stray:
            raise ValueError(f"categorical column {stray[0]!r} is not listed as past, future or static")
        return self

    @model_validator(mode="after")
    def _readable(self) -> Schema:
        if self.thousands is not None and self.thousands == self.decimal:
            raise ValueError(f"{self.thousands!r} cannot be both the decimal mark and the mark between thousands")
        if self.wide and self.static:
            raise ValueError("static: a wide table has no values that differ between series; leave wide or static out")
        return self

    @property
    def covariates(self) -> tuple[str, ...]:
        """Every covariate column the table must have (calendar features are computed, not read)."""
        return (*self.past, *self.future, *self.static)
