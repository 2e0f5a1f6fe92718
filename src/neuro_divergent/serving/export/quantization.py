"""Weights of 8 bits: a file of about a quarter of the size."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.serving.dependency import load_package

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_PRODUCTS = ("MatMul", "Gemm")
_SMALLEST = 4096  # numbers of a weight from which on 8 bits are worth their rounding
_LARGEST = 127.0
# Where values of the data end: what comes after these has been mixed or bounded by a layer.
_LAYERS = (*_PRODUCTS, "Conv", "LSTM", "GRU", "RNN", "Relu", "Gelu", "Erf", "Tanh", "Sigmoid", "LayerNormalization")


def quantize(model: ModelProto) -> ModelProto:
    """Return a graph whose matrix products have weights of 8 bits, with a scale for each output.

    Inputs of products are rounded to 8 bits as they come (dynamic quantization), which needs no data for calibration
    and was more exact than static quantization on these networks. Products that read values of the window directly,
    instead of the output of a layer, keep their inputs: rounding those made most of the error. Weights that are not
    those of products, such as of convolutions and recurrent layers, and small ones stay as they are.

    The range of a product's inputs is taken over all windows of a batch, so a forecast depends a little on the others.
    """
    onnx, library = load_package("onnx"), load_package("onnxruntime.quantization")
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    del plain.graph.value_info[:]  # shapes that quantization would infer in another way, and refuse
    for place, node in enumerate(plain.graph.node):
        node.name = f"node_{place}"
    _round_products(plain)
    kept = [node.name for node in plain.graph.node if node.op_type in _PRODUCTS and _keeps_inputs(plain, node)]
    with TemporaryDirectory() as directory, _quiet():
        path = Path(directory) / "model.onnx"
        library.quantize_dynamic(
            plain,
            path,
            weight_type=library.QuantType.QInt8,
            per_channel=True,
            nodes_to_exclude=[*kept, *(f"{name}_MatMul" for name in kept)],  # it makes a MatMul of each Gemm first
        )
        quantized: ModelProto = onnx.load(path)
    _store_weights(quantized)
    return quantized


def _keeps_inputs(model: ModelProto, node: NodeProto) -> bool:
    """Whether a product has a small weight, or reads values of the window that no layer has changed."""
    sizes = {item.name: int(np.prod(item.dims)) for item in model.graph.initializer}
    if sizes.get(node.input[1], _SMALLEST) < _SMALLEST:
        return True
    makers = {output: other for other in model.graph.node for output in other.output}
    inputs = {item.name for item in model.graph.input}
    todo, seen = [node.input[0]], set()
    while todo:
        name = todo.pop()
        if name in inputs:
            return True
        maker = makers.get(name)
        if maker is not None and name not in seen and maker.op_type not in _LAYERS:
            seen.add(name)
            todo += maker.input
    return False


def _round_products(model: ModelProto) -> None:
    """Replace the weights of products by what 8 bits hold, so that no later step rounds them in another way."""
    arrays = load_package("onnx.numpy_helper")
    weights = {item.name: item for item in model.graph.initializer}
    for node in model.graph.node:
        weight = weights.get(node.input[1]) if node.op_type in _PRODUCTS else None
        if weight is None or len(weight.dims) != 2 or np.prod(weight.dims) < _SMALLEST:
            continue
        values = arrays.to_array(weight)
        if values.dtype == np.float32:
            turned = any(item.name == "transB" and item.i for item in node.attribute)
            rounded, scale = _rounded(values.T if turned else values)
            restored = rounded * scale
            weight.CopyFrom(arrays.from_array(np.ascontiguousarray(restored.T if turned else restored), weight.name))


def _store_weights(model: ModelProto) -> None:
    """Store the weights of products that were not quantized in 8 bits; they become 32-bit floats when it is loaded."""
    onnx, helper, arrays = (load_package(name) for name in ("onnx", "onnx.helper", "onnx.numpy_helper"))
    weights = {item.name: item for item in model.graph.initializer}
    nodes: list[Any] = []
    for node in model.graph.node:
        weight = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is not None and len(weight.dims) == 2 and np.prod(weight.dims) >= _SMALLEST:
            values = arrays.to_array(weight)
            if values.dtype == np.float32:
                rounded, scale = _rounded(values)
                named = [f"{weight.name}_{part}" for part in ("int8", "scale", "float", "weight")]
                model.graph.initializer.append(arrays.from_array(rounded, named[0]))
                model.graph.initializer.append(arrays.from_array(scale, named[1]))
                # Runtimes do this once when they load the graph; DequantizeLinear they would do for every batch.
                nodes.append(helper.make_node("Cast", named[:1], named[2:3], to=onnx.TensorProto.FLOAT))
                nodes.append(helper.make_node("Mul", [named[2], named[1]], named[3:]))
                node.input[1] = named[3]
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    used = {name for node in model.graph.node for name in node.input}
    kept = [item for item in model.graph.initializer if item.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)


def _rounded(values: Array) -> tuple[Array, Array]:
    """Return a weight ``(inputs, outputs)`` as integers of 8 bits, and the scale of each output.

    The sum of the weights of an output is kept: as many of them as needed, those nearest to the middle between two
    integers, are rounded to the other side. Inputs after an activation function are positive on average, so the error
    of the sum would be one of the output.
    """
    scale = np.maximum(np.abs(values).max(0) / _LARGEST, np.finfo(np.float32).tiny).astype(np.float32)
    exact = values.astype(np.float64) / scale
    nearest = np.rint(exact)
    rest = exact - nearest
    missing = np.rint(rest.sum(0))
    # Counted from the weight that is furthest from its integer towards the side that is missing.
    rank = np.argsort(np.argsort(-rest * np.sign(missing), axis=0, kind="stable"), axis=0, kind="stable")
    nearest += np.where(rank < np.abs(missing), np.sign(missing), 0)
    return np.clip(nearest, -_LARGEST, _LARGEST).astype(np.int8), scale


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the recommendation of steps that were done from the caller."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)
