"""Names, types and shapes of the tensors of a graph, and the checks of those that requests bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.core.errors import InputError
from neuro_divergent.serving.description import Description

FORECAST, POINT, QUANTILES = "forecast", "point", "quantiles"
_DATATYPES = {
    "BOOL": "?", "UINT8": "<u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8", "INT8": "<i1", "INT16": "<i2",
    "INT32": "<i4", "INT64": "<i8", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8",
}  # fmt: skip


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of a graph.

    Attributes:
        name: Its name.
        datatype: Type, as the open inference protocol calls it.
        shape: Sizes without the number of windows, which comes first.
        is_required: Whether a request has to bring it.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    is_required: bool = True


def input_specs(description: Description) -> tuple[TensorSpec, ...]:
    """Return the inputs of a graph."""
    length, horizon, channels = description.input_size, description.horizon, description.channels
    known = len(description.future) + len(description.calendar)
    specs = [
        TensorSpec("past_y", "FP32", (length, channels)),
        TensorSpec("past_mask", "FP32", (length, channels), is_required=False),
    ]
    if description.past:
        specs.append(TensorSpec("past_x", "FP32", (length, len(description.past))))
    if known:
        specs.append(TensorSpec("future_x", "FP32", (length + horizon, known)))
    if description.static:
        specs.append(TensorSpec("static_x", "FP32", (len(description.static),)))
    if description.takes_series:
        specs.append(TensorSpec("series", "INT64", (), is_required=description.requires_known_series))
    return tuple(specs)


def output_specs(description: Description) -> tuple[TensorSpec, ...]:
    """Return the outputs that a request can ask for."""
    shape = (description.horizon, description.channels)
    specs = [
        TensorSpec(FORECAST, "FP32", (*shape, 1 + len(description.quantiles))),
        TensorSpec(POINT, "FP32", shape),
    ]
    if description.quantiles:
        specs.append(TensorSpec(QUANTILES, "FP32", (*shape, len(description.quantiles))))
    return tuple(specs)


def example_inputs(description: Description, size: int = 1) -> dict[str, Array]:
    """Return inputs of a graph that look like data: a slow wave, all observed, first categories."""
    inputs: dict[str, Array] = {}
    for spec in input_specs(description):
        if spec.name == "past_y":
            wave = 10 + np.sin(np.arange(description.input_size, dtype=np.float32) / 4)
            inputs[spec.name] = np.ascontiguousarray(
                np.broadcast_to(wave[None, :, None], (size, *spec.shape)), dtype=np.float32
            )
        elif spec.name == "series":
            inputs[spec.name] = np.full(size, 0 if description.requires_known_series else -1, np.int64)
        else:
            inputs[spec.name] = np.ones((size, *spec.shape), np.float32)
    return inputs


def datatype(name: str, place: str) -> np.dtype[np.generic]:
    """Return the type of an array by the name that the protocol has for it.

    Raises:
        InputError: If it has none, or one that is no number.
    """
    code = _DATATYPES.get(name)
    if code is None:
        raise InputError(f"input {place!r}: the datatype {name[:20]!r} is not one of {', '.join(_DATATYPES)}.")
    return np.dtype(code)


def checked_inputs(given: Mapping[str, Array], description: Description) -> tuple[dict[str, Array], int]:
    """Return the inputs of a graph, and the number of windows.

    The mask is all ones, and the series are unknown ones, where they are not given.

    Raises:
        InputError: If an input is missing, unknown, of another shape, or has values that are not finite.
    """
    specs = {spec.name: spec for spec in input_specs(description)}
    if unknown := [name for name in given if name not in specs]:
        raise InputError(f"input {unknown[0][:80]!r}: not one of {', '.join(specs)}.")
    if missing := [name for name, spec in specs.items() if spec.is_required and name not in given]:
        raise InputError(f"input {missing[0]!r} is missing.")
    size = len(given["past_y"]) if given["past_y"].ndim else 0
    inputs = {name: _checked(given[name], spec, size) for name, spec in specs.items() if name in given}
    if "past_mask" not in inputs:
        inputs["past_mask"] = np.ones_like(inputs["past_y"])
    elif not np.isin(inputs["past_mask"], (0, 1)).all():
        raise InputError("input 'past_mask': must be 0 where a value is missing and 1 where it was observed.")
    if "series" in specs:
        places = inputs.setdefault("series", np.full(size, -1, np.int64))
        low = 0 if description.requires_known_series else -1
        if (places < low).any() or (places >= len(description.series)).any():
            raise InputError(f"input 'series': must be from {low} to {len(description.series) - 1}.")
    return inputs, size


def _checked(values: Array, spec: TensorSpec, size: int) -> Array:
    if size < 1 or values.shape != (size, *spec.shape):
        wanted = ", ".join(map(str, ("windows", *spec.shape)))
        raise InputError(f"input {spec.name!r}: the shape {list(values.shape)} must be [{wanted}].")
    if spec.datatype == "INT64":
        if values.dtype.kind not in "iu":
            raise InputError(f"input {spec.name!r}: must have an integer datatype.")
        return np.ascontiguousarray(values, np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        numbers: Floats32 = np.ascontiguousarray(values, np.float32)
    if not np.isfinite(numbers).all():
        raise InputError(f"input {spec.name!r}: has values that are not finite; mark missing ones in past_mask.")
    return numbers


def output_of(forecast: Floats32, name: str) -> Floats32:
    """Return an output by its name from ``forecast``, which has the point first and the quantiles after it."""
    if name == POINT:
        return forecast[..., 0]
    return forecast[..., 1:] if name == QUANTILES else forecast
