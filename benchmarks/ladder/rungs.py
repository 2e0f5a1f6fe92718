"""The rungs: ways to train the same network, each adding one thing to the one before.

The naive rung is the loop of a first implementation in torch: one sample after the other through forward pass, backward
pass and update, in float64. From the vectorised rung on it is this package's trainer that trains.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from ladder.problem import BATCH, RATE, SIZES, Array, Layers, first_weights, samples

Tick = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One way to train.

    Attributes:
        title: What it adds to the rung before.
        loop: ``sample`` changes the weights after each sample, ``batch`` adds up the gradients of a batch of samples,
            ``trainer`` lets this package train on matrices, ``numpy`` is ``sample`` without torch.
        numbers: Type of the numbers.
        many: Whether it uses all cores.
        compiled: Whether the network is compiled.
    """

    title: str
    loop: str = "trainer"
    numbers: str = "float64"
    many: bool = False
    compiled: bool = False


RUNGS = {
    "naive": Rung(title="one sample at a time, float64", loop="sample"),
    "mini-batch": Rung(title=f"weights change once per {BATCH} samples", loop="batch"),
    "vectorised": Rung(title="a batch is a matrix"),
    "threads": Rung(title="all cores", many=True),
    "float32": Rung(title="half as many bytes", many=True, numbers="float32"),
    "compiled": Rung(title="torch.compile", many=True, numbers="float32", compiled=True),
}
# Not part of the ladder: the naive loop with the gradient derived by hand, which spares it all of autograd.
BY_HAND = {"naive, NumPy by hand": Rung(title="for comparison: no autograd", loop="numpy")}


class Training:
    """A network and its data, ready to be trained on a rung."""

    def __init__(self, rung: Rung, threads: int) -> None:
        self.rung = rung
        self.threads = threads if rung.many else 1
        self._layers = first_weights()
        inputs, targets = samples()
        if rung.loop != "numpy":
            kind = getattr(torch, rung.numbers)
            self._data = (torch.from_numpy(inputs).to(kind), torch.from_numpy(targets).to(kind))
            self._module = build(self._layers, kind)
        else:
            self._arrays = (inputs, targets)

    def run(self, epochs: int) -> list[float]:
        """Train on and return the seconds of each epoch."""
        times = [time.perf_counter()]

        def tick() -> None:
            times.append(time.perf_counter())

        if self.rung.loop == "trainer":
            times.clear()
            self._train(epochs, tick)
        else:
            loop = {"sample": _per_sample, "batch": _per_batch, "numpy": _by_hand}[self.rung.loop]
            torch.set_num_threads(self.threads)
            for _ in range(epochs):
                loop(*((self._layers, *self._arrays) if self.rung.loop == "numpy" else (self._module, *self._data)))
                tick()
        return np.diff(times).tolist()

    @property
    def layers(self) -> Layers:
        """The weights as they are now, in the type they have."""
        if self.rung.loop == "numpy":
            return self._layers
        return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in _linear(self._module)]

    @property
    def data_bytes(self) -> int:
        """Bytes of the samples."""
        return sum(array.nbytes for array in (self._arrays if self.rung.loop == "numpy" else self._data))

    def _train(self, epochs: int, tick: Tick) -> None:
        config = nd.TrainingConfig(
            max_epochs=epochs,
            max_steps=None,
            batch_size=BATCH,
            optimizer=nd.optimizers.SGD(lr=RATE, momentum=0.0),
            schedule=nd.schedules.Constant(),
            clip=None,
            early_stopping=None,
            shuffle=False,
            threads=self.threads,
            precision=self.rung.numbers,
            compile=self.rung.compiled,
            device="cpu",
        )
        nd.Trainer(self._module, nn.functional.mse_loss, config, callbacks=[_Clock(tick)]).fit(self._data)


class _Clock(nd.callbacks.Callback):
    """Notes when training starts and when each epoch ends."""

    def __init__(self, tick: Tick) -> None:
        self._tick = tick

    def fit_start(self, trainer: nd.Trainer) -> None:
        self._tick()

    def epoch_end(self, trainer: nd.Trainer) -> None:
        self._tick()


def build(layers: Layers, kind: torch.dtype) -> nn.Sequential:
    """Return a perceptron with given weights."""
    parts: list[nn.Module] = []
    for inputs, outputs in pairwise(SIZES):
        parts += [nn.Linear(inputs, outputs, dtype=kind), nn.ReLU()]
    module = nn.Sequential(*parts[:-1])
    with torch.no_grad():
        for layer, (weights, biases) in zip(_linear(module), layers, strict=True):
            layer.weight.copy_(torch.from_numpy(weights))
            layer.bias.copy_(torch.from_numpy(biases))
    return module


def _linear(module: nn.Sequential) -> Iterator[nn.Linear]:
    return (layer for layer in module if isinstance(layer, nn.Linear))


def _per_sample(module: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Change the weights after every sample."""
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE / BATCH)
    for sample, target in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        loss = ((module(sample) - target) ** 2).sum()
        loss.backward()
        optimizer.step()


def _per_batch(module: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Add up the gradients of the samples of a batch, one after the other, then change the weights."""
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    for begin in range(0, len(inputs), BATCH):
        optimizer.zero_grad()
        for sample, target in zip(inputs[begin : begin + BATCH], targets[begin : begin + BATCH], strict=True):
            loss = ((module(sample) - target) ** 2).sum() / BATCH
            loss.backward()
        optimizer.step()


def _by_hand(layers: Layers, inputs: Array, targets: Array) -> None:
    """Do what ``_per_sample`` does with matrix-vector products and the chain rule written out."""
    for sample, target in zip(inputs, targets, strict=True):
        values = [sample]
        for place, (weights, biases) in enumerate(layers):
            total = weights @ values[-1] + biases
            values.append(np.maximum(total, 0) if place < len(layers) - 1 else total)
        slope = 2 * (values[-1] - target)
        for place in reversed(range(len(layers))):
            weights, biases = layers[place]
            gradient, own = np.outer(slope, values[place]), slope
            if place:
                slope = (weights.T @ slope) * (values[place] > 0)
            layers[place] = (weights - RATE / BATCH * gradient, biases - RATE / BATCH * own)
