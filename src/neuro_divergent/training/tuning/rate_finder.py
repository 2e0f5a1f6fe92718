"""Finding a learning rate: a short training in which the rate grows at every step (Smith, 2017)."""

from __future__ import annotations

import copy
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import DivergedError, InputError
from neuro_divergent.core.seeding import seeded
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.objective import LossFunction, Restore
from neuro_divergent.training.schedules.base import LRScheduler, Plan, Schedule
from neuro_divergent.training.schedules.function import FunctionSchedule

if TYPE_CHECKING:
    import polars as pl
    import torch
    from torch import nn


_FEWEST = 10  # steps that a curve is made of at least
_WINDOW = 0.1  # fraction of the steps that smoothing looks at
_EDGE = 0.05  # fraction of the steps at the beginning that is not trusted
_CERTAINTY = 4.0  # standard errors by which the loss must fall; noise alone passes in one curve of a hundred


@dataclass(frozen=True, eq=False)
class RateCurve:
    """The loss of a network while its learning rate grows.

    Attributes:
        rates: Learning rate of each step.
        losses: Training loss of each step.
        smoothed: Mean of the losses around each step.

    Examples:
        The loss falls fastest at 0.003, is lowest at 0.03 and grows from there on:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> losses = np.array([10.0, 10.0, 10.0, 8.0, 3.0, 2.5, 2.6, 4.0, 20.0])
        >>> curve = nd.training.RateCurve(rates=np.geomspace(1e-4, 1.0, 9), losses=losses, smoothed=losses)
        >>> round(curve.suggestion, 4)
        0.0032
    """

    rates: Floats
    losses: Floats
    smoothed: Floats

    def __repr__(self) -> str:
        try:
            suggestion = f"suggestion {self.suggestion:.3g}"
        except InputError:
            suggestion = "no suggestion: the loss does not fall"
        return f"RateCurve({self.rates[0]:.3g} to {self.rates[-1]:.3g}, {suggestion})"

    @property
    def suggestion(self) -> float:
        """The rate at which the loss falls fastest, before it is lowest.

        Raises:
            InputError: If the loss does not fall by more than chance at any rate.
        """
        first = max(round(_EDGE * len(self.rates)), 1)
        lowest = int(np.argmin(self.smoothed))
        if lowest <= first or self._fall(first, lowest) <= 0:
            raise InputError(
                f"the loss does not fall at any learning rate from {self.rates[0]:.3g} to {self.rates[-1]:.3g}. Try a "
                "wider range or more steps, and check that the network is not trained already and the data is scaled."
            )
        slopes = np.gradient(self.smoothed, np.log(self.rates))
        return float(self.rates[first + int(np.argmin(slopes[first : lowest + 1]))])

    def frame(self) -> pl.DataFrame:
        """Return the curve as a table of ``learning_rate``, ``train_loss`` and ``smoothed``."""
        import polars as pl

        return pl.DataFrame({"learning_rate": self.rates, "train_loss": self.losses, "smoothed": self.smoothed})

    def _fall(self, first: int, lowest: int) -> float:
        """Return by how much the loss falls beyond what the difference of two noisy means can be."""
        noise = float(np.std((self.losses - self.smoothed)[: lowest + 1]))
        error = noise * math.sqrt(2 / _width(len(self.rates)))
        return float(self.smoothed[first] - self.smoothed[lowest]) - _CERTAINTY * error


def find_learning_rate(
    module: nn.Module,
    loss: LossFunction,
    train: Any,
    config: TrainingConfig | None = None,
    *,
    low: float = 1e-7,
    high: float = 1.0,
    steps: int = 100,
    diverged: float = 4.0,
    restore: Restore | None = None,
) -> RateCurve:
    """Train a copy of a network while the learning rate grows from ``low`` to ``high``.

    The network, the random state and the configuration are left as they are. Optimizer, clipping, batches and precision
    are those of the configuration, because the rate that suits depends on them.

    Args:
        module: Network, fresh as before training.
        loss: As for a ``Trainer``.
        train: As for ``Trainer.fit``.
        config: How it will be trained.
        low: First rate.
        high: Last rate; reached unless the loss grows too much before.
        steps: Steps between both, each at a rate that is the same factor higher.
        diverged: The test ends when the loss is this many times the lowest so far.
        restore: As for a ``Trainer``.

    Raises:
        InputError: If the range makes no sense, or training fails before a curve can be seen.

    Examples:
        A straight line through the origin, found from data without noise:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network, inputs = torch.nn.Linear(1, 1), torch.linspace(-1, 1, 64).view(64, 1)
        >>> curve = nd.training.find_learning_rate(network, nd.losses.MSE(), (inputs, 3 * inputs), steps=30)
        >>> len(curve.rates) <= 30, 1e-7 < curve.suggestion < 1
        (True, True)
    """
    if not 0 < low < high < math.inf:
        raise InputError(f"low={low!r}, high={high!r}: rates must be positive, and low the lower one.")
    if steps < _FEWEST or diverged <= 1:
        raise InputError(f"steps={steps!r} must be at least {_FEWEST} and diverged={diverged!r} more than 1.")
    config = config or TrainingConfig()
    growing = _Growing(low=low, high=high)
    test = config.for_trial(steps, schedule=growing, log_every=1, average=None)
    # A random order of batches may be drawn before training has seeded anything.
    with seeded(config.seed):
        trainer = Trainer(copy.deepcopy(module), loss, test, callbacks=[_StopWhenDiverged(diverged)], restore=restore)
        with suppress(DivergedError):  # the end of the test, and the rows before it are the curve
            trainer.fit(train)
    rows = trainer.history.rows
    if len(rows) < _FEWEST:
        raise InputError(
            f"the loss grew too much after {len(rows)} steps, at a learning rate of "
            f"{low * (high / low) ** (len(rows) / (steps - 1)):.3g}. Start lower than low={low:g}, or scale the data."
        )
    losses = np.array([row["train_loss"] for row in rows])
    return RateCurve(np.array([row["learning_rate"] for row in rows]), losses, _smooth(losses))


class _Growing(Schedule):
    """Goes from one rate to another, each step by the same factor; other groups of parameters keep their proportion."""

    name: ClassVar[str] = "growing"
    low: float
    high: float

    def start(self, optimizer: torch.optim.Optimizer, plan: Plan) -> LRScheduler:
        """Find the factors from the rate of the first group, which is the one that the optimizer's settings name."""
        first, last = self.low / float(optimizer.param_groups[0]["lr"]), max(plan.total_steps - 1, 1)
        return FunctionSchedule(lambda step: first * (self.high / self.low) ** (step / last)).start(optimizer, plan)


class _StopWhenDiverged(Callback):
    """Ends training when the loss, averaged over the last steps, is many times the lowest such average."""

    def __init__(self, times: float) -> None:
        self._times = times
        self._lowest = math.inf

    def logged(self, trainer: Trainer) -> None:
        rows = trainer.history.rows
        average = float(np.mean([row["train_loss"] for row in rows[-5:]]))
        self._lowest = min(self._lowest, average)
        # The lowest may be negative, as the logarithm of a density: the loss has grown when it is as far above zero.
        if len(rows) >= _FEWEST and average > self._times * abs(self._lowest):
            trainer.stop("the loss grew")


def _smooth(values: Floats) -> Floats:
    """Average around each step, over fewer steps near the ends; unlike a running average it does not lag behind."""
    kernel = np.ones(_width(len(values)))
    return np.asarray(np.convolve(values, kernel, "same") / np.convolve(np.ones_like(values), kernel, "same"))


def _width(steps: int) -> int:
    """Return the odd number of steps to average."""
    return 2 * max(round(_WINDOW * steps / 2), 1) + 1
