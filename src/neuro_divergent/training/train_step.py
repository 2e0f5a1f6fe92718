"""What a training step computes: outputs, the loss, its gradients, and what is done to them before the optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.nested import map_tensors, num_rows, tensors_in
from neuro_divergent.core.seeding import seed_of, seeded
from neuro_divergent.core.spec import Batch
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.gradients.step_loss import StepLoss
from neuro_divergent.training.gradients.transforms.base import GradientContext, GradientTransform
from neuro_divergent.training.objective import Example, Objective
from neuro_divergent.training.parted import is_parted
from neuro_divergent.training.precision import Precision
from neuro_divergent.training.state import kind_of, match_states
from neuro_divergent.training.strategy import SingleDevice, Strategy
from neuro_divergent.training.teacher_forcing import set_ratio
from neuro_divergent.training.thread_count import network_threads


class TrainStep:
    """The arithmetic of training.

    ``module`` is the network itself; what is called in training may be compiled or wrapped. ``transforms`` come after
    those of the config.
    """

    def __init__(
        self,
        module: nn.Module,
        objective: Objective,
        config: TrainingConfig,
        precision: Precision,
        strategy: Strategy,
        transforms: Sequence[GradientTransform] = (),
    ) -> None:
        self._module = module
        self._objective = objective
        self._config = config
        self._precision = precision
        self._strategy = strategy
        self._unit: float | None = None
        self._parameters: list[nn.Parameter] = []
        self._named: dict[str, nn.Parameter] = {}
        self._transforms = [*config.build_transforms(), *transforms]
        self._states: list[dict[str, Any]] = [{} for _ in self._transforms]

    def prepare(self, parameters: list[nn.Parameter]) -> None:
        """Get ready for the parameters that are trained."""
        trained = set(parameters)
        self._parameters = parameters
        self._named = {name: item for name, item in self._module.named_parameters() if item in trained}
        self._states = [transform.init_state(self._named) for transform in self._transforms]

    def forward(self, module: Callable[..., Any], batch: Any) -> tuple[Any, Example]:
        """Return the output for a batch, in the type of the weights, and the batch taken apart."""
        example = Example.of(self._precision.cast_batch(batch))
        with self._precision.forward():
            output = self._call(module, example.inputs)
        if not isinstance(output, Tensor):  # the loss is a function of the user, who knows what it is
            return self._objective.check_output(map_tensors(_widened, output)), example
        self._objective.check_shape(output, example)
        return _widened(output), example

    def _call(self, module: Callable[..., Any], inputs: Any) -> Any:
        """Return the output for inputs, which are one argument; the error of a module that wants several says so."""
        try:
            return module(inputs)
        except TypeError as error:
            if isinstance(inputs, (tuple, list, Mapping)) and not isinstance(inputs, Batch):
                kind = type(inputs).__name__
                error.add_note(
                    f"The module is called with the inputs as one argument, a {kind}: def forward(self, inputs)."
                )
            raise

    def differentiate(
        self, module: nn.Module, batches: list[Any], progress: float, *, is_shared: bool = True
    ) -> Tensor:
        """Set the gradients of the mean cost of the batches of a step, and return the loss; ``module`` is called.

        Where several processes train together, both are those of all of them, or of this one alone if the step is not
        shared.
        """
        config = self._config
        forcing = config.teacher_forcing
        if forcing is not None and not set_ratio(self._module, forcing.ratio(progress)):
            raise ConfigError(
                "teacher_forcing: the network forecasts all steps at once, so there is nothing to force. Choose an "
                'autoregressive one, such as LSTM(decoding="autoregressive"), or leave teacher_forcing out.'
            )
        for augmentation in config.augment:
            batches = [augmentation.apply(batch) for batch in batches]
        step = StepLoss(
            batches,
            self._parameters,
            self._module,
            self._strategy if is_shared else SingleDevice(),
            config.gradient_sum == "float64",
            self._unit_of(batches[0]),
            module,
            self.forward,
            self._objective,
            self._precision,
            progress,
        )
        with nullcontext() if is_shared else self._strategy.no_sync(module):
            return config.gradient.estimate(step)

    def transform(self, optimizer: torch.optim.Optimizer, step: int, progress: float) -> Tensor:
        """Change the gradients in place by all transforms, in order; return their norm before clipping."""
        self._precision.unscale(optimizer)
        context = GradientContext(step, progress, self._named)
        for transform, state in zip(self._transforms, self._states, strict=True):
            context.state = state
            # Whole gradients are the same in all processes by now, and must stay that.
            is_shared = transform.is_random and self._strategy.world_size > 1 and not is_parted(self._parameters[0])
            with seeded(seed_of(self._config.seed, step + 1)) if is_shared else nullcontext():
                transform.apply(self._parameters, context)
        assert context.norm is not None
        return context.norm

    def state_dict(self) -> list[dict[str, Any]]:
        """Return the states of the gradient transforms."""
        pairs = zip(self._transforms, self._states, strict=True)
        return [{"kind": kind_of(transform), "state": state} for transform, state in pairs]

    def load_state_dict(self, saved: list[dict[str, Any]]) -> None:
        """Restore the states of the gradient transforms."""
        for place, state in match_states(saved, self._transforms, "gradient transforms"):
            self._states[place] = state

    def _unit_of(self, batch: Any) -> float:
        """Return a power of two near the rows of a batch, on average over processes; the same in all steps."""
        if self._unit is None:
            rows, processes = self._strategy.all_reduce(float(num_rows(batch[0])), 1.0)
            self._unit = 2.0 ** round(math.log2(max(rows / processes, 1.0)))
        return self._unit

    def threads(self, batch: Any) -> int:
        """Choose threads from the multiply-adds of a forward pass, estimated from one batch."""
        inputs = Example.of(batch).inputs
        return network_threads(self._module, inputs.past_y if isinstance(inputs, Batch) else next(tensors_in(inputs)))


def _widened(output: Tensor) -> Tensor:
    return output.float() if output.dtype in (torch.bfloat16, torch.float16) else output
