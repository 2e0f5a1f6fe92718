"""Files that are or are not exported models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from neuro_divergent.core.errors import InputError, NewerFormatError, UntrustedFileError
from neuro_divergent.serving.description import KEY, Description
from neuro_divergent.serving.exported_model import load
from neuro_divergent.serving.onnx_runner import OnnxRunner

DESCRIPTION = Description(
    package="0",
    kind="Forecaster",
    architecture="last_value",
    digest="d" * 64,
    horizon=2,
    input_size=3,
    target="y",
    time="ds",
    time_type="integer",
    frequency="1",
)


def graph(*, batch: Any = "batch", rows: int = 3, output: str = "forecast") -> onnx.ModelProto:
    """Return a graph that repeats the last two values of a history."""
    ends = [helper.make_tensor(name, TensorProto.INT64, [1], [value]) for name, value in (("a", 1), ("b", 3), ("c", 1))]
    last = helper.make_node("Slice", ["past_y", "a", "b", "c"], ["tail"])
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [3])
    return helper.make_model(
        helper.make_graph(
            [last, helper.make_node("Unsqueeze", ["tail", "axes"], [output])],
            "g",
            [helper.make_tensor_value_info("past_y", TensorProto.FLOAT, [batch, rows, 1])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, [batch, 2, 1, 1])],
            [*ends, axes],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )


def content(model: onnx.ModelProto, description: Any = DESCRIPTION) -> bytes:
    """Return a file with a description."""
    if description is not None:
        text = description.to_json().decode() if isinstance(description, Description) else description
        model.metadata_props.add(key=KEY, value=text)
    data: bytes = model.SerializeToString()
    return data


def test_graph_that_does_not_use_the_mask_is_run(tmp_path: Path) -> None:
    (tmp_path / "sales.onnx").write_bytes(content(graph()))
    model = load(tmp_path / "sales.onnx")
    (found,) = model.forecast([{"y": [1, 2, 3], "end": 7}])
    assert found.times == [8, 9]
    np.testing.assert_array_equal(found.point, [2, 3])
    assert model.name == "sales"


def test_model_in_a_run_is_named_after_the_run(tmp_path: Path) -> None:
    (tmp_path / "sales-1").mkdir()
    (tmp_path / "sales-1" / "model.onnx").write_bytes(content(graph()))
    assert load(tmp_path / "sales-1" / "model.onnx").name == "sales-1"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cannot be read as an ONNX file"),
        (b"not a graph" * 100, "cannot be read as an ONNX file"),
        (content(graph())[:-40], "."),
        (content(graph(), None), "not of this package"),
        (content(graph(), "{}"), "is not an exported model"),
        (content(graph(), "[1]"), "is not an exported model"),
        (content(graph(), '{"format": 1, "horizon": 2}'), "is not an exported model"),
        (content(graph(batch=4)), "does not match its description"),
        (content(graph(output="y")), "does not match its description"),
        (content(graph(), msgspec.structs.replace(DESCRIPTION, horizon=5)), "does not match its description"),
        (content(graph(), msgspec.structs.replace(DESCRIPTION, input_size=9)), "does not match its description"),
        (content(graph(), msgspec.structs.replace(DESCRIPTION, quantiles=(0.1,))), "does not match its description"),
    ],
)
def test_file_that_is_no_exported_model_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(data)
    with pytest.raises(UntrustedFileError, match=message) as caught:
        load(tmp_path / "m.onnx")
    assert "m.onnx" in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("frequency", ["1h", "", "x"])
def test_description_that_contradicts_itself_is_refused(frequency: str) -> None:
    description = msgspec.structs.replace(DESCRIPTION, frequency=frequency)
    runner = OnnxRunner(content(graph(), description), place="m.onnx")
    from neuro_divergent.serving.exported_model import ExportedModel

    with pytest.raises(UntrustedFileError, match="not an exported model"):
        ExportedModel(runner.description, runner)


def test_newer_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(content(graph(), '{"format": 99, "new": true}'))
    with pytest.raises(NewerFormatError, match="Upgrade"):
        load(tmp_path / "m.onnx")


def test_weights_in_another_file_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = graph(output="tail_4d")
    weights = helper.make_tensor("w", TensorProto.FLOAT, [4], np.ones(4, np.float32).tobytes(), raw=True)
    onnx.external_data_helper.set_external_data(weights, "secret.bin")
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    model.graph.initializer.append(weights)
    model.graph.node.append(helper.make_node("ReduceSum", ["w"], ["sum"], keepdims=0))
    model.graph.node.append(helper.make_node("Add", ["tail_4d", "sum"], ["forecast"]))
    model.graph.output[0].name = "forecast"
    (tmp_path / "secret.bin").write_bytes(np.ones(4, np.float32).tobytes())
    (tmp_path / "m.onnx").write_bytes(content(model))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UntrustedFileError, match="cannot be read as an ONNX file"):
        load("m.onnx")


def test_missing_things_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not found"):
        load(tmp_path / "m.onnx")
    with pytest.raises(InputError, match="not found"):
        load(tmp_path / "m")
    with pytest.raises(InputError, match="is not a model, a run"):
        load(tmp_path)
    (tmp_path / "sales").mkdir()
    (tmp_path / "sales" / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"Run: nd export .*sales"):
        load(tmp_path / "sales")
    (tmp_path / "sales.onnx").write_bytes(content(graph()))
    with pytest.raises(InputError, match="was exported from another version of the model"):
        load(tmp_path / "sales")
    with pytest.raises(InputError, match="threads"):
        load(tmp_path / "sales.onnx", threads=0)
