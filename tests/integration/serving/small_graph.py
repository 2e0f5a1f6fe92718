"""Exported models that are made in a millisecond: the mean of the history plus a constant of the version."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from neuro_divergent.serving.description import KEY, Description

INPUT_SIZE, HORIZON = 8, 3
QUANTILES = (0.1, 0.5, 0.9)
SPREAD = (0.0, -1.0, 0.0, 1.0)


def digest_of(version: int) -> str:
    """Return the digest that stands for a version."""
    return hashlib.sha256(f"version {version}".encode()).hexdigest()


def describe(version: int = 0, **changes: Any) -> Description:
    """Return the description of a version."""
    values: dict[str, Any] = {
        "package": "0.0.0",
        "kind": "Forecaster",
        "architecture": "mean",
        "digest": digest_of(version),
        "horizon": HORIZON,
        "input_size": INPUT_SIZE,
        "target": "y",
        "time": "ds",
        "id": "unique_id",
        "time_type": "datetime",
        "time_unit": "us",
        "frequency": "1h",
        "quantiles": QUANTILES,
        "target_range": (-100.0, 1000.0),
    }
    return Description(**{**values, **changes})


def expected(history: list[float], version: int = 0) -> list[float]:
    """Return the point forecast of a version."""
    return [float(np.float32(np.mean(history)) + step + 1000 * version) for step in range(1, HORIZON + 1)]


def write_graph(path: Path, version: int = 0, **changes: Any) -> Path:
    """Write the exported model of a version."""
    description = describe(version, **changes)
    length = description.input_size
    steps = np.arange(1, description.horizon + 1, dtype=np.float32).reshape(1, -1, 1) + 1000 * version
    shapes = {"past_y": ["batch", length, 1], "past_mask": ["batch", length, 1]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    output_shape = ["batch", description.horizon, 1, 1 + len(description.quantiles)]
    output = helper.make_tensor_value_info("forecast", TensorProto.FLOAT, output_shape)
    spread = np.asarray(SPREAD[: 1 + len(description.quantiles)], np.float32).reshape(1, 1, 1, -1)
    constants = {"steps": steps.astype(np.float32), "spread": spread, "one": np.array([1]), "last": np.array([3])}
    nodes = [
        helper.make_node("Mul", ["past_y", "past_mask"], ["observed"]),
        helper.make_node("ReduceSum", ["observed", "one"], ["total"], keepdims=1),
        helper.make_node("ReduceSum", ["past_mask", "one"], ["count"], keepdims=1),
        helper.make_node("Div", ["total", "count"], ["mean"]),
        helper.make_node("Add", ["mean", "steps"], ["point"]),
        helper.make_node("Unsqueeze", ["point", "last"], ["column"]),
        helper.make_node("Add", ["column", "spread"], ["forecast"]),
    ]
    graph = helper.make_graph(
        nodes, "mean", inputs, [output], [numpy_helper.from_array(value, name) for name, value in constants.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    entry = model.metadata_props.add()
    entry.key, entry.value = KEY, description.to_json().decode()
    onnx.checker.check_model(model)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(model.SerializeToString())
    partial.replace(path)
    return path
