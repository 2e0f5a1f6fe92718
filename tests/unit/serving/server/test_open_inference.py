"""Tensors of the open inference protocol are checked and read as NumPy reads them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError
from neuro_divergent.serving.server.open_inference import decode_infer, encode_infer
from neuro_divergent.serving.server.tensors import example_inputs, input_specs
from tests.integration.serving.small_graph import INPUT_SIZE, describe

PLAIN = describe()
RICH = describe(
    past=({"name": "price"},), calendar=("hour", "day_of_week"), static=({"name": "size"},), takes_series=True,
    series=("A", "B"),
)  # fmt: skip


def tensor(name: str, values: Any, datatype: str = "FP32", **more: Any) -> dict[str, Any]:
    """Return a tensor of a request."""
    array = np.asarray(values)
    return {"name": name, "shape": list(array.shape), "datatype": datatype, "data": array.ravel().tolist(), **more}


def history(size: int = 2) -> np.ndarray:
    """Return windows."""
    return np.arange(size * INPUT_SIZE, dtype=np.float32).reshape(size, INPUT_SIZE, 1)


def decode(content: Any, description: Any = PLAIN) -> Any:
    """Read a request in JSON."""
    return decode_infer(msgspec.json.encode(content), None, description)


def test_mask_and_series_have_defaults_and_all_inputs_are_read() -> None:
    inputs = [
        tensor("past_y", history()),
        tensor("past_x", np.ones((2, INPUT_SIZE, 1))),
        tensor("future_x", np.ones((2, INPUT_SIZE + 3, 2))),
        tensor("static_x", np.ones((2, 1))),
    ]
    request = decode({"inputs": inputs}, RICH)
    assert request.size == 2
    assert request.inputs.keys() == {spec.name for spec in input_specs(RICH)} == example_inputs(RICH).keys()
    np.testing.assert_array_equal(request.inputs["past_y"], history())
    assert request.inputs["past_mask"].all()
    assert request.inputs["series"].tolist() == [-1, -1]
    assert all(array.dtype == (np.int64 if name == "series" else np.float32) for name, array in request.inputs.items())


@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64", "INT8", "UINT8", "INT64", "UINT32"])
def test_binary_tensors_of_every_datatype_equal_json(datatype: str) -> None:
    codes = {
        "FP16": "<f2",
        "FP32": "<f4",
        "FP64": "<f8",
        "INT8": "<i1",
        "UINT8": "<u1",
        "INT64": "<i8",
        "UINT32": "<u4",
    }
    array = history().astype(codes[datatype])
    item = tensor("past_y", array, datatype)
    as_json = decode({"inputs": [item]})
    del item["data"]
    head = msgspec.json.encode({"inputs": [{**item, "parameters": {"binary_data_size": array.nbytes}}]})
    as_binary = decode_infer(head + array.tobytes(), str(len(head)).encode(), PLAIN)
    np.testing.assert_array_equal(as_json.inputs["past_y"], as_binary.inputs["past_y"])
    np.testing.assert_array_equal(as_json.inputs["past_y"], history())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "other"}, "not one of past_y, past_mask"),
        ({"shape": [2, INPUT_SIZE]}, "the shape"),
        ({"shape": [1, INPUT_SIZE, 1]}, "needs 8 numbers; 16 arrived"),
        ({"shape": []}, "has no windows"),
        ({"shape": [2**40, 2**40, 2]}, "has no windows"),
        ({"shape": [-1, 2]}, "not JSON of the open inference protocol"),
        ({"datatype": "BYTES"}, "the datatype 'BYTES'"),
        ({"data": None}, "data must be numbers"),
        ({"data": ["1"] * 16}, "data must be numbers"),
        ({"data": [1e39] * 16}, "not finite"),
        ({"data": [[1.0], [1.0, 2.0]]}, "data must be numbers"),
        ({"parameters": {"binary_data_size": 64}}, "bytes of binary data are needed"),
    ],
)
def test_tensor_that_cannot_be_used_is_refused_with_the_reason(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        decode({"inputs": [{**tensor("past_y", history()), **change}]})


def test_binary_part_that_does_not_fit_is_refused() -> None:
    item = {"name": "past_y", "shape": [1, INPUT_SIZE, 1], "datatype": "FP32", "parameters": {"binary_data_size": 32}}
    head = msgspec.json.encode({"inputs": [item]})
    good = np.ones(INPUT_SIZE, "<f4").tobytes()
    assert decode_infer(head + good, str(len(head)).encode(), PLAIN).size == 1
    for body, length in ((head + good[:-1], len(head)), (head + good + b"x", len(head)), (head, 10**6)):
        with pytest.raises(InputError):
            decode_infer(body, str(length).encode(), PLAIN)
    with pytest.raises(InputError, match="not finite"):
        decode_infer(head + np.full(INPUT_SIZE, np.nan, "<f4").tobytes(), str(len(head)).encode(), PLAIN)


@given(st.binary(max_size=300), st.one_of(st.none(), st.binary(max_size=6)))
def test_any_bytes_are_read_or_refused_with_an_input_error(body: bytes, length: bytes | None) -> None:
    with pytest.raises(InputError):
        decode_infer(body, length, PLAIN)


def test_outputs_are_cut_from_the_forecast_and_unknown_ones_refused() -> None:
    forecast = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 1, 4)
    request = decode({"inputs": [tensor("past_y", history())], "outputs": [{"name": "quantiles"}, {"name": "point"}]})
    body, kind, headers = encode_infer(request, forecast, model="m", version="v")
    quantiles, point = msgspec.json.decode(body)["outputs"]
    assert (kind, headers) == (b"application/json", ())
    np.testing.assert_array_equal(np.reshape(quantiles["data"], quantiles["shape"]), forecast[..., 1:])
    np.testing.assert_array_equal(np.reshape(point["data"], point["shape"]), forecast[..., 0])
    with pytest.raises(InputError, match="not one of forecast, point, quantiles"):
        decode({"inputs": [tensor("past_y", history())], "outputs": [{"name": "x"}]})


def test_forecast_that_is_not_finite_becomes_null() -> None:
    request = decode({"inputs": [tensor("past_y", history(1))]})
    body, _, _ = encode_infer(request, np.full((1, 3, 1, 4), np.nan, np.float32), model="m", version="v")
    assert msgspec.json.decode(body)["outputs"][0]["data"] == [None] * 12
