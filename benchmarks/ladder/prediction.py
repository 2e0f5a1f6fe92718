"""One prediction at a time: from a row of float64 numbers to a Python float, in several ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ladder.problem import Array, Layers
from ladder.rungs import build

Predict = Callable[[Array], float]
_BLOCK = 128  # rows of an int8 matrix turned into float32 at once; 16 to 256 were tried, more is quicker


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to predict.

    Attributes:
        title: What it is.
        model: Bytes of the model: weights, biases, scales.
        predict: Predicts from one row.
        scratch: Bytes it needs besides the model and its activations, which models can share.
        recording: Whether gradients are recorded, as they are unless one says otherwise.
    """

    title: str
    model: int
    predict: Predict
    scratch: int = 0
    recording: bool = False

    def context(self) -> Any:
        """Return what to predict in."""
        return nullcontext() if self.recording else torch.inference_mode()


def ways(layers: Layers) -> dict[str, Way]:
    """Return every way to predict with a trained network."""
    double, single = build(layers, torch.float64), build(layers, torch.float32)
    packed, small = Packed(layers), Quantised(layers)
    size = sum(weights.size + biases.size for weights, biases in layers)
    in_double, in_single = _calling(double, torch.float64), _calling(single, torch.float32)
    return {
        "naive": Way(title="the network, float64", model=8 * size, predict=in_double, recording=True),
        "no gradients": Way(title="float64, inference mode", model=8 * size, predict=in_double),
        "float32": Way(title="float32, inference mode", model=4 * size, predict=in_single),
        "packed": Way(title="float32, matrices in NumPy", model=4 * size, predict=packed),
        "int8": Way(title="int8 in NumPy", model=small.bytes, predict=small, scratch=small.scratch),
        "naive, NumPy by hand": Way(title="float64, for comparison", model=8 * size, predict=_by_hand(layers)),
    }


class Packed:
    """The network as float32 matrices whose last column is the bias, with memory for activations made once."""

    def __init__(self, layers: Layers) -> None:
        values = np.ones(layers[0][0].shape[1] + 1, np.float32)
        self._input = values[:-1]
        self._hidden: list[tuple[Array, Array, Array]] = []
        for matrix in _joined(layers):
            following = np.ones(len(matrix) + 1, np.float32)
            self._hidden.append((matrix.astype(np.float32), values, following[:-1]))
            values = following
        self._last = self._hidden.pop()

    def __call__(self, row: Array) -> float:
        """Predict."""
        self._input[:] = row
        for matrix, values, result in self._hidden:
            np.dot(matrix, values, out=result)
            np.maximum(result, 0, out=result)
        matrix, values, result = self._last
        np.dot(matrix, values, out=result)
        return float(result[0])


class Quantised:
    """The same with int8 matrices, biases included, and one float32 scale for each.

    Scales are never multiplied with in between: a rectifier lets a positive factor through, so activations may lack the
    scales so far if the 1 that carries the bias is divided by them. A block of rows is turned into float32 at a time.
    """

    def __init__(self, layers: Layers) -> None:
        widest = max(weights.shape[1] + 1 for weights, _ in layers)
        scratch = np.empty(_BLOCK * widest, np.float32)
        values = np.ones(layers[0][0].shape[1] + 1, np.float32)
        self._input = values[:-1]
        self._blocks: list[list[tuple[Array, Array, Array, Array]]] = []
        self._results: list[Array] = []
        self._scale = 1.0
        self.bytes, self.scratch = 0, scratch.nbytes
        for matrix in _joined(layers):
            scale = float(np.float32(np.abs(matrix).max() / 127))
            small = np.round(matrix / scale).astype(np.int8)
            self.bytes += small.nbytes + 4
            self._scale *= scale
            following = np.full(len(matrix) + 1, 1 / self._scale, np.float32)
            self._blocks.append(list(_blocks(small, scratch, values, following[:-1])))
            self._results.append(following[:-1])
            values = following

    def __call__(self, row: Array) -> float:
        """Predict."""
        self._input[:] = row
        for place, blocks in enumerate(self._blocks):
            for small, scratch, values, result in blocks:
                np.copyto(scratch, small)
                np.dot(scratch, values, out=result)
            if place < len(self._blocks) - 1:
                np.maximum(self._results[place], 0, out=self._results[place])
        return float(self._results[-1][0]) * self._scale


def _joined(layers: Layers) -> Iterator[Array]:
    """Yield each layer as one matrix, with the bias as its last column."""
    return (np.concatenate([weights, biases[:, None]], 1) for weights, biases in layers)


def _blocks(small: Array, scratch: Array, values: Array, result: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield blocks of rows with room for their float32 form, what they multiply and where it goes."""
    for begin in range(0, len(small), _BLOCK):
        rows = small[begin : begin + _BLOCK]
        yield rows, scratch[: rows.size].reshape(rows.shape), values, result[begin : begin + _BLOCK]


def _calling(module: torch.nn.Module, kind: torch.dtype) -> Predict:
    """Return the plain call of a network."""
    module.eval()
    return lambda row: module(torch.from_numpy(row).to(kind)).item()


def _by_hand(layers: Layers) -> Predict:
    def predict(row: Array) -> float:
        values = row
        for place, (weights, biases) in enumerate(layers):
            values = weights @ values + biases
            if place < len(layers) - 1:
                values = np.maximum(values, 0)
        return float(values[0])

    return predict
