"""Norms of gradients, weights and updates by layer."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.training.callbacks.base import ClosingCallback
from neuro_divergent.training.parted import is_parted

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer
    from torch.utils.hooks import RemovableHandle

    from neuro_divergent.training.callbacks.events import EventLog
    from neuro_divergent.training.engine import Trainer

_MOST_TIMES = 200
_LEAST_TIMES = 20  # before the fraction counts, so that a short run is measured as well
_MOST_LAYERS = 1000


class LayerMonitor(ClosingCallback):
    """Measures each trained parameter now and then and writes it as ``layers`` events.

    Each has three lists, in the order of the names in ``start``: ``gradient``, the norm of the gradient after clipping;
    ``weight``, the norm of the parameter before the step; and ``update``, that of its change in the step. A parameter
    without a gradient, such as a frozen one, has ``null``. A step is measured about 200 times in a run, never more
    often than rows are written, and after the first 20 times less often where it would take more than ``fraction`` of
    the time of training. It draws no random numbers and changes nothing. Parameters of which each process holds a part
    are not measured.
    """

    main_only: ClassVar[bool] = True

    def __init__(self, events: EventLog, *, fraction: float = 0.005) -> None:
        self.events = events
        self.fraction = fraction
        self._times = 0
        self._cost = math.inf
        self._spent = 0.0
        self._not_before = 0.0
        self._parameters: list[nn.Parameter] = []
        self._before: list[Tensor] | None = None
        self._measured: list[nn.Parameter] = []
        self._every = 1
        self._trainer: Trainer | None = None
        self._hooks: list[RemovableHandle] = []

    def fit_start(self, trainer: Trainer) -> None:
        """Choose what to measure, and when; must come before the event log is opened, which has the names."""
        named = list(trainer.module.named_parameters())[:_MOST_LAYERS]
        self.events.layers = [name for name, _ in named]
        # Norms of parameters that are dealt out would need all processes, and this is called in one of them.
        self._parameters = [] if any(is_parted(item) for _, item in named) else [item for _, item in named]
        self._every = max(trainer.config.log_every, trainer.plan.total_steps // _MOST_TIMES, 1)
        self._trainer = trainer
        self._hooks = [
            trainer.optimizer.register_step_pre_hook(self._before_step),
            trainer.optimizer.register_step_post_hook(self._after_step),
        ]

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._before, self._trainer = [], None, None

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        assert self._trainer is not None
        self._before = None
        began = time.perf_counter()
        if (self._trainer.state.step + 1) % self._every == 0 and began >= self._not_before:
            self._measured = [parameter for parameter in self._parameters if parameter.grad is not None]
            self._before = [parameter.detach().clone() for parameter in self._measured]
            self._spent = time.perf_counter() - began

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._before is None or not self._measured:
            return
        import torch

        assert self._trainer is not None
        began = time.perf_counter()
        with torch.no_grad():
            gradients = torch._foreach_norm([item.grad for item in self._measured if item.grad is not None])
            weights = torch._foreach_norm(self._before)
            torch._foreach_sub_(self._before, [item.detach() for item in self._measured])
            groups = (gradients, weights, torch._foreach_norm(self._before))
            # One transfer for all three, where the network is on a device.
            norms = torch.stack([torch.stack(list(group)).float() for group in groups]).tolist()
        self._before = None
        places = {id(parameter): place for place, parameter in enumerate(self._measured)}
        order = [places.get(id(parameter)) for parameter in self._parameters]
        gradient, weight, update = ([None if at is None else kind[at] for at in order] for kind in norms)
        step = self._trainer.state.step + 1
        self.events.write("layers", step=step, gradient=gradient, weight=weight, update=update)
        now = time.perf_counter()
        self._times += 1
        self._cost = min(self._cost, self._spent + now - began)  # the first time it takes longer than ever after
        if self._times >= _LEAST_TIMES:
            self._not_before = now + self._cost * (1 / self.fraction - 1)
