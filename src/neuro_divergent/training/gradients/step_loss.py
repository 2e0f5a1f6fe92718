"""The loss of one training step as a function of the parameters: what a gradient estimator differentiates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.func import functional_call

from neuro_divergent.core.nested import num_rows
from neuro_divergent.losses.reduce import mean_of
from neuro_divergent.training.objective import Example, Objective, select_rows
from neuro_divergent.training.precision import Precision
from neuro_divergent.training.strategy import Strategy

Forward = Callable[[Callable[..., Tensor], Any], tuple[Tensor, Example]]


@dataclass(frozen=True, slots=True)
class StepLoss:
    """What an estimator needs to know of a step.

    Attributes:
        batches: The batches of the step, augmented: pairs (inputs, targets), triples with weights, or ``Batch``.
        parameters: What is trained, in the order of the optimizer.
        module: The network itself, not compiled or wrapped.
        strategy: How processes share the work.
        in_double: Whether gradients of several batches are to be added up in float64.
        unit: A power of two near the rows of a batch, the same in all steps and processes.

    Examples:
        An estimator gets one for each step, here of two batches:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> class Reporting(nd.training.Autodiff):
        ...     def estimate(self, step):
        ...         print("batches of", [len(inputs) for inputs, _ in step.batches])
        ...         return super().estimate(step)
        >>> config = nd.TrainingConfig(max_steps=1, batch_size=4, accumulate=2, gradient=Reporting())
        >>> _ = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config).fit((torch.ones(8, 1), torch.ones(8, 1)))
        batches of [4, 4]
    """

    batches: Sequence[Any]
    parameters: list[nn.Parameter]
    module: nn.Module
    strategy: Strategy
    in_double: bool
    unit: float
    _prepared: nn.Module
    _forward: Forward
    _objective: Objective
    _precision: Precision
    _progress: float

    def cost(self, batch: Any, parameters: Mapping[str, Tensor] | None = None) -> tuple[Tensor, Tensor | float]:
        """Run a forward pass, and return the weighted sum of the costs of a batch and the sum of the weights.

        ``parameters`` by name are used in the place of the module's, so that ``torch.func.grad`` and ``vmap`` can
        differentiate with respect to them.
        """
        if parameters is None:
            return self._objective.total(*self._forward(self._prepared, batch), self._progress)
        call = lambda inputs: functional_call(self.module, dict(parameters), (inputs,))  # noqa: E731
        return self._objective.total(*self._forward(call, batch), self._progress)

    def loss(self, batch: Any) -> Tensor:
        """Run a forward pass, and return the loss of a batch by itself."""
        return self._objective.mean(*self._forward(self._prepared, batch), self._progress)

    def total(self) -> Tensor:
        """Run a forward pass of every batch, and return their loss together, over all processes."""
        costs, weights = zip(*map(self.cost, self.batches), strict=True)
        return self.finish(mean_of(*self.strategy.all_reduce(sum(costs), sum(weights))))

    def finish(self, mean: Tensor) -> Tensor:
        """Return the loss for a mean cost: the mean itself, or for instance its root."""
        return self._objective.finish(mean)

    def backward(self, value: Tensor) -> None:
        """Add the gradient of a number to ``.grad``; in fp16 it is scaled, and unscaled before transforms see it."""
        self._precision.backward(value)

    def no_sync(self) -> AbstractContextManager[None]:
        """Keep the gradients of a backward pass inside the block to this process, for all batches but the last."""
        return self.strategy.no_sync(self._prepared)

    def rows(self, batch: Any) -> Iterator[Any]:
        """Yield each row of a batch as a batch."""
        return (select_rows(batch, slice(row, row + 1)) for row in range(num_rows(batch[0])))
