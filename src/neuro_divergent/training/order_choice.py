"""Which random order a training takes where its settings leave that to the speed of the disk."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from torch import nn

from neuro_divergent.core.errors import DivergedError, UntrustedFileError
from neuro_divergent.core.seeding import seeded
from neuro_divergent.data.loader import Loader, WindowLoader
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.gradients.estimators.autodiff import Autodiff
from neuro_divergent.training.memory import unexplained
from neuro_divergent.training.strategy import SingleDevice, Strategy

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

_STEPS = 8  # of which the first three warm up
_ORDERS: dict[str, Literal[True, "blocks"]] = {"exact": True, "blocks": "blocks"}


class OrderChoice:
    """The order of one training.

    A loader whose order is not ``"auto"`` keeps it. Otherwise the order is exact, unless the windows are on disk, are
    too many for the memory, and reading a batch takes longer than a step. A training that is resumed keeps its order.

    Attributes:
        order: ``exact``, ``blocks`` or ``in order``; ``None`` before training and for batches that are no windows.
        on_disk: Whether windows are read from disk.
    """

    def __init__(self) -> None:
        self.order: str | None = None
        self.on_disk = False
        self._is_automatic = False

    def started(
        self, loader: Loader, resumed: Mapping[str, Any] | None, step_seconds: Callable[[], float], strategy: Strategy
    ) -> Loader:
        """Decide, and return the batches in their order.

        ``resumed`` is what ``state_dict`` returned in the training that goes on, and ``step_seconds`` measures a step.
        The first of several processes decides for all.
        """
        if not isinstance(loader, WindowLoader):
            return loader
        shuffle = loader.order.shuffle
        self.on_disk, self._is_automatic = loader.batcher.is_mapped, shuffle == "auto"
        if shuffle != "auto":
            self.order = "blocks" if shuffle == "blocks" else "exact" if shuffle else "in order"
            return loader
        if resumed is not None:
            self.order = str(resumed.get("order"))
        else:
            self.order = strategy.broadcast(_faster(loader, step_seconds) if strategy.rank == 0 else "")
        if self.order not in _ORDERS:
            raise UntrustedFileError(f"the state to go on from was made in the order {self.order!r}.")
        return loader.ordered(_ORDERS[self.order])

    def facts(self) -> dict[str, Any]:
        """Return what a run tells about it: nothing where windows are in memory."""
        return {"order": self.order, "on_disk": True} if self.on_disk else {}

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state: nothing where the order was not chosen here."""
        return {"order": {"order": self.order}} if self._is_automatic else {}


def step_seconds(trainer: Trainer, batch: Any) -> float:
    """Measure a training step on a batch, with a copy of the network."""
    from neuro_divergent.training.engine import Trainer

    config = trainer.config
    gradient = Autodiff() if config.gradient.numerical else config.gradient
    short = config.for_trial(_STEPS, accumulate=1, schedule="constant", gradient=gradient, shuffle=True)
    clock = _Clock()
    network: nn.Module = copy.deepcopy(trainer.module).to(trainer.device)
    trial = Trainer(
        network, trainer.loss, short, callbacks=clock, restore=trainer.objective.restore, strategy=SingleDevice()
    )
    with seeded(config.seed), unexplained(), suppress(DivergedError):
        trial.fit([batch] * _STEPS)
    spent = [after - before for before, after in zip(clock.times[2:-1], clock.times[3:], strict=True)]
    return config.accumulate * median(spent) if spent else float("inf")


def _faster(loader: WindowLoader, step_seconds: Callable[[], float]) -> str:
    """Return the order in which training waits least, by measuring."""
    if not loader.batcher.is_mapped or loader.fits_memory:
        return "exact"
    return "blocks" if loader.seconds_to_read() > step_seconds() else "exact"


class _Clock(Callback):
    """Takes the time at the end of each step."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def step_end(self, trainer: Trainer) -> None:
        self.times.append(time.perf_counter())
