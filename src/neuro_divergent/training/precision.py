"""In which numbers a step is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.instructions import require_usable
from neuro_divergent.core.nested import map_tensors
from neuro_divergent.training.config import PrecisionName

_MIXED = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Precision:
    """Casts, scales and steps for one way of computing.

    ``float32`` leaves the module and the batches in the type they have. ``float64`` casts both. ``bf16`` and ``fp16``
    keep the weights and multiply matrices in the short type (autocast); since small gradients vanish in fp16, the loss
    is multiplied by a large factor before the backward pass, and a step whose gradients overflowed is skipped and the
    factor halved.

    Raises:
        ConfigError: If this processor does not compute in a short type.
    """

    def __init__(self, name: PrecisionName, device: torch.device) -> None:
        if device.type == "cpu":
            require_usable(name)
        self.name = name
        self._device = device.type
        self._scaler = torch.amp.GradScaler(self._device) if name == "fp16" else None

    @contextmanager
    def casting(self, module: nn.Module) -> Iterator[None]:
        """Bring weights and buffers into the type they are trained in, and back after the block.

        Recurrent layers on a CPU stay in float32 under the short types: many processors have no such kernel of them.
        """
        kinds = {name: tensor.dtype for name, tensor in chain(module.named_parameters(), module.named_buffers())}
        apart = [part for part in module.modules() if isinstance(part, nn.RNNBase)]
        apart = apart if self.name in _MIXED and self._device == "cpu" else []
        if self.name == "float64":
            module.double()
        for part in apart:
            vars(part)["forward"] = partial(_uncast, part.forward)
        try:
            yield
        finally:
            for part in apart:
                del vars(part)["forward"]
            if self.name == "float64":
                for name, tensor in chain(module.named_parameters(), module.named_buffers()):
                    tensor.data = tensor.data.to(kinds[name])

    def cast_batch(self, batch: Any) -> Any:
        """Bring what a batch holds into the type of the weights; integers stay what they are."""
        if self.name != "float64":
            return batch
        return map_tensors(lambda item: item.double() if item.is_floating_point() else item, batch)

    def forward(self) -> AbstractContextManager[Any]:
        """Compute in the short type inside the block, where there is one."""
        if self.name not in _MIXED:
            return nullcontext()
        return torch.autocast(self._device, _MIXED[self.name])

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of a loss, scaled as long as ``unscale`` has not been called."""
        loss = loss if self._scaler is None else self._scaler.scale(loss)
        loss.backward()  # type: ignore[no-untyped-call]

    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Take the factor out of the gradients."""
        if self._scaler is not None:
            self._scaler.unscale_(optimizer)

    def step(self, optimizer: torch.optim.Optimizer) -> bool:
        """Change the weights and return whether that was done; not when gradients overflowed."""
        if self._scaler is None:
            optimizer.step()
            return True
        before = self._scaler.get_scale()
        self._scaler.step(optimizer)
        self._scaler.update()
        return self._scaler.get_scale() >= before

    def discard(self) -> None:
        """Leave out a step whose gradients are unscaled already."""
        if self._scaler is not None:
            self._scaler.update()

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state."""
        return {} if self._scaler is None else dict(self._scaler.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the checkpointable state."""
        if self._scaler is not None:
            self._scaler.load_state_dict(state)


def _uncast(forward: Callable[..., Any], inputs: Tensor, *state: Any) -> Any:
    """Run a layer in float32, whatever is around it."""
    with torch.autocast("cpu", enabled=False):
        return forward(inputs.float(), *state)
