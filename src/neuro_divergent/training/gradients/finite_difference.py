"""Gradients from differences of costs: slow and inexact, but right whatever is between weights and cost.

With a step e, *central* differences ``(f(w + e) - f(w - e)) / 2e`` take two passes for each weight w and are off by
O(e^2); *forward* differences ``(f(w + e) - f(w)) / e`` take one and are off by O(e).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product
from typing import TYPE_CHECKING, Literal

from neuro_divergent.core.errors import ConfigError

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

DifferenceMethod = Literal["central", "forward"]


class GradientCostWarning(UserWarning):
    """Gradients are computed in a way that is too slow for anything but small networks."""


def numerical_gradients(
    cost: Callable[[], Tensor],
    parameters: Iterable[nn.Parameter],
    method: DifferenceMethod = "central",
    step: float | None = None,
    *,
    buffers: Iterable[Tensor] = (),
) -> Tensor:
    """Add the gradient of a cost to ``.grad`` of every trainable parameter, as ``backward`` does.

    All passes draw the same random numbers (CPU and CUDA), so dropout leaves out the same units; afterwards the random
    state is that after one pass. Parameters are changed in place, entry by entry, and are the same to the bit
    afterwards, also when the cost raises.

    Args:
        cost: Runs a forward pass and returns a number.
        parameters: What to differentiate by; those that do not require gradients are left out.
        method: ``central`` or ``forward``.
        step: Change of a weight w in units of max(1, |w|); by default the one of ``default_step``.
        buffers: What a pass may change, such as running means: they are left as the first pass leaves them.

    Returns:
        The cost where the parameters are.
    """
    import torch

    trainable = [parameter for parameter in parameters if parameter.requires_grad]
    with torch.no_grad():
        passes = RepeatedPass(cost, buffers)
        try:
            for parameter in trainable:
                slopes = [
                    slope(passes, parameter, index, method, step)
                    for index in product(*(range(size) for size in parameter.shape))
                ]
                gradient = torch.tensor(slopes, dtype=parameter.dtype, device=parameter.device).view(parameter.shape)
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        finally:
            passes.close()
    return passes.first


class RepeatedPass:
    """A forward pass that can be repeated with the same random numbers and from the same buffers.

    Attributes:
        first: The cost of the first pass, which is run at once.
    """

    def __init__(self, cost: Callable[[], Tensor], buffers: Iterable[Tensor] = ()) -> None:
        self._cost = cost
        self._buffers = list(buffers)
        self._before = self._state()
        self.first = cost().detach()
        self._after = self._state()

    def __call__(self) -> float:
        """Run again and return the cost."""
        self.rewind()
        return float(self._cost())

    def rewind(self) -> None:
        """Go back to before the first pass."""
        self._restore(self._before)

    def close(self) -> None:
        """Leave everything as the first pass left it."""
        self._restore(self._after)

    def _state(self) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        import torch

        devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return torch.get_rng_state(), devices, [buffer.clone() for buffer in self._buffers]

    def _restore(self, state: tuple[Tensor, list[Tensor], list[Tensor]]) -> None:
        import torch

        random, devices, buffers = state
        torch.set_rng_state(random)
        if devices:
            torch.cuda.set_rng_state_all(devices)
        for buffer, value in zip(self._buffers, buffers, strict=True):
            buffer.copy_(value)


def slope(
    passes: RepeatedPass, parameter: nn.Parameter, index: tuple[int, ...], method: DifferenceMethod, step: float | None
) -> float:
    """Return the derivative of the cost by one entry of a parameter, which is left as it was.

    Call it inside ``torch.no_grad``.
    """
    kept = parameter[index].clone()
    change = (default_step(method, parameter.dtype) if step is None else step) * max(1.0, abs(float(kept)))
    try:
        # The entry is read back, since the difference of two stored numbers is not exactly the requested step.
        parameter[index] = kept + change
        above, cost_above = float(parameter[index]), passes()
        if method == "forward":
            below, cost_below = float(kept), float(passes.first)
        else:
            parameter[index] = kept - change
            below, cost_below = float(parameter[index]), passes()
    finally:
        parameter[index] = kept
    return (cost_above - cost_below) / (above - below)


def default_step(method: DifferenceMethod, dtype: torch.dtype) -> float:
    """Return the step at which the error of the method is about that of rounding.

    It is the cube root of the spacing of numbers near 1 for central differences (6e-6 in float64, 5e-3 in float32) and
    the square root for forward ones (1.5e-8 and 3.5e-4).
    """
    import torch

    if method not in ("central", "forward"):
        raise ConfigError(f"{method!r} is no numerical method: choose 'central' or 'forward'.")
    return math.pow(torch.finfo(dtype).eps, 1 / 3 if method == "central" else 1 / 2)
