"""Roles of the columns of a table, and policies for missing values, gaps and short series."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.config import Config

# Day, month, year and time of day, as strptime has them; without those that depend on the language of the machine.
_DATE_MARKS = frozenset("YymdjbBaAHIMSfpz%")

Policy = Literal["error", "interpolate", "forward", "zero", "mask"]


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
        encoding: How the text of CSV files is written, such as ``"latin-1"``; UTF-8 when unset.
        date_format: How times are written where not in ISO 8601, as for ``strptime``: ``"%d/%m/%Y"``.
        strict: Turn warnings into errors: rows out of time order and constant series.
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
    encoding: str | None = None
    date_format: str | None = None
    strict: bool = False

    @field_validator("past", "future", "static", "categorical", "calendar", mode="before")
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

    @field_validator("date_format")
    @classmethod
    def _known_format(cls, value: str | None) -> str | None:
        if value is None:
            return None
        marks = re.findall(r"%(.?)", value)
        strange = [mark for mark in marks if mark not in _DATE_MARKS]
        if strange or not {"Y", "y"} & set(marks):
            wrong = f"'%{strange[0]}' in {value!r} is not known" if strange else f"{value!r} has no year"
            raise ValueError(f"{wrong}; write it as for strptime, such as '%d/%m/%Y' or '%Y-%m-%d %H:%M'")
        return value

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

    @property
    def covariates(self) -> tuple[str, ...]:
        """Every covariate column the table must have (calendar features are computed, not read)."""
        return (*self.past, *self.future, *self.static)
