"""The open inference protocol, version 2 (KServe, Triton): named tensors in JSON or binary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.core.errors import InputError
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.server.http_message import BINARY, JSON, Header
from neuro_divergent.serving.server.tensors import (
    FORECAST,
    TensorSpec,
    checked_inputs,
    datatype,
    input_specs,
    output_of,
    output_specs,
)

LENGTH = b"inference-header-content-length"
_MOST_DIMENSIONS = 8
_Size = Annotated[int, msgspec.Meta(ge=0, le=2**40)]


class _Tensor(msgspec.Struct):
    name: str
    shape: list[_Size]
    datatype: str
    data: msgspec.Raw = msgspec.Raw(b"")
    parameters: dict[str, Any] = {}


class _Output(msgspec.Struct):
    name: str
    parameters: dict[str, Any] = {}


class _Request(msgspec.Struct):
    inputs: list[_Tensor]
    id: str | None = None
    outputs: list[_Output] = []
    parameters: dict[str, Any] = {}


_REQUEST = msgspec.json.Decoder(_Request)
_FLAT = msgspec.json.Decoder(list[float])
_INTEGERS = msgspec.json.Decoder(list[int])


@dataclass(frozen=True)
class InferRequest:
    """A request for an inference.

    Attributes:
        inputs: Checked inputs of the graph.
        size: Number of windows.
        id: Identifier that the answer repeats.
        outputs: Names of the outputs, and whether each is wanted in binary.
    """

    inputs: dict[str, Array]
    size: int
    id: str | None
    outputs: tuple[tuple[str, bool], ...]


def decode_infer(body: bytes, header_length: bytes | None, description: Description) -> InferRequest:
    """Read a request.

    Args:
        body: JSON, and after it the binary tensors in the order of the inputs.
        header_length: The header Inference-Header-Content-Length: bytes of the JSON; ``None`` if all of it is.
        description: Of the model.

    Raises:
        InputError: If it cannot be used.
    """
    text, rest = _split(body, header_length)
    try:
        request = _REQUEST.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise InputError(f"the request is not JSON of the open inference protocol: {error}.") from None
    given: dict[str, Array] = {}
    for tensor in request.inputs:
        if tensor.name in given:
            raise InputError(f"input {tensor.name[:80]!r} is there twice.")
        given[tensor.name], rest = _values(tensor, rest)
    if rest:
        raise InputError(f"the binary part has {len(rest)} bytes more than the inputs name.")
    inputs, size = checked_inputs(given, description)
    return InferRequest(inputs, size, request.id, _outputs(request, description))


def _split(body: bytes, header_length: bytes | None) -> tuple[bytes, memoryview]:
    if header_length is None:
        return body, memoryview(b"")
    if not header_length.isdigit() or len(header_length) > 12 or int(header_length) > len(body):
        raise InputError("the header Inference-Header-Content-Length must be the number of bytes of the JSON.")
    length = int(header_length)
    return body[:length], memoryview(body)[length:]


def _values(tensor: _Tensor, rest: memoryview) -> tuple[Array, memoryview]:
    """Return the values of a tensor, and what remains of the binary part."""
    name, shape = tensor.name[:80], tensor.shape
    kind = datatype(tensor.datatype, name)
    count = math.prod(shape)
    if not 0 < len(shape) <= _MOST_DIMENSIONS or not 0 < count < 2**40:
        raise InputError(f"input {name!r}: the shape {shape[:10]} has no windows.")
    size = tensor.parameters.get("binary_data_size")
    if size is None:
        return _from_json(tensor, kind, count), rest
    if bytes(tensor.data) or not isinstance(size, int) or size != count * kind.itemsize or size > len(rest):
        raise InputError(
            f"input {name!r}: {count * kind.itemsize} bytes of binary data are needed by its shape and datatype, "
            f"binary_data_size is {str(size)[:40]} and {len(rest)} bytes are left."
        )
    return np.frombuffer(rest[:size], kind).reshape(shape), rest[size:]


def _from_json(tensor: _Tensor, kind: np.dtype[np.generic], count: int) -> Array:
    name = tensor.name[:80]
    numbers: Any
    try:
        numbers = (_INTEGERS if kind.kind in "iu" else _FLAT).decode(tensor.data)
    except (msgspec.MsgspecError, RecursionError):
        numbers = _nested(tensor)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(numbers, np.int64 if kind.kind in "iu" else np.float64)
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            f"input {name!r}: data must be numbers, in one list or in nested lists of its shape."
        ) from None
    if values.size != count or (values.ndim != 1 and list(values.shape) != tensor.shape):
        raise InputError(f"input {name!r}: the shape {tensor.shape} needs {count} numbers; {values.size} arrived.")
    return values.reshape(tensor.shape)


def _nested(tensor: _Tensor) -> Any:
    try:
        found = msgspec.json.decode(tensor.data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"input {tensor.name[:80]!r}: data are missing or no list of numbers ({error}).") from None
    if not isinstance(found, list) or not _is_numeric(found):
        raise InputError(f"input {tensor.name[:80]!r}: data must be numbers, in one list or in nested lists.")
    return found


def _is_numeric(values: list[Any]) -> bool:
    """Whether nested lists hold nothing but numbers; NumPy would read text and null as numbers."""
    waiting = [values]
    while waiting:
        for item in waiting.pop():
            if isinstance(item, list):
                waiting.append(item)
            elif not isinstance(item, int | float):
                return False
    return True


def _outputs(request: _Request, description: Description) -> tuple[tuple[str, bool], ...]:
    """Return the outputs that are wanted; without a list, the forecast."""
    every = request.parameters.get("binary_data_output") is True
    known = [spec.name for spec in output_specs(description)]
    found: dict[str, bool] = {}
    for output in request.outputs:
        if output.name not in known:
            raise InputError(f"output {output.name[:80]!r}: not one of {', '.join(known)}.")
        found[output.name] = output.parameters.get("binary_data", every) is True
    return tuple(found.items()) or ((FORECAST, every),)


def encode_infer(
    request: InferRequest, forecast: Floats32, *, model: str, version: str
) -> tuple[bytes, bytes, tuple[Header, ...]]:
    """Return the body of the answer, its content type and its headers.

    Args:
        request: What was asked for.
        forecast: Output of the graph for its windows.
        model: Name of the model.
        version: Version that made it.
    """
    outputs, parts = [], []
    for name, in_binary in request.outputs:
        values = np.ascontiguousarray(output_of(forecast, name), "<f4")
        tensor: dict[str, Any] = {"name": name, "shape": list(values.shape), "datatype": "FP32"}
        if in_binary:
            parts.append(values.tobytes())
            tensor["parameters"] = {"binary_data_size": len(parts[-1])}
        else:
            tensor["data"] = values.ravel().tolist()
        outputs.append(tensor)
    answer = {"model_name": model, "model_version": version, "outputs": outputs}
    if request.id is not None:
        answer["id"] = request.id
    text = msgspec.json.encode(answer)
    if not parts:
        return text, JSON, ()
    return b"".join((text, *parts)), BINARY, ((LENGTH, b"%d" % len(text)),)


def model_metadata(description: Description, *, model: str, version: str) -> dict[str, Any]:
    """Return the metadata of a model, as the protocol has them."""
    return {
        "name": model,
        "versions": [version],
        "platform": "onnx_onnxv1",
        "inputs": [_metadata(spec) for spec in input_specs(description)],
        "outputs": [_metadata(spec) for spec in output_specs(description)],
    }


def _metadata(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "datatype": spec.datatype, "shape": [-1, *spec.shape]}
