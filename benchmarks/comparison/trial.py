"""One run: a task, an optimizer, a schedule, a rate and a seed."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

import neuro_divergent as nd
from allocation import Allocation
from comparison.tasks import TASKS, Task
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.schedules.base import Schedule

RUNS = Path(__file__).resolve().parents[1] / "results" / "optimizers"
USUAL = "warmup_cosine"  # the default schedule
TOO_SLOW = 0.25  # seconds a step: ten times what AdamW takes
LATER = 10  # step after which an optimizer has made all of its state


@dataclass(frozen=True, kw_only=True)
class Name:
    """Which run."""

    task: str
    optimizer: str
    schedule: str
    rate: float
    steps: int
    seed: int = 1

    @property
    def file(self) -> Path:
        """Where its result is kept."""
        parts = (self.task, self.optimizer, self.schedule, f"rate-{self.rate:g}", f"steps-{self.steps}")
        return RUNS / f"{'-'.join(parts)}-seed-{self.seed}.json"


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out of a run.

    Attributes:
        loss: Validation loss after the last step; infinite if training diverged.
        best: Lowest validation loss on the way.
        step_seconds: Median time of a step.
        seconds: Time of the whole run.
        parameters: Numbers that were trained.
        state_bytes: Bytes that the optimizer keeps, weights and gradients not counted.
        peak_bytes: Bytes of all tensors at their highest, in the second step: weights, state, gradients, activations.
    """

    loss: float
    best: float
    step_seconds: float
    seconds: float
    parameters: int
    state_bytes: int
    peak_bytes: int


class Skipped(Exception):  # noqa: N818 - not an error
    """This cannot run here, and why."""


def run(name: Name, directory: Path) -> Result:
    """Return the result of a run, from its file if it has finished before.

    Raises:
        Skipped: If the optimizer or the schedule cannot be used as it is.
    """
    if name.file.exists():
        return Result(**json.loads(name.file.read_text()))
    torch.set_num_threads(1)
    task = TASKS[name.task]
    panel = task.read(directory)
    _warm_up(task, panel)
    try:
        training = task.training(
            name.steps,
            optimizer=Optimizer.registry.get(name.optimizer)(lr=name.rate),
            schedule=schedule_for(name.schedule, name.steps),
            seed=name.seed,
        )
        result = _train(task.forecaster(training), panel)
    except (nd.errors.ConfigError, nd.errors.MissingDependencyError) as error:
        raise Skipped(str(error)) from None
    name.file.parent.mkdir(parents=True, exist_ok=True)
    part = name.file.with_suffix(".part")
    part.write_text(json.dumps(asdict(result), indent=2))
    part.replace(name.file)
    return result


def _train(forecaster: nd.Forecaster, panel: nd.Panel) -> Result:
    probe = _Probe()
    began = time.perf_counter()
    try:
        forecaster.fit(panel, callbacks=[probe])
        losses = [row["validation_loss"] for row in probe.rows if row.get("validation_loss") is not None]
    except nd.errors.DivergedError:
        losses = [math.inf]
    return Result(
        loss=losses[-1],
        best=min(losses),
        step_seconds=float(torch.tensor(probe.times, dtype=torch.float64).diff().median()),
        seconds=time.perf_counter() - began,
        parameters=probe.parameters,
        state_bytes=probe.state_bytes,
        peak_bytes=probe.peak_bytes,
    )


class _Probe(nd.callbacks.Callback):
    """Notes when steps end, and the memory of the second; some optimizers keep more only from a later step on.

    Raises:
        Skipped: If a step takes so long that the comparison would never end.
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.rows: list[dict[str, Any]] = []
        self.state_bytes = self.parameters = self.peak_bytes = 0
        self._allocation = Allocation()

    def step_end(self, trainer: nd.Trainer) -> None:
        """Note the time, and what there is to be noted at this step."""
        self.times.append(time.perf_counter())
        step, module = trainer.state.step, trainer.module
        if step == 1:
            self.rows = trainer.history.rows
            self.parameters = sum(weights.numel() for weights in module.parameters())
            self._allocation.start()
        elif step == 2:
            spent = self.times[1] - self.times[0]
            weights = sum(weights.nbytes for weights in module.parameters())
            self.peak_bytes = self._allocation.stop() + weights + state_bytes(trainer.optimizer, module)
            if spent > TOO_SLOW:
                raise Skipped(f"a step takes {spent:.0f} s")
        if step in (2, LATER):
            self.state_bytes = max(self.state_bytes, state_bytes(trainer.optimizer, module))


def state_bytes(optimizer: torch.optim.Optimizer, module: torch.nn.Module) -> int:
    """Return the bytes of all tensors in the state of an optimizer that are not the weights themselves."""
    own = {weights.untyped_storage().data_ptr() for weights in module.parameters()}
    found: dict[int, int] = {}
    waiting: list[Any] = [optimizer.state_dict()]
    while waiting:
        item = waiting.pop()
        if isinstance(item, torch.Tensor):
            storage = item.untyped_storage()
            if storage.data_ptr() not in own:
                found[storage.data_ptr()] = storage.nbytes()
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, (list, tuple)):
            waiting += item
    return sum(found.values())


def schedule_for(name: str, steps: int) -> Schedule:
    """Return a schedule with its defaults; those that count epochs are fitted to a budget of steps."""
    settings: dict[str, dict[str, Any]] = {
        "step": {"every": 0.34},
        "exponential": {"per": "step", "gamma": 0.01 ** (1 / steps)},
    }
    return Schedule.registry.get(name)(**settings.get(name, {}))  # type: ignore[no-any-return]


def usual_rate(optimizer: str) -> float:
    """Return the rate that an optimizer has by default."""
    config = Optimizer.registry.get(optimizer)()
    rate = getattr(config, "lr", None)
    return float(config.base.lr if rate is None else rate)


def usual_schedule(optimizer: str) -> str:
    """Return the default schedule, or none at all for an optimizer that is meant to have none."""
    return "constant" if optimizer.startswith("schedule_free") else USUAL


def tune(name: Name, directory: Path, most: int = 5) -> dict[Name, Result]:
    """Try a third of a rate, the rate and three times it, then go on in the direction in which it gets better."""
    found: dict[Name, Result] = {}
    waiting = [1 / 3, 1.0, 3.0]
    while waiting and len(found) < most:
        for factor in waiting:
            trial = replace(name, rate=float(f"{name.rate * factor:.3g}"))
            found[trial] = run(trial, directory)
        rates = sorted(found, key=lambda trial: trial.rate)
        best = best_of(found)
        waiting = [best.rate / name.rate / 3] if best == rates[0] else [best.rate / name.rate * 3]
        if best not in (rates[0], rates[-1]) or math.isinf(found[best].loss):
            break
    return found


def best_of(found: dict[Name, Result]) -> Name:
    """Return the run with the lowest validation loss."""
    return min(found, key=lambda trial: found[trial].loss)


_warm: set[str] = set()


def _warm_up(task: Task, panel: nd.Panel) -> None:
    """Train a few steps, once, so that what torch sets up at its first use is not counted."""
    if task.title not in _warm:
        _warm.add(task.title)
        task.forecaster(task.training(3)).fit(panel)
