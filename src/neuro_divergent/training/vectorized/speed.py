"""Whether vectorized training pays: a few steps each way, measured on this machine."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.threads import using_threads
from neuro_divergent.training.objective import Example
from neuro_divergent.training.optimizers.base import GroupedOptimizer
from neuro_divergent.training.state import TrainingState
from neuro_divergent.training.vectorized.module_stack import ModuleStack
from neuro_divergent.training.vectorized.stacked_batches import StackedBatch, StackedBatches
from neuro_divergent.training.vectorized.stacked_optimizer import StackedOptimizer, clip_rows
from neuro_divergent.training.vectorized.support import clip_of
from neuro_divergent.training.vectorized.trainer import Member, vectorized_threads

WORTHWHILE = 1.1  # speedup from which on it is used: with less, chance would choose, differently in each process
_WARM_UP, _TIMED = 2, 5
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-9}
_speedups: dict[Any, float] = {}


def speedup(members: Sequence[Member]) -> float:
    """Return how many times faster trainings are together than one after the other; measured once in a process.

    0 if torch cannot vectorize them (a layer has no batching rule, or draws random numbers), if their gradients come
    out otherwise, or if a step changes buffers. The networks stay as they are.
    """
    trainer = members[0].trainer
    drawn = StackedBatches([member.train for member in members]).draw(
        {place: TrainingState() for place in range(len(members))}
    )
    batch = max(drawn, key=lambda item: len(item.places))
    key = (
        repr(trainer.module),
        repr([tuple(parameter.shape) for parameter in trainer.module.parameters()]),
        repr(trainer.loss),
        repr(trainer.config.optimizer.replace(lr=1.0)),
        trainer.config.precision,
        trainer.config.threads,
        tuple(batch.batch.past_y.shape),
    )
    if key not in _speedups:
        _speedups[key] = _measure(members, batch) if len(batch.places) > 1 else 0.0
    return _speedups[key]


def _measure(members: Sequence[Member], batch: StackedBatch) -> float:
    chosen = [members[place] for place in batch.places]
    trainer = chosen[0].trainer
    with ExitStack() as contexts:
        modules = [copy.deepcopy(member.trainer.module).to(trainer.device).train() for member in chosen]
        for module in modules:
            contexts.enter_context(trainer.precision.casting(module))
        contexts.enter_context(seeded(trainer.config.seed))
        contexts.enter_context(warnings.catch_warnings())
        # Where an operation has no batching rule torch warns, or raises.
        warnings.filterwarnings("error", message=".*performance drop.*")
        together = batch._replace(batch=trainer.precision.cast_batch(batch.batch))
        try:
            return _compare(chosen, modules, together)
        except Exception:  # noqa: BLE001 (what cannot be vectorized fails in many ways, and is trained one by one)
            return 0.0


def _compare(members: Sequence[Member], modules: list[nn.Module], batch: StackedBatch) -> float:
    """Return the speedup for copies of the networks; 0 if the gradients of the first step differ."""
    trainer = members[0].trainer
    config, clip = trainer.config, clip_of(trainer.config)
    assert isinstance(config.optimizer, GroupedOptimizer)
    alone = copy.deepcopy(modules[0])
    buffers = copy.deepcopy(dict(alone.named_buffers()))
    optimizer, own = config.optimizer.build(alone), batch.of(batch.places[0])
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def cost(output: Tensor, item: Any) -> Tensor:
        return trainer.objective.mean(output, Example.of(item), 0.0)

    stack = ModuleStack(modules, [group["params"] for group in config.optimizer.build(modules[0]).param_groups], cost)
    stacked = StackedOptimizer(config.optimizer, modules[0], stack)
    rates = [[group["lr"]] * len(modules) for group in optimizer.param_groups]

    def step_alone() -> None:
        trainer.precision.backward(cost(alone(own), own))
        clip.clip(parameters)
        optimizer.step()
        for parameter in parameters:
            parameter.grad = None

    def step_together() -> None:
        stack.differentiate(batch.batch)
        clip_rows(clip, stack.gradients).tolist()
        stacked.step(rates)

    trainer.precision.backward(cost(alone(own), own))
    stack.differentiate(batch.batch)
    if not _agree(parameters, stack.gradients) or any(
        not torch.equal(buffers[name], item) for name, item in alone.named_buffers()
    ):
        return 0.0
    for parameter in parameters:
        parameter.grad = None
    with using_threads(trainer._train_step.threads(own) if config.threads == "auto" else config.threads):
        one = _seconds(step_alone)
    with using_threads(vectorized_threads(members) if config.threads == "auto" else config.threads):
        return len(modules) * one / _seconds(step_together)


def _agree(parameters: list[nn.Parameter], gradients: list[Tensor]) -> bool:
    """Whether the gradients of the first network are those that it has by itself, up to rounding."""
    if any(parameter.grad is None for parameter in parameters):
        return False
    alone = torch.cat([parameter.grad.flatten() for parameter in parameters])  # type: ignore[union-attr]
    together = torch.cat([gradient[0] for gradient in gradients])
    return bool((alone - together).abs().max() <= _TOLERANCE[alone.dtype] * alone.abs().max())


def _seconds(step: Callable[[], None]) -> float:
    """Return the least time of a few steps: whatever else runs on the machine can only add to it."""
    times = []
    for _ in range(_WARM_UP + _TIMED):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return min(times[_WARM_UP:])
