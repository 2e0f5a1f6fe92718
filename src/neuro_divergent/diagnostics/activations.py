"""Activations of a network: dead units, saturation and utilisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from neuro_divergent.core.spec import Batch
from neuro_divergent.diagnostics.sample import take
from neuro_divergent.diagnostics.structure import ROOT
from neuro_divergent.diagnostics.undisturbed import undisturbed

_KINDS = {
    "relu": "ReLU", "relu6": "ReLU6", "leaky_relu": "LeakyReLU", "prelu": "PReLU", "rrelu": "RReLU", "elu": "ELU",
    "celu": "CELU", "selu": "SELU", "gelu": "GELU", "silu": "SiLU", "mish": "Mish", "softplus": "Softplus",
    "tanh": "Tanh", "sigmoid": "Sigmoid", "softsign": "Softsign", "hardswish": "Hardswish",
    "hardsigmoid": "Hardsigmoid", "hardtanh": "Hardtanh", "hardshrink": "Hardshrink", "softshrink": "Softshrink",
    "tanhshrink": "Tanhshrink", "glu": "GLU", "lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN",
}  # fmt: skip
"""Activation functions of torch, with or without a trailing underscore."""

_CUT_OFF = ("ReLU", "ReLU6", "Hardshrink", "Softshrink")
"""Activations that are exactly 0 where a unit is inactive."""

_LIMITS = {
    "Sigmoid": (0.0, 1.0), "Hardsigmoid": (0.0, 1.0), "Tanh": (-1.0, 1.0), "Hardtanh": (-1.0, 1.0),
    "Softsign": (-1.0, 1.0), "LSTM": (-1.0, 1.0), "GRU": (-1.0, 1.0), "RNN": (-1.0, 1.0),
}  # fmt: skip
_NEAR = 0.01  # fraction of the range between both limits that counts as saturated
_FLAT = 1e-3  # standard deviation of a unit relative to its layer below which it is constant
_FEWEST = 16  # outputs below which nothing is reported
_TOGETHER = 64  # windows per forward pass
_KEPT_OF_CALL, _KEPT = 256, 1024  # outputs that are kept for the covariance of units


def describe_activations(module: nn.Module, batch: Batch) -> list[dict[str, Any]]:
    """Pass windows through a network and describe the outputs of its activations.

    Modules and functions of torch are both included, and so are recurrent layers, whose outputs are their states. A
    function that a block calls several times with the same number of units is described once. The network does not
    change.

    Returns:
        For each activation ``layer`` (the block that calls it), ``kind``, ``units``; ``dead_units`` and ``dead_share``,
        those whose output is always 0 (ReLU and similar) or constant (all others); ``saturated_share``, the fraction of
        outputs at a limit, ``None`` if there is none; and ``utilisation``, the participation ratio of the eigenvalues
        of the covariance of the outputs, corrected for their number, divided by the units. All but the first three are
        ``None`` with fewer than 16 outputs.
    """
    observer = _Observer()
    with ExitStack() as stack:
        stack.enter_context(observer.following(module))
        stack.enter_context(undisturbed(module))
        stack.enter_context(torch.no_grad())
        stack.enter_context(observer)
        for begin in range(0, len(batch.past_y), _TOGETHER):
            module(take(batch, slice(begin, begin + _TOGETHER))._replace(future_y=None))
    return [outputs.describe() for outputs in observer.found.values()]


class _Observer(TorchFunctionMode):
    """Observes every call of a torch function, with the module it comes from."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[tuple[str, str, int], _Outputs] = {}
        self._inside: list[tuple[str, nn.Module]] = []
        self._channels = 0  # of the last convolution, whose units are not on the last axis

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function and record its output if it is an activation."""
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").rstrip("_")
        if name in _KINDS:
            self._watch(_KINDS[name], result[0] if isinstance(result, tuple) else result)
        elif name.startswith("conv") and isinstance(result, Tensor) and result.ndim > 2:
            self._channels = result.shape[1]
        elif name in ("linear", "matmul", "__matmul__"):
            self._channels = 0
        return result

    @contextmanager
    def following(self, module: nn.Module) -> Iterator[None]:
        """Keep track of the module whose forward pass is running."""

        def enter(name: str) -> Any:
            return lambda part, args: self._inside.append((name, part))

        def leave(part: nn.Module, args: Any, output: Any) -> None:
            self._inside.pop()

        with ExitStack() as stack:
            for name, part in module.named_modules():
                stack.callback(part.register_forward_pre_hook(enter(name)).remove)
                stack.callback(part.register_forward_hook(leave).remove)
            yield

    def _watch(self, kind: str, values: Any) -> None:
        if not isinstance(values, Tensor) or not values.is_floating_point() or values.ndim < 2 or not values.numel():
            return
        name, part = self._inside[-1] if self._inside else ("", None)
        if isinstance(part, nn.Module) and type(part).__module__ == nn.ReLU.__module__:
            kind = type(part).__name__  # torch calls ReLU6 by another function
        if values.ndim > 2 and values.shape[1] == self._channels:
            values = values.movedim(1, -1)
        rows = values.detach().reshape(-1, values.shape[-1])
        key = (name, kind, rows.shape[1])
        if key not in self.found:
            self.found[key] = _Outputs(name or ROOT, kind, rows)
        self.found[key].add(rows)


class _Outputs:
    """Statistics of the outputs of one activation."""

    def __init__(self, layer: str, kind: str, rows: Tensor) -> None:
        self.layer, self.kind, self.units = layer, kind, rows.shape[1]
        self._count = 0
        self._low = rows.new_full((self.units,), torch.inf)
        self._high = -self._low
        self._sum = rows.new_zeros(self.units, dtype=torch.float64)
        self._squares = rows.new_zeros(self.units, dtype=torch.float64)
        self._at_limit = 0
        self._kept: list[Tensor] = []
        self._room = _KEPT

    def add(self, rows: Tensor) -> None:
        """Add outputs ``(rows, units)``."""
        self._count += len(rows)
        self._low = torch.minimum(self._low, rows.amin(0))
        self._high = torch.maximum(self._high, rows.amax(0))
        self._sum += rows.sum(0)
        self._squares += rows.square().sum(0)
        if self.kind in _LIMITS:
            low, high = _LIMITS[self.kind]
            near = _NEAR * (high - low)
            self._at_limit += int(((rows <= low + near) | (rows >= high - near)).sum())
        if self._room > 0:
            every = -(-len(rows) // min(_KEPT_OF_CALL, self._room))
            self._kept.append(rows[::every].clone())  # an in-place operation may overwrite it
            self._room -= len(self._kept[-1])

    def describe(self) -> dict[str, Any]:
        """Return the statistics as plain values."""
        known = self._count >= _FEWEST and bool((self._low.isfinite() & self._high.isfinite()).all())
        dead = self._dead() if known else None
        limited = known and self.kind in _LIMITS
        return {
            "layer": self.layer,
            "kind": self.kind,
            "units": self.units,
            "dead_units": dead,
            "dead_share": None if dead is None else dead / self.units,
            "saturated_share": self._at_limit / (self._count * self.units) if limited else None,
            "utilisation": utilisation(torch.cat(self._kept)) if known else None,
        }

    def _dead(self) -> int:
        if self.kind in _CUT_OFF:
            return int(((self._low == 0) & (self._high == 0)).sum())
        mean = self._sum / self._count
        variance = (self._squares / self._count - mean.square()).clamp_min(0)
        total = variance.mean() + mean.var(correction=0)  # of all outputs of the layer
        # Sums of squares have rounding errors, so a unit with a single value is tested separately.
        return int(((self._low == self._high) | (variance < _FLAT**2 * total)).sum())


def utilisation(rows: Tensor) -> float | None:
    """Return the participation ratio of outputs ``(rows, units)``, divided by the units.

    The participation ratio of the eigenvalues of the covariance, the square of their sum divided by the sum of their
    squares, is 1 if all units are perfectly correlated and the number of units if they are uncorrelated with equal
    variance. With few rows it is too small; ``square / freedom`` corrects this for Gaussian outputs. ``None`` if no
    output varies.
    """
    centred = (rows - rows.mean(0)).double()
    freedom = len(rows) - 1
    wide = centred if len(rows) < rows.shape[1] else centred.T
    trace = float(centred.square().sum()) / max(freedom, 1)
    if freedom < 2 or trace <= 0:
        return None
    squares = float((wide @ wide.T).square().sum()) / freedom**2
    corrected = squares - trace**2 / freedom
    units = rows.shape[1]
    ratio = trace**2 / corrected if corrected > 0 else float(units)
    return min(max(ratio, 1.0), float(units)) / units
