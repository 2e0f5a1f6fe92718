"""The loop that trains several networks of one shape as one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from neuro_divergent.core.errors import DivergedError, Interrupted
from neuro_divergent.core.memory import keeping_memory
from neuro_divergent.core.seeding import seeded
from neuro_divergent.data.loader import Loader, WindowLoader
from neuro_divergent.training.callbacks.checkpointing import Checkpointer
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.memory import explaining_memory
from neuro_divergent.training.objective import Example
from neuro_divergent.training.optimizers.base import GroupedOptimizer
from neuro_divergent.training.thread_count import ThreadCount
from neuro_divergent.training.vectorized.module_stack import ModuleStack
from neuro_divergent.training.vectorized.stacked_batches import StackedBatch, StackedBatches
from neuro_divergent.training.vectorized.stacked_optimizer import StackedOptimizer, clip_rows
from neuro_divergent.training.vectorized.support import clip_of, require_supported


@dataclass(eq=False)
class Member:
    """One of the trainings.

    Attributes:
        trainer: Its trainer, not yet fitted.
        train: The batches that it is trained on.
        validation: Those that it is validated on, if any.
        resume: State of the trainer to go on from. All that are not over must have made as many steps.
        error: Why it ended early, if it did.
    """

    trainer: Trainer
    train: WindowLoader
    validation: Loader | None = None
    resume: Mapping[str, Any] | None = None
    error: DivergedError | None = None


class VectorizedTrainer:
    """Trains networks of one architecture in one step each, as if each were trained by itself.

    Forward and backward pass, clipping and the update of the weights are one operation over all networks
    (``torch.func.vmap``). Everything else stays with the trainer of each: its order of windows, learning rate,
    schedule, average of weights, validation, early stopping and history. Weights differ by rounding from those that
    ``Trainer.fit`` gives.

    A network whose training ends leaves the others, also when its loss becomes NaN or infinite. The last one goes on by
    itself. What interrupts one of them interrupts all at the same step, and where one writes a checkpoint all do, so
    that they can be resumed together, or each by itself. Resumed together they get the weights that they would have got
    without interruption.

    Args:
        members: The trainings; ``support`` says which can be trained together.

    Raises:
        ConfigError: If these cannot be trained together.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        require_supported(members)
        self._members = list(members)
        self._active = list(range(len(members)))
        self._rows: list[int] = []  # whose weights the rows of the stack are
        self._batches = StackedBatches([member.train for member in members])
        self._clip = clip_of(members[0].trainer.config)
        self._thread_count = ThreadCount(members[0].trainer.config.threads)

    def fit(self) -> None:
        """Train until the last training is over; one that diverged has an ``error``."""
        first = self._members[0]
        resumed = None if first.resume is None else first.resume.get("threads")
        threads = self._thread_count.started(resumed, lambda: vectorized_threads(self._members), may_change=True)
        with ExitStack() as contexts:
            contexts.enter_context(explaining_memory(first.trainer, first.train))
            for context in (seeded(first.trainer.config.seed), threads, keeping_memory()):
                contexts.enter_context(context)
            for member in self._members:
                contexts.enter_context(member.trainer.precision.casting(member.trainer.module))
            contexts.callback(self._release)
            try:
                self._run()
            except BaseException as error:
                for place in self._active:
                    self._members[place].trainer._emit("failed", error)
                raise

    def _run(self) -> None:
        self._start()
        self._for_all(self._active, self._finish_restored)
        if len(self._active) > 1:
            self._stack_active()
        while len(self._active) > 1:
            self._step()
        if self._active:
            self._continue_alone(self._active[0])

    def _start(self) -> None:
        for member in self._members:
            member.trainer._thread_count.count = self._thread_count.count
            member.trainer._start(member.train, with_validation=member.validation is not None, resume=member.resume)

    def _finish_restored(self, place: int) -> None:
        """Do what was left of the step that a training goes on from."""
        self._end_step(place, is_due=self._members[place].trainer.state.pending_validation)

    def _end_step(self, place: int, *, is_due: bool = True) -> None:
        """Validate and log the last step of a training where that is due, and finish the training if it is over."""
        member = self._members[place]
        trainer = member.trainer
        try:
            if is_due:
                trainer._finish_step(trainer.module, member.train, member.validation)
            if trainer.is_over:
                trainer._finish(trainer.module, member.validation)
                self._active.remove(place)
        except DivergedError as error:
            self._fail(place, error)

    def _stack_active(self) -> None:
        """Stack the weights of the trainings that are not over, and the states of their optimizers."""
        self._rows = list(self._active)
        trainers = [self._members[place].trainer for place in self._rows]
        trainer = trainers[0]
        assert isinstance(trainer.config.optimizer, GroupedOptimizer)
        assert len({trainer.state.step for trainer in trainers}) == 1
        groups = [group["params"] for group in trainer.optimizer.param_groups]
        objective = trainer.objective
        self._stack = ModuleStack(
            [trainer.module for trainer in trainers],
            groups,
            lambda output, batch: objective.mean(output, Example.of(batch), 0.0),
        )
        self._optimizer = StackedOptimizer(trainer.config.optimizer, trainer.module, self._stack)
        if trainer.state.step:
            self._optimizer.read_states([trainer.optimizer for trainer in trainers])
        for place in self._rows:  # a checkpoint has the state of its own optimizer
            optimizer = self._members[place].trainer.optimizer
            optimizer.register_state_dict_pre_hook(partial(self._write_state, place))

    def _write_state(self, place: int, optimizer: torch.optim.Optimizer) -> None:
        if place in self._rows:
            module = self._members[place].trainer.module
            self._optimizer.write_state(self._rows.index(place), optimizer, module)

    def _step(self) -> None:
        """Change the weights of all networks once, then let the trainer of each do what follows."""
        active = list(self._active)
        trainers = [self._members[place].trainer for place in active]
        for trainer in trainers:
            if trainer.state.batch == 0:
                trainer._emit("epoch_start")
        began = time.perf_counter()
        drawn = self._batches.draw({place: self._members[place].trainer.state for place in active})
        waited = time.perf_counter() - began
        losses = self._differentiate(drawn)
        norms = clip_rows(self._clip, self._stack.gradients).tolist()
        healthy = [self._is_healthy(row, losses[place], norms[row]) for row, place in enumerate(active)]
        for row, place in enumerate(active):
            if not healthy[row]:
                self._end_diverged(row, place, drawn, losses[place])
        groups = range(len(self._stack.matrices))
        self._optimizer.step(
            [[trainer.optimizer.param_groups[group]["lr"] for trainer in trainers] for group in groups]
        )
        windows = {place: item.windows for item in drawn for place in item.places}

        def finish(place: int) -> None:
            self._members[place].trainer._running_metrics.wait(waited)
            self._finish_step(place, losses[place], norms[active.index(place)], windows[place])

        self._for_all([place for row, place in enumerate(active) if healthy[row]], finish)
        self._share_checkpoint()
        if self._thread_count.is_lowered(trainers[0].state.step):
            for trainer in trainers:
                trainer._thread_count.count = 1
        self._drop_finished(active)

    def _for_all(self, places: Sequence[int], act: Callable[[int], None]) -> None:
        """Do something for each training; where one is interrupted, all are, when it is done for all of them."""
        interruption: Interrupted | None = None
        interrupted = set()
        for place in list(places):
            try:
                act(place)
            except Interrupted as error:
                interrupted.add(place)
                interruption = interruption or error
                for other in self._active:
                    self._members[other].trainer.interrupt(error.name)
        if interruption is None:
            return
        for place in self._active:
            if place not in interrupted:
                with suppress(Interrupted):
                    self._members[place].trainer._interrupt()
        raise interruption

    def _share_checkpoint(self) -> None:
        """Let all trainings write a checkpoint of this step if one did, however long ago their last one was."""
        trainers = [self._members[place].trainer for place in self._active]
        if not any(trainer.takes_state for trainer in trainers):
            return
        for trainer in trainers:
            if not trainer.takes_state:
                for callback in trainer._callback_list.callbacks:
                    if isinstance(callback, Checkpointer):
                        callback.request()
                trainer.takes_state = trainer._callback_list.wants_state(trainer)
                trainer._emit("checkpoint_safe")

    def _differentiate(self, drawn: list[StackedBatch]) -> dict[int, float]:
        """Set the gradients of all networks, and return the loss of each by its place."""
        precision, rows = self._members[0].trainer.precision, {place: row for row, place in enumerate(self._active)}
        losses: dict[int, float] = {}
        for item in drawn:
            own = None if len(drawn) == 1 else [rows[place] for place in item.places]
            values = self._stack.differentiate(precision.cast_batch(item.batch), own)
            losses.update(zip(item.places, values.tolist(), strict=True))
        return losses

    def _is_healthy(self, row: int, loss: float, norm: float) -> bool:
        return math.isfinite(loss) and (
            math.isfinite(norm) or all(bool(gradient[row].isfinite().all()) for gradient in self._stack.gradients)
        )

    def _end_diverged(self, row: int, place: int, drawn: list[StackedBatch], loss: float) -> None:
        """End a training whose loss or gradients are not finite, with an error that says where it began."""
        trainer = self._members[place].trainer
        batch = next(item.of(place) for item in drawn if place in item.places)
        self._stack.expose_gradients(row)
        message = trainer._guard.explain(trainer, [batch], torch.tensor(loss))
        try:
            trainer._guard.recover(trainer, message)
        except DivergedError as error:
            self._fail(place, error)

    def _finish_step(self, place: int, loss: float, norm: float, windows: int) -> None:
        """Count the step of a training, validate and log it where that is due, and finish it if it was the last."""
        self._members[place].trainer._advance(loss, norm, batches=1, rows=windows)
        self._end_step(place)

    def _fail(self, place: int, error: DivergedError) -> None:
        trainer = self._members[place].trainer
        for parameter in trainer.module.parameters():
            parameter.grad = None
        trainer._emit("failed", error)
        self._members[place].error = error
        self._active.remove(place)

    def _drop_finished(self, before: list[int]) -> None:
        """Take the networks whose training is over out of the stack."""
        if len(self._active) == len(before):
            return
        rows = [before.index(place) for place in self._active]
        self._rows = list(self._active)
        self._stack.keep(rows)
        self._optimizer.keep(rows)

    def _continue_alone(self, place: int) -> None:
        """Train the last network by itself, which is faster than a stack of one."""
        member = self._members[place]
        trainer, module = member.trainer, member.trainer.module
        if self._rows:
            self._optimizer.write_state(0, trainer.optimizer, module)
            self._rows = []
            self._stack.keep([])
        try:
            trainer._loop(module, module, member.train, member.validation)
        except DivergedError as error:
            self._fail(place, error)

    def _release(self) -> None:
        """Give each network weights of its own, also after an error."""
        if hasattr(self, "_stack"):
            self._stack.keep([])


def vectorized_threads(members: Sequence[Member]) -> int:
    """Return the threads for the work of all networks together."""
    first = members[0]
    batch = next(iter(first.train.epoch(0)))
    inputs = batch.past_y.repeat(len(members), *[1] * (batch.past_y.ndim - 1))
    return first.trainer._train_step.threads(batch._replace(past_y=inputs))
