"""Weights of 8 bits keep what layers add up."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from onnx import TensorProto, helper, numpy_helper

from neuro_divergent.serving.export.quantization import _rounded, quantize

VALUES = st.floats(-10, 10, width=32, allow_subnormal=False)


@settings(max_examples=100, deadline=None)
@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=40), elements=VALUES))
def test_rounded_weights_are_within_one_step_and_keep_the_sum_of_each_output(values: np.ndarray) -> None:
    rounded, scale = _rounded(values)
    restored = rounded * scale.astype(np.float64)
    assert rounded.dtype == np.int8
    assert (np.abs(restored - values) <= scale * 1.001).all()
    assert (np.abs(restored.sum(0) - values.sum(0, dtype=np.float64)) <= scale * 0.51).all()


def graph(*, size: int = 128) -> onnx.ModelProto:
    """Return a network of two layers: the first reads the input, the second what the first gives."""
    random = np.random.default_rng(0)
    weights = [random.normal(size=(size, size)).astype(np.float32) / size**0.5 for _ in range(2)]
    nodes = [
        helper.make_node("Gemm", ["x", "first", "bias"], ["hidden"], transB=1),
        helper.make_node("Relu", ["hidden"], ["positive"]),
        helper.make_node("MatMul", ["positive", "second"], ["y"]),
    ]
    stored = [("first", weights[0]), ("second", weights[1]), ("bias", random.normal(size=size).astype(np.float32))]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name in ("x", "y")]
    made = helper.make_graph(
        nodes, "two", ends[:1], ends[1:], [numpy_helper.from_array(*item[::-1]) for item in stored]
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def run(model: onnx.ModelProto, values: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: np.ndarray = session.run(None, {"x": values})[0]
    return found


def test_both_weights_have_8_bits_and_only_inputs_from_a_layer_are_rounded() -> None:
    plain = graph()
    small = quantize(plain)
    kinds = [node.op_type for node in small.graph.node]
    assert kinds.count("MatMulInteger") == 1
    assert kinds.count("DynamicQuantizeLinear") == 1
    floats = [item for item in small.graph.initializer if item.data_type == TensorProto.FLOAT]
    assert max(int(np.prod(item.dims)) for item in floats) <= 128
    assert small.ByteSize() < 0.3 * plain.ByteSize()
    values = np.random.default_rng(1).normal(size=(50, 128)).astype(np.float32)
    expected = run(plain, values)
    assert np.abs(run(small, values) - expected).max() < 0.05 * expected.std()
    assert all(item.data_type == TensorProto.FLOAT for item in plain.graph.initializer)  # it stays as it was


def test_small_weights_stay_as_they_are() -> None:
    plain = graph(size=16)
    values = np.random.default_rng(1).normal(size=(5, 16)).astype(np.float32)
    np.testing.assert_allclose(run(quantize(plain), values), run(plain, values), rtol=1e-6)
