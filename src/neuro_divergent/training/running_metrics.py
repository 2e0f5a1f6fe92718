"""Running averages of losses, and weighted means of validation results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor


class RunningMetrics:
    """Adds up losses and samples between two rows of the history, without reading a number back from the device."""

    def __init__(self) -> None:
        self._total: Tensor | float | None = None
        self._steps = 0
        self._samples = 0
        self._rate: float | None = None
        self._norm: Tensor | float | None = None
        self._waited = 0.0
        self._since = time.perf_counter()

    def wait(self, seconds: float) -> None:
        """Add time in which there was no batch to work on."""
        self._waited += seconds

    def add(self, loss: Tensor | float, samples: int, rate: float, norm: Tensor | float) -> None:
        """Add a step."""
        self._total = loss if self._total is None else self._total + loss
        self._steps += 1
        self._samples += samples
        self._rate = rate
        self._norm = norm

    def read(self) -> dict[str, Any]:
        """Return what happened since the last reading as columns of the history.

        ``train_loss`` is ``None`` without steps; ``learning_rate`` and ``gradient_norm`` are those of the last step.
        """
        spent = max(time.perf_counter() - self._since, 1e-9)
        row = {
            "train_loss": None if self._total is None else float(self._total) / self._steps,
            "learning_rate": self._rate,
            "gradient_norm": None if self._norm is None else float(self._norm),
            "samples_per_second": self._samples / spent,
            "waiting_share": min(self._waited / spent, 1.0),
        }
        self._total, self._steps, self._samples, self._waited = None, 0, 0, 0.0
        self._since = time.perf_counter()
        return row

    def state_dict(self) -> dict[str, Any]:
        """Return what was added up since the last reading."""
        return {
            "total": self._total,
            "steps": self._steps,
            "samples": self._samples,
            "rate": self._rate,
            "norm": self._norm,
            "waited": self._waited,
            "seconds": time.perf_counter() - self._since,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the checkpointable state."""
        self._total, self._steps, self._samples = state["total"], state["steps"], state["samples"]
        self._rate, self._norm = state.get("rate"), state.get("norm")  # format 1 does not have them
        self._waited = state.get("waited", 0.0)  # earlier checkpoints do not have it
        self._since = time.perf_counter() - state["seconds"]


class WeightedMean:
    """Weighted means of several results over many batches."""

    def __init__(self) -> None:
        self._totals: dict[str, tuple[float, float]] = {}
        self._finish: dict[str, Callable[[Tensor], Tensor] | None] = {}

    def add(
        self, name: str, total: Tensor, weight: Tensor | float, finish: Callable[[Tensor], Tensor] | None = None
    ) -> None:
        """Add the weighted sum of a result over a batch; ``finish`` makes the result out of the mean at the end."""
        known, counted = self._totals.get(name, (0.0, 0.0))
        self._totals[name] = known + float(total), counted + float(weight)
        self._finish[name] = finish

    def means(self, all_reduce: Callable[[float, float], tuple[float, float]]) -> dict[str, float]:
        """Return the results, added up over processes by ``all_reduce``; one without any weight is 0."""
        return {name: self._mean(name, *all_reduce(*sums)) for name, sums in self._totals.items()}

    def _mean(self, name: str, total: float, weight: float) -> float:
        mean = total / weight if weight else 0.0
        finish = self._finish[name]
        return mean if finish is None else float(finish(torch.tensor(mean, dtype=torch.float64)))
