"""Requests: series as JSON, read into typed objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from neuro_divergent.core.errors import InputError

Value = int | float | str | bool | None


class Series(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One series to forecast.

    Attributes:
        y: History, the latest value last; ``None`` where a value is missing. A NumPy array is fine as well.
        id: Name; needed where a model treats the series of training in their own way.
        end: Time of the last value of ``y``, as ISO 8601 or an integer; needed by models with calendar features.
            Without it a forecast has steps instead of times.
        past: Covariates known only in the past by name, as many values as ``y``.
        future: Covariates known ahead by name: as many values as ``y``, then one for each step to forecast.
        static: Covariates that are constant.

    Examples:
        >>> import neuro_divergent as nd
        >>> series = nd.serving.Series(id="shop-1", end="2026-01-31", y=[5.0, None, 7.0])
        >>> series.y, series.future
        ([5.0, None, 7.0], {})
    """

    y: list[float | None]
    id: str | int | None = None
    end: str | int | None = None
    past: dict[str, list[Value]] = {}
    future: dict[str, list[Value]] = {}
    static: dict[str, Value] = {}


class Request(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Series to forecast, and what to forecast of them.

    Attributes:
        series: The series; all of training, in any order, for a model that forecasts them jointly.
        levels: Central intervals in percent.
        quantiles: Quantiles between 0 and 1.
        horizon: Steps; all that the model has by default.

    Examples:
        >>> import neuro_divergent as nd
        >>> import msgspec
        >>> body = b'{"series": [{"id": "A", "end": "2026-01-31", "y": [5, null, 7]}], "levels": [80]}'
        >>> request = msgspec.json.decode(body, type=nd.serving.Request)
        >>> request.series[0].y, request.levels
        ([5.0, None, 7.0], [80.0])
    """

    series: list[Series]
    levels: list[float] = []
    quantiles: list[float] = []
    horizon: int | None = None


_decoder = msgspec.json.Decoder(Request)


def read_request(body: bytes) -> Request:
    """Read a request from JSON.

    Raises:
        InputError: If it is not JSON, or not a request, with the place of the first mistake.
    """
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the request cannot be read: {str(error)[:200]}. {EXPECTED}") from None


EXPECTED = 'Send {"series": [{"id": "A", "end": "2024-01-31", "y": [1.0, 2.0, null, ...]}], "levels": [80]}'


def to_series(item: Series | dict[str, Any]) -> Series:
    """Return a series from a dictionary, whose values may be NumPy arrays and whose end may be a date.

    Raises:
        InputError: If it has unknown keys or values of wrong types.
    """
    if isinstance(item, Series):
        return item
    plain = {key: _plain(value) for key, value in item.items()}
    try:
        return msgspec.convert(plain, Series)
    except msgspec.ValidationError as error:
        raise InputError(f"a series cannot be read: {str(error)[:200]}. {EXPECTED}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, Sequence) and not isinstance(value, (str, list)) else value
