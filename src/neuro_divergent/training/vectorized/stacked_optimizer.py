"""An optimizer over stacked networks, with a learning rate for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from neuro_divergent.training.optimizers.base import GroupedOptimizer, trained
from neuro_divergent.training.vectorized.module_stack import ModuleStack

if TYPE_CHECKING:
    from neuro_divergent.training.gradients.transforms.clip import Clip

_COUNTS = ("step", "mu_product")  # what torch's optimizers keep that depends on the number of steps alone


class StackedOptimizer:
    """Torch's optimizer over the matrices of a ``ModuleStack``.

    An optimizer whose update of a weight depends on that weight and its gradients alone does the same to a matrix as to
    each of its rows. Torch's take one learning rate for all rows. Where rows differ in it, a step is made at rate 1,
    and each row goes as much of the way as its rate says: the change is proportional to the rate
    (``Optimizer.elementwise``).

    Args:
        config: Settings of the optimizer; the learning rates are given with each step.
        module: One of the networks, which decides what decays: a vector of biases does not, and is a matrix here.
        stack: The networks.
    """

    def __init__(self, config: GroupedOptimizer, module: nn.Module, stack: ModuleStack) -> None:
        self._stack = stack
        groups = config.arrange(module, trained(module))
        stacked = [{**group, "params": [matrix]} for group, matrix in zip(groups, stack.matrices, strict=True)]
        self._optimizer = config.create(stacked)

    def step(self, rates: Sequence[Sequence[float]]) -> None:
        """Change the weights; ``rates`` are the learning rates of each group, of each network."""
        mixed: list[tuple[Tensor, Tensor, Sequence[float]]] = []
        for group, own in zip(self._optimizer.param_groups, rates, strict=True):
            if len(set(own)) == 1:
                group["lr"] = own[0]
            else:
                group["lr"] = 1.0
                matrix = group["params"][0].data
                mixed.append((matrix, matrix.clone(), own))
        self._optimizer.step()
        for matrix, before, own in mixed:
            matrix.copy_(before.lerp_(matrix, torch.tensor(own, dtype=matrix.dtype, device=matrix.device)[:, None]))

    def keep(self, rows: Sequence[int]) -> None:
        """Keep the state of some networks only; call it after ``ModuleStack.keep``."""
        for state in self._optimizer.state.values():
            for name, item in state.items():
                if isinstance(item, Tensor) and item.ndim:
                    state[name] = item[list(rows)]

    def read_states(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        """Take the states of the optimizers of all networks, to go on from them; all have made as many steps."""
        parameters = [dict(module.named_parameters()) for module in self._stack.modules]
        for number, matrix in enumerate(self._stack.matrices):
            names = list(self._stack.split(number, matrix.data[0]))
            states = [
                [optimizer.state[own[name]] for name in names]
                for optimizer, own in zip(optimizers, parameters, strict=True)
            ]
            for key, item in states[0][0].items():
                if key in _COUNTS and isinstance(item, Tensor):
                    # Torch keeps them in the default type, and loads them in that of the weights.
                    self._optimizer.state[matrix][key] = item.to(torch.get_default_dtype(), copy=True)
                elif not isinstance(item, Tensor):
                    self._optimizer.state[matrix][key] = item
                else:
                    rows = [torch.cat([state[key].flatten() for state in own]) for own in states]
                    self._optimizer.state[matrix][key] = torch.stack(rows)

    def write_state(self, row: int, optimizer: torch.optim.Optimizer, module: nn.Module) -> None:
        """Give the optimizer of a network its state, to go on with it alone."""
        parameters = dict(module.named_parameters())
        for number, matrix in enumerate(self._stack.matrices):
            own: dict[str, dict[str, Any]] = {}
            for key, item in self._optimizer.state[matrix].items():
                if isinstance(item, Tensor) and item.ndim:
                    parts = self._stack.split(number, item[row])
                else:
                    parts = dict.fromkeys(self._stack.split(number, matrix.data[row]), item)
                for name, part in parts.items():
                    own.setdefault(name, {})[key] = part.clone() if isinstance(part, Tensor) else part
            for name, state in own.items():
                optimizer.state[parameters[name]] = state


def clip_rows(clip: Clip, gradients: list[Tensor]) -> Tensor:
    """Bound the gradients of each network by itself; return the norm of each before that.

    Gradients of a network whose norm is not finite are left alone.
    """
    from neuro_divergent.training.gradients.transforms.clip import ClipNorm, ClipValue

    norms = _row_norms(gradients)
    if isinstance(clip, ClipNorm):
        factor = (clip.limit / (norms + 1e-6)).clamp_max(1.0).where(norms.isfinite(), 1.0)[:, None]
        for gradient in gradients:
            gradient.mul_(factor)
    elif isinstance(clip, ClipValue):
        healthy = norms.isfinite()[:, None]
        for gradient in gradients:
            gradient.copy_(gradient.clamp(-clip.limit, clip.limit).where(healthy, gradient))
    return norms


def _row_norms(gradients: list[Tensor]) -> Tensor:
    """Return the Euclidean norm of each row of some matrices together."""
    from neuro_divergent.training.gradients.norm import norm_of

    parts = [torch.linalg.vector_norm(gradient, dim=1) for gradient in gradients]
    norms: Tensor = parts[0] if len(parts) == 1 else torch.linalg.vector_norm(torch.stack(parts), dim=0)
    if not norms.isfinite().all():  # perhaps it is only the squares that are too large
        rows = (~norms.isfinite()).nonzero().flatten().tolist()
        for row in rows:
            norms[row] = norm_of([gradient[row] for gradient in gradients])
    return norms
