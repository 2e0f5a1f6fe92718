"""Which precision trains fastest on this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, get_args

import torch

from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.losses.point import MAE
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.config import PrecisionName, TrainingConfig
from neuro_divergent.training.engine import Trainer

_ROUNDS = 5
_FAR_BEHIND = 4.0  # times as slow as the fastest


@dataclass(frozen=True)
class PrecisionSpeed:
    """Speed and loss of one precision.

    Attributes:
        name: The precision.
        milliseconds: Median time of a training step, over rounds that all precisions took in turns.
        loss: Training loss at the end, which should be near that of float32.
        skipped: Steps that were skipped because gradients overflowed.
        problem: Why it does not run here, if it does not.
    """

    name: str
    milliseconds: float = float("nan")
    loss: float = float("nan")
    skipped: int = 0
    problem: str | None = None


def measure_precisions(
    architecture: Architecture,
    *,
    horizon: int,
    input_size: int,
    batch_size: int,
    steps: int = 20,
    channels: int = 1,
    training: TrainingConfig | None = None,
) -> list[PrecisionSpeed]:
    """Train the same network on the same noisy waves in every precision, in turns, and time the steps.

    Args:
        architecture: What to train.
        horizon: Steps to forecast.
        input_size: Steps of history.
        batch_size: Windows per step.
        steps: Steps per round; there are five rounds after a warm-up, and one for what is far behind.
        channels: Series in a window.
        training: Settings other than precision and budget.

    Returns:
        One result for each precision, the fastest first and those that do not run last.
    """
    spec = TaskSpec(horizon=horizon, input_size=input_size, channels=channels)
    batches = [_waves(spec, batch_size, seed) for seed in range(4)]
    names: tuple[str, ...] = get_args(PrecisionName)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    results = {name: PrecisionSpeed(name) for name in names}
    for turn in range(_ROUNDS + 1):
        for name in names:
            if results[name].problem or _is_hopeless(seconds, name):
                continue
            config = (training or TrainingConfig()).replace(
                precision=name, max_steps=steps if turn else 2, max_epochs=None, early_stopping=None, log_every=steps
            )
            try:
                spent, trainer = _run(architecture, spec, batches, config)
            except Exception as error:  # noqa: BLE001 - whatever a precision fails with is its result
                results[name] = PrecisionSpeed(name, problem=f"{type(error).__name__}: {error}")
                continue
            if turn:
                seconds[name].append(spent / steps)
                loss = trainer.history.rows[-1]["train_loss"]
                results[name] = PrecisionSpeed(name, 0.0, loss, trainer.state.skipped)
    timed = [replace(results[name], milliseconds=median(spent) * 1e3) for name, spent in seconds.items() if spent]
    failed = [result for result in results.values() if result.problem]
    return [*sorted(timed, key=lambda result: result.milliseconds), *failed]


def _is_hopeless(seconds: dict[str, list[float]], name: str) -> bool:
    """Whether one round has shown that more of them would be a waste of time."""
    first = [spent[0] for spent in seconds.values() if spent]
    return bool(seconds[name]) and seconds[name][0] > _FAR_BEHIND * min(first)


class _Clock(Callback):
    """Times the steps alone."""

    def fit_start(self, trainer: Trainer) -> None:
        del trainer
        self.began = time.perf_counter()

    def fit_end(self, trainer: Trainer) -> None:
        del trainer
        self.seconds = time.perf_counter() - self.began


def _run(
    architecture: Architecture, spec: TaskSpec, batches: list[Any], config: TrainingConfig
) -> tuple[float, Trainer]:
    clock = _Clock()
    with seeded(config.seed):
        network = architecture.build(spec)
    trainer = Trainer(network, MAE(), config, callbacks=[clock])
    trainer.fit(batches)
    return clock.seconds, trainer


def _waves(spec: TaskSpec, rows: int, seed: int) -> Batch:
    random = torch.Generator().manual_seed(seed)
    size = spec.input_size + spec.horizon
    phase = torch.rand(rows, 1, spec.channels, generator=random) * 6.28
    values = torch.sin(torch.arange(size)[None, :, None] * 0.26 + phase)
    values += 0.1 * torch.randn(values.shape, generator=random)
    return Batch(values[:, : spec.input_size], future_y=values[:, spec.input_size :])
