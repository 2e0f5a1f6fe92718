"""A request that was checked and turned into inputs of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.serving.calendar.time_text import csv_times, write_times
from neuro_divergent.serving.calendar.time_type import TimeType
from neuro_divergent.serving.requested import RequestedOutput


@dataclass(frozen=True, eq=False)
class ForecastTimes:
    """The times of a forecast.

    Attributes:
        end: Time of the last value before them, as an integer.
        values: The times, as integers.
        type: What the integers mean.
    """

    end: int
    values: Ints
    type: TimeType

    @cached_property
    def json(self) -> msgspec.Raw:
        """A JSON array of integers or text in ISO 8601."""
        return msgspec.Raw(msgspec.json.encode(write_times(self.values, self.type)))

    @cached_property
    def fields(self) -> list[str]:
        """The same as fields of a CSV file, as polars writes them."""
        return csv_times(self.values, self.type)


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """Inputs of a graph for the series of one request, and what its answer needs.

    Attributes:
        inputs: Arrays with a leading batch axis, which those of other requests to the same model may be joined along.
        size: Rows on that axis: one for each series, or one for all of them in a joint model.
        requested: Steps and columns of the answer.
        ids: Name of each series of the answer; ``None`` where none was given.
        times: Times of each series; ``None`` where its end was not given.
        channels: Channel of each series in a joint model; ``None`` for others.
        notes: What was cut, padded or left out.
    """

    inputs: dict[str, Array]
    size: int
    requested: RequestedOutput
    ids: tuple[Any, ...]
    times: tuple[ForecastTimes | None, ...]
    channels: Ints | None = None
    notes: tuple[str, ...] = ()
