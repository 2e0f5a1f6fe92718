"""What is done when the loss, gradients or weights become NaN or infinite."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config, knob
from neuro_divergent.core.errors import DivergedError, DivergenceWarning
from neuro_divergent.training.parted import own_part

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from neuro_divergent.training.engine import Trainer
    from neuro_divergent.training.strategy import Strategy

Policy = Literal["stop", "skip", "rollback"]
NameRow = Callable[[Any, int], str]
"""Names a row of a batch, such as ``series 'A'``."""

_ADVICE = "Lower the learning rate, clip gradients or scale the data."
_NAMED = 5
_OVERFLOWS_IN_A_ROW = 40  # halving the largest factor of fp16 that often leaves nothing


class RolledBackError(Exception):
    """Training was rolled back to an earlier state, and so to another place of the data."""


class Divergence(Config):
    """What is done about a loss, gradient or weight that is not finite.

    It is noticed in the step in which it appears, before it reaches the weights; on a GPU, where looking at a number
    makes the processor wait, at the next row of the history, when it is too late to leave the step out.

    Attributes:
        policy: ``stop`` ends training with an error that names the series or the weights. ``skip`` leaves the step out:
            neither weights nor the moments of the optimizer change. ``rollback`` goes back to the state of the last
            validation and on from there with a lower learning rate.
        patience: Steps left out in a row after which ``skip`` ends training too.
        rollbacks: How often ``rollback`` goes back before it ends training too.
        rate: What the learning rate is multiplied with each time.

    Examples:
        The error names the value that it began with:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> inputs, targets = torch.tensor([[1.0], [float("inf")]]), torch.zeros(2, 1)
        >>> config = nd.TrainingConfig(divergence=nd.training.Divergence(policy="stop"), shuffle=False)
        >>> try:
        ...     nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config).fit((inputs, targets))
        ... except nd.errors.DivergedError as error:
        ...     print(str(error).partition(".")[0])
        row 1 of the batch: inf in the inputs at step 1
    """

    policy: Policy = "stop"
    patience: int = Field(default=10, ge=1)
    rollbacks: int = Field(default=3, ge=1)
    rate: float = knob(0.5, low=0.1, high=0.9, gt=0, lt=1)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"policy": value} if isinstance(value, str) else value


class Guard:
    """Checks the loss, gradients and weights of each step for a ``Divergence``."""

    def __init__(self, config: Divergence, name_row: NameRow | None = None) -> None:
        self.config = config
        self.rollbacks = 0
        self._in_a_row = 0
        self._name_row = name_row or (lambda batch, row: f"row {row} of the batch")
        self._good: dict[str, Any] | None = None
        self._buffers: dict[str, Tensor] = {}

    def before_step(self, module: nn.Module) -> None:
        """Keep the buffers that a forward pass may change, such as the statistics of batch normalisation."""
        if self.config.policy == "skip":
            self._buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}

    def is_healthy(
        self, loss: Tensor, norm: Tensor, gradients: Iterable[Tensor], strategy: Strategy, *, is_shared: bool = True
    ) -> bool:
        """Return whether the loss and its gradients are finite; if any number before them was not, they are not.

        Where processes hold parts of the gradients, or make steps by themselves, those of all of them are.
        """
        is_finite = norm.device.type != "cpu" or (math.isfinite(loss) and math.isfinite(norm))
        if is_finite and is_shared:
            return True
        # Large gradients may just have overflowed in the sum of their squares, so the norm alone is no proof.
        if not is_finite and math.isfinite(loss):
            is_finite = all(bool(own_part(gradient).isfinite().all()) for gradient in gradients)
        return not strategy.any_of(not is_finite)[0]

    def stepped(self) -> None:
        """Reset the count of steps left out in a row."""
        self._in_a_row = 0

    def keep(self, trainer: Trainer) -> None:
        """Keep the state of a step that can be rolled back to."""
        if self.config.policy == "rollback" and not find_bad_weights(trainer.module, trainer.strategy):
            self._good = trainer.own_state()

    def recover(self, trainer: Trainer, message: str) -> None:
        """Leave a step out whose loss or gradients became NaN or infinite, or ``give_up`` as the policy says."""
        if self.config.policy != "skip":
            self.give_up(trainer, message)
        self._in_a_row += 1
        if self._in_a_row >= self.config.patience:
            raise DivergedError(f"{message} Steps to skip in a row: {self._in_a_row}, so skipping does not help.")
        for name, buffer in trainer.module.named_buffers():
            buffer.copy_(self._buffers[name])
        warnings.warn(f"{message} The step is left out.", DivergenceWarning, stacklevel=2)
        trainer.state.skipped += 1

    def require_finite_weights(self, trainer: Trainer, when: str) -> None:
        """Find weights that are not finite behind a layer that hides it: the ReLU of minus infinity is 0."""
        if bad := find_bad_weights(trainer.module, trainer.strategy):
            self.give_up(trainer, f"{when} the weights {', '.join(bad[:_NAMED])} are not finite.")

    def give_up(self, trainer: Trainer, message: str) -> NoReturn:
        """Roll back if the policy says so, else raise; it is too late to leave the step out."""
        if self.config.policy != "rollback":
            raise DivergedError(f"{message} {_ADVICE}")
        for parameter in trainer.module.parameters():
            parameter.grad = None
        if self._good is None or self.rollbacks >= self.config.rollbacks:
            tried = f" Going back did not help, {self.rollbacks} times." if self.rollbacks else ""
            raise DivergedError(f"{message}{tried} {_ADVICE}")
        done = self.rollbacks + 1
        trainer.load_own_state(self._good)
        self.rollbacks = done
        trainer.lr_scheduler.scale = self.config.rate**done
        step = trainer.state.step
        text = f"{message} Back to step {step} with {trainer.lr_scheduler.scale:.3g} of the learning rate."
        warnings.warn(text, DivergenceWarning, stacklevel=2)
        raise RolledBackError

    def overflowed(self, step: int) -> None:
        """Count a step that fp16 left out."""
        self._in_a_row += 1
        if self._in_a_row >= _OVERFLOWS_IN_A_ROW:
            raise DivergedError(f"fp16 overflowed in {self._in_a_row} steps in a row, up to step {step}. {_ADVICE}")

    def explain(self, trainer: Trainer, batches: list[Any], loss: Tensor) -> str:
        """Return where it began: in the data, the weights, the forward pass or the gradients of the step."""
        where, strategy, module = f"at step {trainer.state.step + 1}", trainer.strategy, trainer.module
        if found := _first(strategy.gather(self._find_input(batches))):  # other processes have other rows
            return f"{found} {where}."
        if bad := find_bad_weights(module, strategy):
            return f"the weights {_list(bad)} are not finite {where}."
        lost = [value for value in strategy.gather(float(loss)) if not math.isfinite(value)]
        if lost:
            rows = [self._name_row(batch, row) for batch in batches for row in _bad_outputs(trainer, batch)]
            place = _first(strategy.gather(rows[0] if rows else None))
            return f"{f'{place}: ' if place else ''}the loss became {lost[0]} {where}."
        gradients = [(name, own_part(item.grad)) for name, item in module.named_parameters() if item.grad is not None]
        bad = _union(strategy.gather([name for name, gradient in gradients if not gradient.isfinite().all()]))
        return f"the gradient of {_list(bad)} is not finite {where} ({len(bad)} of {len(gradients)} parameters)."

    def explain_validation(self, trainer: Trainer, batches: Iterable[Any], loss: float) -> str:
        """Return whether the data made a validation loss NaN or infinite."""
        step = trainer.state.step
        if found := _first(trainer.strategy.gather(self._find_input(batches))):
            return f"{found} in validation at step {step}."
        return f"the validation loss became {loss} at step {step}."

    def _find_input(self, batches: Iterable[Any]) -> str | None:
        """Name the first row of some batches that has a value that is not finite."""
        for batch in batches:
            if found := _bad_input(batch):
                name, row, value = found
                return f"{self._name_row(batch, row)}: {value} in {name}"
        return None

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state."""
        return {"rollbacks": self.rollbacks, "in_a_row": self._in_a_row}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the checkpointable state."""
        self.rollbacks, self._in_a_row = state["rollbacks"], state["in_a_row"]


def bad_weights(module: nn.Module) -> list[str]:
    """Return the names of weights that are not finite, as far as this process has them."""
    return list(_not_finite(module.named_parameters()))


def find_bad_weights(module: nn.Module, strategy: Strategy) -> list[str]:
    """Return the names of weights that are not finite in at least one process; all of them must call this."""
    bad = bad_weights(module)
    return _union(strategy.gather(bad)) if strategy.any_of(bool(bad))[0] else []


def find_bad_memory(optimizer: torch.optim.Optimizer, strategy: Strategy) -> str | None:
    """Return ``bad_memory`` of the first process that has some; all of them must call this."""
    bad = bad_memory(optimizer)
    return _first(strategy.gather(bad)) if strategy.any_of(bad is not None)[0] else None


def bad_memory(optimizer: torch.optim.Optimizer) -> str | None:
    """Return the state of an optimizer in this process that is not finite, such as ``exp_avg_sq``, or ``None``."""
    from neuro_divergent.training.checkpointing.snapshot import tensors_of

    state = ((path, tensor) for path, tensor in tensors_of(optimizer.state_dict()) if tensor.is_floating_point())
    return next((path.rpartition(".")[2] for path in _not_finite(state)), None)


def _not_finite(named: Iterable[tuple[str, Tensor]]) -> Iterator[str]:
    """Yield the names of tensors that hold something that is not finite."""
    import torch

    named = [(name, own_part(tensor)) for name, tensor in named]
    if not named:
        return
    with torch.no_grad():
        # A norm reads the numbers and writes nothing, so it takes a tenth of the time of checking each of them. That of
        # numbers that are merely large may overflow; only then each is checked.
        norms = torch._foreach_norm([tensor for _, tensor in named])
    for (name, tensor), norm in zip(named, norms, strict=True):
        if not math.isfinite(norm) and not tensor.isfinite().all():
            yield name


def _bad_input(batch: Any) -> tuple[str, int, float] | None:
    """Return the first tensor of a batch that holds something that is not finite, its first such row and the value."""
    from torch import Tensor

    if hasattr(batch, "_asdict"):
        parts = list(batch._asdict().items())
    else:
        names = ("the inputs", "the targets", "the weights of the targets")
        parts = list(zip(names, batch, strict=False))
    for name, tensor in parts:
        if isinstance(tensor, Tensor) and tensor.is_floating_point() and not tensor.isfinite().all():
            row = _rows_not_finite(tensor)[0]
            values = tensor[row].flatten()
            return name, row, float(values[~values.isfinite()][0])
    return None


def _bad_outputs(trainer: Trainer, batch: Any) -> list[int]:
    """Return the rows of a batch for which the network gives outputs that are not finite."""
    import torch

    with torch.random.fork_rng(), torch.no_grad():
        output = trainer.forward(batch)
    return _rows_not_finite(output)


def _rows_not_finite(tensor: Tensor) -> list[int]:
    found: list[int] = (~tensor.isfinite()).reshape(len(tensor), -1).any(1).nonzero().flatten().tolist()
    return found


def _first(found: Iterable[str | None]) -> str | None:
    """Return the first text there is."""
    return next((text for text in found if text is not None), None)


def _union(found: Iterable[list[str]]) -> list[str]:
    """Return all names, each once."""
    return list(dict.fromkeys(name for names in found for name in names))


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(repr(name) for name in names[:_NAMED]) + more
