"""The batches of each training step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch

from neuro_divergent.core.seeding import random_state, set_random_state
from neuro_divergent.data.loader import Loader
from neuro_divergent.training.running_metrics import RunningMetrics
from neuro_divergent.training.state import TrainingState


class StepBatches:
    """Draws the batches of an epoch, also from its middle on.

    A loader that draws its order from torch's generator, such as a shuffling ``DataLoader``, draws the same order again
    after a restart: it is drawn with the generators as they were when the epoch began.

    Attributes:
        random: State of the generators when the epoch began; ``None`` before training.
    """

    def __init__(self, accumulate: int, device: torch.device) -> None:
        self.random: dict[str, Any] | None = None
        self._accumulate = accumulate
        self._device = device

    def of_epoch(self, loader: Loader, state: TrainingState, metrics: RunningMetrics) -> Iterator[list[Any]]:
        """Yield the batches of each step of the rest of the epoch; the last step may have fewer."""
        source = iter(self._draw(loader, state))
        while True:
            began = time.perf_counter()
            batches = list(islice(source, self._accumulate))
            metrics.wait(time.perf_counter() - began)
            if not batches:
                return
            yield batches

    def _draw(self, loader: Loader, state: TrainingState) -> Iterator[Any]:
        now = random_state(self._device)
        if state.batch == 0 or self.random is None:
            self.random = now
            return loader.epoch(state.epoch, state.batch)
        set_random_state(self.random, self._device)
        batches = loader.epoch(state.epoch, state.batch)
        set_random_state(now, self._device)
        return batches
