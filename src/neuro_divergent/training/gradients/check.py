"""Gradient checking: automatic differentiation compared with finite differences."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from neuro_divergent.core import html
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.spec import Batch
from neuro_divergent.training.gradients.finite_difference import DifferenceMethod, RepeatedPass, default_step, slope
from neuro_divergent.training.objective import Example, LossFunction, Objective, as_loss

if TYPE_CHECKING:
    import polars as pl

_TINY = 1e-300
_ROUNDINGS = 16  # a cost is the result of many operations, each of them rounded


@dataclass(frozen=True)
class CheckedParameter:
    """How well the gradient of one parameter agrees.

    Attributes:
        name: Name in the module.
        entries: Numbers it holds.
        checked: How many of them were checked.
        error: Worst relative error.
        autodiff: Derivative where that is, by automatic differentiation.
        numeric: Derivative there, by finite differences.
    """

    name: str
    entries: int
    checked: int
    error: float
    autodiff: float
    numeric: float


@dataclass(frozen=True)
class GradientCheck:
    """Gradients by automatic differentiation compared with those by finite differences.

    The relative error of an entry is ``|a - n| / max(|a|, |n|, floor)``. The floor is where rounding of the cost alone
    would reach the tolerance, so that a derivative that is zero but for rounding is not called wrong.

    Attributes:
        parameters: One row for each trainable parameter.
        method: How the numeric gradients were made.
        tolerance: Relative error up to which they agree.
        floor: Derivatives below this are measured against it.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> check = nd.check_gradients(torch.nn.Linear(2, 1), torch.ones(3, 2))  # of the sum of the squared outputs
        >>> check.passed, check.method, check.frame()["entries"].to_list()
        (True, 'central', [2, 1])
    """

    parameters: tuple[CheckedParameter, ...]
    method: DifferenceMethod
    tolerance: float
    floor: float

    @property
    def worst(self) -> CheckedParameter:
        """The parameter that agrees least."""
        return max(self.parameters, key=lambda row: row.error)

    @property
    def passed(self) -> bool:
        """Whether all agree within the tolerance."""
        return self.worst.error <= self.tolerance

    def frame(self) -> pl.DataFrame:
        """Return the rows as a frame."""
        import polars as pl

        return pl.DataFrame([asdict(row) for row in self.parameters])

    def __str__(self) -> str:
        width = max(len("parameter"), *(len(row.name) for row in self.parameters))
        lines = [
            f"gradients {'agree' if self.passed else 'DISAGREE'}: worst relative error {self.worst.error:.1e} at "
            f"{self.worst.name} ({self.method} differences, tolerance {self.tolerance:.0e})",
            f"{'parameter':<{width}}  {'checked':>15}  {'error':>7}  {'autodiff':>13}  {'numeric':>13}",
        ]
        lines += [
            f"{row.name:<{width}}  {f'{row.checked} of {row.entries}':>15}  {row.error:>7.1e}  {row.autodiff:>13.6g}  "
            f"{row.numeric:>13.6g}"
            for row in self.parameters
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "agree" if self.passed else "DISAGREE"
        return f"GradientCheck({state}: worst relative error {self.worst.error:.1e} at {self.worst.name})"

    def _repr_html_(self) -> str:
        rows = [
            (row.name, f"{row.checked} of {row.entries}", f"{row.error:.1e}", row.autodiff, row.numeric)
            for row in self.parameters
        ]
        summary = f"gradients {'agree' if self.passed else 'DISAGREE'}, worst relative error {self.worst.error:.1e}"
        return html.card(
            "GradientCheck", summary, html.table(["parameter", "checked", "error", "autodiff", "numeric"], rows)
        )


def check_gradients(
    module: nn.Module,
    batch: Any,
    loss: LossFunction | str | None = None,
    *,
    method: DifferenceMethod = "central",
    tolerance: float = 1e-4,
    max_entries: int | None = None,
    seed: int = 0,
) -> GradientCheck:
    """Compare the gradients of a module with finite differences, parameter by parameter.

    The work is done on a copy in float64, in the mode (train or eval) that the module is in; the module and the random
    state are left alone. It takes two forward passes per number checked, or one with forward differences. A weight
    within a step (6e-6) of a kink, such as ReLU has at 0, can fail without being wrong.

    Args:
        module: Any module with trainable parameters.
        batch: ``(inputs, target)``, ``(inputs, target, weight)``, a ``Batch``, or only the input tensor.
        loss: One of our losses or its name, or any function of output and target that returns a number. Without it
            the sum of the squared outputs is differentiated and targets are not looked at.
        method: ``central`` or ``forward``.
        tolerance: Relative error up to which gradients agree.
        max_entries: Numbers to check per parameter at most, drawn at random; ``None`` for all.
        seed: Decides which are drawn.

    Raises:
        InputError: If there is nothing to check, or the loss is not a number.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> batch = torch.linspace(-1, 1, 6).view(3, 2), torch.ones(3, 1)
        >>> check = nd.check_gradients(torch.nn.Linear(2, 1), batch, nd.losses.MSE())
        >>> check.passed, [(row.name, row.checked) for row in check.parameters]
        (True, [('weight', 2), ('bias', 1)])
    """
    step = default_step(method, torch.float64)
    if max_entries is not None and max_entries < 1:
        raise ConfigError(f"max_entries: {max_entries} must be at least 1.")
    double = copy.deepcopy(module).double()
    parameters = {name: item for name, item in double.named_parameters() if item.requires_grad}
    if not parameters:
        raise InputError(f"{type(module).__name__} has no trainable parameters: there is nothing to check.")
    cost = _cost(double, _double(batch), loss)
    with torch.random.fork_rng(), torch.no_grad():
        passes = RepeatedPass(cost, double.buffers())
        here = float(passes.first)
        if not math.isfinite(here):
            raise InputError(f"the loss is {here}; gradients can be checked where it is a finite number.")
        passes.rewind()
        with torch.enable_grad():
            value = cost()
        exact = torch.autograd.grad(value, list(parameters.values()), materialize_grads=True)
        floor = max(_ROUNDINGS * torch.finfo(torch.float64).eps * abs(here) / (step * tolerance), _TINY)
        random = torch.Generator().manual_seed(seed)
        rows = []
        for (name, parameter), gradient in zip(parameters.items(), exact, strict=True):
            entries = _draw(parameter, max_entries, random)
            numeric = [slope(passes, parameter, index, method, step) for index in entries]
            rows.append(_compare(name, gradient, entries, numeric, floor))
    return GradientCheck(tuple(rows), method, tolerance, floor)


def _compare(
    name: str, gradient: Tensor, entries: list[tuple[int, ...]], numeric: list[float], floor: float
) -> CheckedParameter:
    """Return the entry that agrees least."""
    worst = CheckedParameter(name, gradient.numel(), len(entries), -1.0, 0.0, 0.0)
    for index, second in zip(entries, numeric, strict=True):
        first = float(gradient[index])
        error = abs(first - second) / max(abs(first), abs(second), floor)
        error = math.inf if math.isnan(error) else error
        if error > worst.error:
            worst = replace(worst, error=error, autodiff=first, numeric=second)
    return worst


def _cost(module: nn.Module, batch: Any, loss: LossFunction | str | None) -> Callable[[], Tensor]:
    """Return a function that runs a forward pass and returns the loss, as training does."""
    if loss is None:
        inputs = batch[0] if isinstance(batch, (tuple, list)) and not isinstance(batch, Batch) else batch
        return lambda: module(inputs).square().sum()
    example, objective = Example.of(batch), Objective(as_loss(loss))

    def cost() -> Tensor:
        total, weight = objective.total(module(example.inputs), example)
        return objective.finish(total / max(float(weight), _TINY))

    return cost


def _draw(parameter: nn.Parameter, most: int | None, random: torch.Generator) -> list[tuple[int, ...]]:
    """Return the indices of all entries, or of some drawn at random."""
    entries = list(product(*(range(size) for size in parameter.shape)))
    if most is None or len(entries) <= most:
        return entries
    return [entries[place] for place in torch.randperm(len(entries), generator=random)[:most].tolist()]


def _double(value: Any) -> Any:
    """Return the same with every floating point tensor in float64."""
    if isinstance(value, Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, Mapping):
        return {key: _double(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_double, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(_double, value))
    return value
