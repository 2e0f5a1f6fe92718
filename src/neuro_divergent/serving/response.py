"""Answers: forecasts as objects, JSON and CSV."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.prepared import Prepared

STEP = "step"
"""Name of the steps, from 1, of a forecast whose times are not known."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """The forecast of one series.

    Attributes:
        id: Name of the series, or ``None``.
        times: Times as ISO 8601 or integers; ``None`` where the end of the series was not given.
        values: The columns ``forecast``, ``lo-80``, ``hi-80``, ``q-0.1``, ... by name, one number for each step.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> forecast = nd.serving.Forecast("A", ["2026-02-01"], {"forecast": np.array([6.0]), "lo-80": np.array([4.5])})
        >>> forecast.point.tolist(), sorted(forecast.values)
        ([6.0], ['forecast', 'lo-80'])
    """

    id: str | int | None
    times: list[str] | list[int] | None
    values: dict[str, Floats32] = field(default_factory=dict)

    @property
    def point(self) -> Floats32:
        """The forecast itself, without quantiles."""
        return self.values["forecast"]


def by_series(prepared: Prepared, forecast: Floats32) -> Floats32:
    """Return the output of a graph for the series of a request, ``(series, horizon, 1 + quantiles)``."""
    if prepared.channels is None:
        return forecast[:, :, 0]
    channels: Floats32 = forecast[0].transpose(1, 0, 2)[prepared.channels]
    return channels


class Responder:
    """Writes the answers of a model.

    Args:
        description: Of the exported model.
        name: What answers call it.
    """

    def __init__(self, description: Description, name: str) -> None:
        self._time, self._id = description.time, description.id
        head = msgspec.json.encode({"model": name, "model_version": description.digest})
        self._head = head[:-1] + b',"series":'
        self._steps = [msgspec.Raw(msgspec.json.encode(list(range(1, 1 + n)))) for n in range(description.horizon + 1)]
        self._encode = msgspec.json.Encoder().encode

    def json(self, prepared: Prepared, forecast: Floats32) -> bytes:
        """Return the answer as JSON; a number that is not finite, which JSON does not have, is ``null``."""
        requested, horizon = prepared.requested, prepared.requested.horizon
        series = by_series(prepared, forecast)
        columns = [series[:, :horizon, place].tolist() for place in requested.places]
        answers: list[dict[str, Any]] = []
        for row, (name, times) in enumerate(zip(prepared.ids, prepared.times, strict=True)):
            answer: dict[str, Any] = {} if name is None else {"id": name}
            if times is None:
                answer[STEP] = self._steps[horizon]
            else:
                answer[self._time] = times.json
            for column, values in zip(requested.columns, columns, strict=True):
                answer[column] = values[row]
            answers.append(answer)
        body: bytes = self._head + self._encode(answers)
        if prepared.notes:
            return body + b',"notes":' + self._encode(prepared.notes) + b"}"
        return body + b"}"

    def csv(self, prepared: Prepared, forecast: Floats32) -> bytes:
        """Return the answer as CSV, as polars writes the table of ``predict``."""
        requested, horizon = prepared.requested, prepared.requested.horizon
        series = by_series(prepared, forecast)[:, :horizon]
        columns = [] if self._id is None else [[_quoted(name) for name in prepared.ids for _ in range(horizon)]]
        steps = [str(step) for step in range(1, horizon + 1)]
        columns.append([text for times in prepared.times for text in (steps if times is None else times.fields)])
        columns += [number_texts(series[:, :, place].ravel()) for place in requested.places]
        time = STEP if None in prepared.times else self._time
        names = [*([] if self._id is None else [self._id]), time, *requested.columns]
        lines = [",".join(map(_quoted, names)), *map(",".join, zip(*columns, strict=True))]
        return ("\n".join(lines) + "\n").encode()


def forecasts_of(prepared: Prepared, forecast: Floats32) -> list[Forecast]:
    """Return the answer as objects."""
    requested = prepared.requested
    series = by_series(prepared, forecast)[:, : requested.horizon]
    answers = []
    for row, (name, times) in enumerate(zip(prepared.ids, prepared.times, strict=True)):
        values = {
            column: np.ascontiguousarray(series[row, :, place])
            for column, place in zip(requested.columns, requested.places, strict=True)
        }
        answers.append(Forecast(name, None if times is None else msgspec.json.decode(times.json), values))
    return answers


def _quoted(value: Any) -> str:
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def number_texts(values: Array) -> list[str]:
    """Return float32 numbers with the fewest digits that tell them apart, as polars writes them to CSV."""
    shortest = values.astype(np.float32).astype(str).tolist()
    return [_as_polars(text) for text in shortest]


def _as_polars(text: str) -> str:
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return _NOT_FINITE.get(text, text)
    power = int(exponent)
    digits = mantissa.replace(".", "").lstrip("-")
    digits = digits.rstrip("0") or "0"
    sign = "-" if mantissa.startswith("-") else ""
    if -6 <= power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    if 0 <= power < _PLAIN:
        whole, rest = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
        return f"{sign}{whole}.{rest or '0'}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{power:+d}" if power > 0 else f"{sign}{digits[0]}{tail}e{power}"


_PLAIN = 13
_NOT_FINITE = {"nan": "NaN", "inf": "inf", "-inf": "-inf"}
