"""What a step computes: outputs, the loss, its gradients, and what becomes of them before the weights change."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.reduce import mean_of
from neuro_divergent.training.accumulation import GradientSum
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.differentiation import numerical_gradients
from neuro_divergent.training.gradients import add_penalty, gradient_norm
from neuro_divergent.training.objective import Example, Objective
from neuro_divergent.training.precision import Precision
from neuro_divergent.training.strategy import Strategy
from neuro_divergent.training.teacher_forcing import TeacherForcing, set_ratio
from neuro_divergent.training.thread_count import network_threads


class Computation:
    """The arithmetic of training.

    Args:
        module: The network, as it is; what is called in training may be compiled or wrapped.
        objective: What is minimised.
        config: How to train.
        precision: In which numbers.
        strategy: How processes share the work.
    """

    def __init__(
        self, module: nn.Module, objective: Objective, config: TrainingConfig, precision: Precision, strategy: Strategy
    ) -> None:
        self._module = module
        self._objective = objective
        self._config = config
        self._precision = precision
        self._strategy = strategy
        self._parameters: list[nn.Parameter] = []
        self._sum = GradientSum([])

    def prepare(self, parameters: list[nn.Parameter]) -> None:
        """Get ready for the parameters that are trained."""
        self._parameters = parameters
        self._sum = GradientSum(parameters, in_double=self._config.gradient_sum == "float64")

    def forward(self, module: nn.Module, batch: Any) -> tuple[Tensor, Example]:
        """Return the output for a batch, in the type of the weights, and the batch taken apart."""
        example = Example.of(self._precision.cast_batch(batch))
        with self._precision.forward():
            output: Tensor = module(example.inputs)
        return output.float() if output.dtype in (torch.bfloat16, torch.float16) else output, example

    def differentiate(self, module: nn.Module, batches: list[Any], progress: float) -> Tensor:
        """Set the gradients of the mean cost of some batches, and return the loss.

        Args:
            module: What to call.
            batches: Those of one step.
            progress: Share of training that is done.
        """
        config, finish = self._config, self._objective.finish
        if config.teacher_forcing is not None:
            self._force(config.teacher_forcing, progress)
        for augmentation in config.augment:
            batches = [augmentation.apply(batch) for batch in batches]

        def costs(batch: Any) -> tuple[Tensor, Tensor | float]:
            return self._objective.total(*self.forward(module, batch), progress)

        def mean() -> Tensor:
            totals, weights = zip(*map(costs, batches), strict=True)
            return finish(mean_of(sum(totals), sum(weights)))

        if config.gradient_method != "autodiff":
            buffers = self._module.buffers()
            return numerical_gradients(mean, self._parameters, config.gradient_method, buffers=buffers)
        if len(batches) == 1:
            loss = self._objective.mean(*self.forward(module, batches[0]), progress)
            self._precision.backward(loss)
            return loss.detach()
        apart = lambda: self._strategy.no_sync(module)  # noqa: E731
        return self._sum.run(batches, costs, finish, self._precision.backward, apart)

    def transform(self, optimizer: torch.optim.Optimizer, step: int) -> Tensor:
        """Penalise, clip and add noise, in place; return the norm before clipping."""
        config, parameters = self._config, self._parameters
        self._precision.unscale(optimizer)
        if config.l1 or config.l2:
            add_penalty(parameters, l1=config.l1, l2=config.l2)
        norm = gradient_norm(parameters) if config.clip is None else config.clip.apply(parameters)
        if config.gradient_noise is not None:
            config.gradient_noise.apply(parameters, step)
        return norm

    def threads(self, batch: Any) -> int:
        """Choose threads from the multiply-adds of a forward pass, estimated from one batch."""
        inputs = Example.of(batch).inputs
        return network_threads(self._module, inputs.past_y if isinstance(inputs, Batch) else inputs)

    def _force(self, forcing: TeacherForcing, progress: float) -> None:
        """Tell autoregressive parts how often to read the true value before."""
        if not set_ratio(self._module, forcing.ratio(progress)):
            raise ConfigError(
                "teacher_forcing: the network forecasts all steps at once, so there is nothing to force. Choose an "
                'autoregressive one, such as LSTM(decoding="autoregressive"), or leave teacher_forcing out.'
            )
