"""The training loop: batch, forward, loss, backward, clip, step, schedule, emit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import ConfigError, DataError, DivergedError, Interrupted
from neuro_divergent.core.memory import keeping_memory
from neuro_divergent.core.nested import num_rows
from neuro_divergent.core.progress import following
from neuro_divergent.core.seeding import random_state, seed_of, seeded, set_random_state
from neuro_divergent.data.loader import Loader, Order, as_loader, num_items
from neuro_divergent.losses.base import Loss
from neuro_divergent.training.callbacks.base import CallbackLike, as_callback
from neuro_divergent.training.callbacks.callback_list import CallbackList
from neuro_divergent.training.callbacks.progress import progress_callbacks
from neuro_divergent.training.callbacks.unfreeze import Unfreezer
from neuro_divergent.training.checkpointing.resume import load_latest
from neuro_divergent.training.checkpointing.snapshot import snapshot
from neuro_divergent.training.compilation import compiled
from neuro_divergent.training.config import TrainingConfig, split_callbacks
from neuro_divergent.training.divergence import Guard, NameRow, RolledBackError, find_bad_weights
from neuro_divergent.training.gradients.norm import gradient_norm
from neuro_divergent.training.gradients.transforms.base import GradientTransform
from neuro_divergent.training.history import History
from neuro_divergent.training.memory import explaining_memory
from neuro_divergent.training.objective import LossFunction, Objective, Restore, as_loss
from neuro_divergent.training.order_choice import OrderChoice, step_seconds
from neuro_divergent.training.precision import Precision
from neuro_divergent.training.process_clock import ProcessClock, ProcessSpeed
from neuro_divergent.training.recompute import recomputing
from neuro_divergent.training.running_metrics import RunningMetrics
from neuro_divergent.training.schedules.base import LRScheduler, Plan
from neuro_divergent.training.state import TrainingState, extends, require_same
from neuro_divergent.training.step_batches import StepBatches
from neuro_divergent.training.strategy import Strategy, find_strategy
from neuro_divergent.training.thread_count import ThreadCount
from neuro_divergent.training.train_step import TrainStep
from neuro_divergent.training.validation import Measure, Validation

_TOGETHER = (Interrupted, DivergedError)  # errors that end all processes at the same step
_LATER_PARTS = ("guard", "gradient_transforms")  # which earlier checkpoints do not have


class _ValidationCancelledError(Exception):
    """A validation was cancelled because training is to be interrupted."""


class Trainer:
    """Trains any torch module.

    Args:
        module: Network to train, in place.
        loss: One of our losses or its name, or any function of output and target that returns a number.
        config: How to train.
        callbacks: What else to do at the events of training: callbacks, or configs that build them, such as
            ``EarlyStopping()``, ``EMA()`` or ``Checkpointing(directory=...)``. An early stopping or an average given
            here replaces that of ``config``.
        metrics: More results to measure in validation: functions of output and batch that return one value per item.
            Those that have names can be listed in ``config.metrics`` instead.
        restore: Brings values that belong to a batch back to the units of the data, for losses that need those.
        name_row: Names a row of a batch, such as ``series 'A'``, for error messages.
        strategy: How processes share the work; unset, as ``config`` and the launcher say.
        gradient_transforms: What else is done to gradients before the weights change, after what ``config`` says. These
            are not part of the config, so they may hold tensors; to resume, pass the same ones again.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> config = nd.TrainingConfig(max_steps=150, optimizer=nd.AdamW(lr=0.1, weight_decay=0))
        >>> trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config)
        >>> inputs = torch.linspace(-1, 1, 64)[:, None]
        >>> history = trainer.fit((inputs, 3 * inputs + 2))
        >>> [round(parameter.item(), 1) for parameter in trainer.module.parameters()]
        [3.0, 2.0]
    """

    optimizer: torch.optim.Optimizer
    lr_scheduler: LRScheduler

    def __init__(
        self,
        module: nn.Module,
        loss: LossFunction | str,
        config: TrainingConfig | None = None,
        *,
        callbacks: CallbackLike | Sequence[CallbackLike] = (),
        metrics: Mapping[str, Measure] | None = None,
        restore: Restore | None = None,
        name_row: NameRow | None = None,
        strategy: Strategy | None = None,
        gradient_transforms: Sequence[GradientTransform] = (),
    ) -> None:
        if not isinstance(module, nn.Module):
            raise ConfigError(
                f"module: {module!r} is no torch.nn.Module; pass an object of one, such as nn.Linear(4, 1)."
            )
        loss = as_loss(loss)
        self.module = module
        self.loss = loss
        own, others = split_callbacks(callbacks)
        config = config or TrainingConfig()
        self.config = config = config.replace(**own) if own else config
        self.callbacks = [as_callback(item) for item in others]
        self.metrics = _checked_metrics(metrics)
        self.device = resolve_device(config.device)
        self.strategy: Strategy = strategy or find_strategy(config.strategy, self.device)
        self.objective = Objective(
            loss,
            restore=restore,
            curriculum=config.curriculum,
            distillation=config.distillation,
            strategy=self.strategy,
        )
        self.state = TrainingState()
        self.history = History()
        self.precision = Precision(config.precision, self.device)
        self.plan = Plan(0, 0)
        self.label = ""  # what this training is for, where there are several
        self._train_step = TrainStep(module, self.objective, config, self.precision, self.strategy, gradient_transforms)
        self._validation = Validation(self._train_step, self.objective, self.strategy, config.metrics, self.metrics)
        self._guard = Guard(config.divergence, name_row)
        self._interruption: str | None = None
        self.takes_state = False  # whether a checkpoint is to be made of this step
        self._step_batches = StepBatches(config.accumulate, self.device)
        self._running_metrics = RunningMetrics()
        self._process_clock = ProcessClock(self.strategy, self.device)
        self.processes: list[ProcessSpeed] = []  # what each process did before the last row of the history
        self._thread_count = ThreadCount(config.threads)
        self.order_choice = OrderChoice()
        self._callback_list = CallbackList()

    def fit(
        self,
        train: Any,
        validation: Any = None,
        *,
        resume: Mapping[str, Any] | Path | str | None = None,
        allow_changes: bool = False,
        progress: bool = False,
    ) -> History:
        """Train until the end of the plan or until ``stop`` is called, and return the history.

        Args:
            train: Tensors ``(inputs, targets)`` or ``(inputs, targets, weights)``, where inputs may be a dict or tuple
                of tensors; a torch ``Dataset`` of such pairs; an iterable of such batches with a length (a list, a
                ``DataLoader``); or a loader. The module is called with the inputs as one argument.
            validation: The same, or ``None`` for no validation and no early stopping.
            resume: What ``state_dict`` returned, a checkpoint, or a directory of checkpoints (or its address, such as
                ``s3://...``), of which the latest that is not damaged is taken. Training goes on in the middle of the
                epoch, and on the same machine with as many threads the weights become, bit for bit, those of a training
                that was never interrupted. A plan that is longer now than it was then is fine; a schedule that depends
                on the length goes on at the same step of the longer one.
            allow_changes: Whether other settings may differ from those of the checkpoint.
            progress: Whether progress is shown, as inside of ``nd.show_progress()``.

        Raises:
            DivergedError: If a number is no longer finite and ``config.divergence`` does not help.
            ConfigError: If the settings are not those of the checkpoint.
            Interrupted: If ``interrupt`` was called.
        """
        config = self.config
        batch_size = config.batch_size_for(num_items(train))
        order = Order(batch_size=batch_size, shuffle=config.shuffle, seed=config.seed, drop_last=config.drop_last)
        loader = self.strategy.shard(as_loader(train, order, self.device), config.seed)
        validation_loader: Loader | None = None
        if validation is not None:
            in_order = Order(batch_size=1024, shuffle=False)
            validation_loader = self.strategy.shard(as_loader(validation, in_order, self.device), config.seed)
        if not len(loader):
            raise DataError("there is no batch to train on.")
        if isinstance(resume, (str, Path)):
            resume = load_latest(resume) if self.strategy.rank == 0 else {}
        if resume is not None:  # that of the first process counts: others need not have all of it
            resume = self.strategy.broadcast(resume if self.strategy.rank == 0 else {})
        if resume is not None and not allow_changes and "config" in resume:
            require_same(TrainingConfig.from_dict(resume["config"]).to_dict(), config.to_dict())
        if resume is None and self.plan.total_steps and self.is_over:
            raise ConfigError(
                f"this trainer has made all of its {self.state.step:,} steps. To train the module further, "
                "make a new Trainer; pass resume=trainer.state_dict() and a larger max_steps to go on exactly."
            )
        self._interruption = None
        self.strategy.place(self.module, self.device)
        loader = self.order_choice.started(
            loader,
            None if resume is None else resume.get("order"),  # only automatic ones are stored
            lambda: step_seconds(self, next(iter(loader.epoch(0)))),
            self.strategy,
        )
        threads = self._thread_count.started(
            None if resume is None else resume.get("threads"),  # older checkpoints do not tell
            lambda: self._train_step.threads(next(iter(loader.epoch(0)))),
            may_change=self.device.type == "cpu" and self.strategy.world_size == 1,
        )
        with (
            following(progress),
            self.strategy.explaining(),
            explaining_memory(self, loader),
            seeded(seed_of(config.seed, self.strategy.rank)),
            threads,
            keeping_memory(),
            recomputing(self.module, config.recompute),
            self.precision.casting(self.module),
        ):
            try:
                self._run(loader, validation_loader, resume)
            except BaseException as error:
                self._emit("failed", error)
                if isinstance(error, _TOGETHER):
                    self.strategy.release(self.module)
                raise
            self.strategy.release(self.module)
        return self.history

    def stop(self, reason: str, *, requested: bool = False) -> None:
        """End training after the current step.

        Args:
            reason: Why, for people.
            requested: Whether somebody wants the end now, so that a forecaster is not trained on all rows afterwards.
        """
        self.state.stop_reason = self.state.stop_reason or reason
        self.state.stop_requested |= requested

    def interrupt(self, name: str) -> None:
        """End ``fit`` after the current step with ``Interrupted``, for a signal or a deadline; cancel validation."""
        self._interruption = self._interruption or name

    def __repr__(self) -> str:
        loss = (
            self.loss.name if isinstance(self.loss, Loss) else getattr(self.loss, "__name__", type(self.loss).__name__)
        )
        state = f"step {self.state.step:,}" if self.state.step else "not trained"
        return f"{type(self).__name__}({type(self.module).__name__}, {loss}, {state})"

    def forward(self, batch: Any) -> Any:
        """Return the output of the module for a batch, in its current mode."""
        return self._train_step.forward(self.module, batch)[0]

    @property
    def threads(self) -> int:
        """Threads that torch uses for this training now; 0 before it."""
        return self._thread_count.count

    @property
    def is_over(self) -> bool:
        """Whether no step is left to do."""
        return self.state.step >= self.plan.total_steps or self.state.stop_reason is not None

    @property
    def progress(self) -> float:
        """Fraction of the planned steps that are done."""
        return self.state.step / max(self.plan.total_steps, 1)

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state; call it at the event ``checkpoint_safe``.

        After training it holds the best weights if early stopping put them back, not those of the last step. Where
        several processes train together, all must call it, and the state of the first one is complete.
        """
        self.strategy.settle()
        others = {name: part.state_dict() for name, part in self._parts.items()}
        module, optimizer, others = self.strategy.full_state(self.module, self.optimizer, others)
        return self._assemble(module, optimizer, others, self._random_states())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the checkpointable state; ``fit(resume=...)`` calls it when the optimizer is built."""
        state = snapshot(state)  # what is loaded is changed by training, and the caller's copy must not be
        self._load_progress(state)
        others = {name: state[name] for name in self._parts if name in state}
        try:
            others = self.strategy.load_state(
                self.module, self.optimizer, (state["module"], state["optimizer"], others)
            )
        except RuntimeError as error:
            reason = " ".join(str(error).split())[:300]
            raise ConfigError(f"the state to go on from is that of another network: {reason}") from None
        if bad := find_bad_weights(self.module, self.strategy):
            raise DivergedError(f"the state to go on from has weights that are not finite: {', '.join(bad[:5])}.")
        self._load_parts(others)
        self._load_random_states(state)

    def own_state(self) -> dict[str, Any]:
        """Return a copy of what this process holds of the state, for ``load_own_state`` in the same process."""
        others = {name: part.state_dict() for name, part in self._parts.items()}
        states = self.module.state_dict(), self.optimizer.state_dict(), others
        copied: dict[str, Any] = snapshot(self._assemble(*states, self._own_random_states()))
        return copied

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        """Restore what ``own_state`` returned."""
        state = snapshot(state)
        self._load_progress(state)
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        self._load_parts(state)
        set_random_state(state["random"], self.device)
        self._step_batches.random = state["epoch_random"]

    def _assemble(
        self, module: dict[str, Any], optimizer: dict[str, Any], others: dict[str, Any], random: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "config": self.config.to_dict(),
            "state": self.state.to_dict(),
            "module": module,
            "optimizer": optimizer,
            **others,
            **random,
            "threads": self._thread_count.state_dict(),
            **self.order_choice.state_dict(),
        }

    def _load_progress(self, state: Mapping[str, Any]) -> None:
        self.state = TrainingState.from_dict(state["state"])
        if extends(state.get("config"), self.config.to_dict()):
            self.state.stop_reason, self.state.stop_requested = None, False

    def _load_parts(self, states: Mapping[str, Any]) -> None:
        for name, part in self._parts.items():
            if name in states or name not in _LATER_PARTS:
                part.load_state_dict(states[name])

    def _random_states(self) -> dict[str, Any]:
        """Return the states of the random generators, now and when the epoch began, of all processes."""
        states = self.strategy.gather(self._own_random_states())
        return {**states[0], "other_random": states[1:]} if len(states) > 1 else states[0]

    def _own_random_states(self) -> dict[str, Any]:
        return {"random": random_state(self.device), "epoch_random": self._step_batches.random}

    def _load_random_states(self, state: Mapping[str, Any]) -> None:
        """Restore the random generators; those of a process that was not there then are seeded by the step."""
        rank, others = self.strategy.rank, state.get("other_random", [])
        own = state if rank == 0 else others[rank - 1] if rank <= len(others) else None
        if own is None:
            torch.manual_seed(seed_of(self.config.seed + self.state.step, rank))
            self._step_batches.random = None
        else:
            set_random_state(own["random"], self.device)
            self._step_batches.random = own.get("epoch_random")  # format 1 has no such thing

    @property
    def _parts(self) -> dict[str, Any]:
        """What has a state of its own, by its name in checkpoints, in the order of loading."""
        return {
            "pace": self.lr_scheduler,
            "precision": self.precision,
            "guard": self._guard,
            "gradient_transforms": self._train_step,
            "callbacks": self._callback_list,
            "history": self.history,
            "meter": self._running_metrics,
        }

    def _run(self, loader: Loader, validation_loader: Loader | None, resume: Mapping[str, Any] | None) -> None:
        """Do all of training."""
        module, in_training = self._start(loader, with_validation=validation_loader is not None, resume=resume)
        self._loop(module, in_training, loader, validation_loader)

    def _start(
        self, loader: Loader, *, with_validation: bool, resume: Mapping[str, Any] | None = None
    ) -> tuple[nn.Module, nn.Module]:
        """Build what training needs and load the state to go on from; return the module and what steps call."""
        config = self.config
        steps_per_epoch = math.ceil(len(loader) / config.accumulate)
        self.plan = Plan(config.total_steps(steps_per_epoch), steps_per_epoch)
        if self.strategy.rank == 0:
            config.warn_of_limit(steps_per_epoch)
        unfreezers = [Unfreezer(config.freeze)] if config.freeze else []
        callbacks = config.build_callbacks(self.callbacks, with_validation=with_validation)
        callbacks = [*unfreezers, *callbacks, *progress_callbacks()]
        self._callback_list = CallbackList(callbacks, is_main=self.strategy.rank == 0)
        ever_trained = unfreezers[0].freeze(self.module) if unfreezers else None
        module = self.strategy.prepare(self.module, ever_trained)
        in_training = compiled(module) if config.compile else module
        self.optimizer = self.strategy.prepare_optimizer(config.optimizer.build(self.module, ever_trained))
        self.lr_scheduler = config.schedule.start(self.optimizer, self.plan)
        self._train_step.prepare(self._parameters)
        self._running_metrics = RunningMetrics()
        self._process_clock = ProcessClock(self.strategy, self.device)
        config.gradient.start(self.module)

        if resume is not None:
            self.load_state_dict(resume)
        self._switch(module, training=True)
        self._emit("fit_start")
        self.history.start()
        self._guard.keep(self)
        return module, in_training

    @property
    def _parameters(self) -> list[nn.Parameter]:
        """What the optimizer changes, group after group."""
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def _loop(
        self, module: nn.Module, in_training: nn.Module, loader: Loader, validation_loader: Loader | None
    ) -> None:
        """Step, validate, log and emit until training is over."""
        parameters = self._parameters
        is_restored = True
        while True:
            try:
                if is_restored and self.state.pending_validation:
                    self._finish_step(module, loader, validation_loader)
                is_restored = False
                if self.is_over:
                    self._finish(module, validation_loader)
                    return
                if self.state.batch == 0:
                    self._emit("epoch_start")
                step = self.state.step
                drawn = self._step_batches.of_epoch(loader, self.state, self._running_metrics)
                for batches in self._process_clock.steps(drawn):
                    self._step(in_training, batches, parameters)
                    self._process_clock.stepped()
                    self._finish_step(module, loader, validation_loader)
                    if self.is_over:
                        break
            except RolledBackError:
                self._emit("rolled_back")
                is_restored = True
                continue
            if step == self.state.step:
                raise DataError(f"the data has {self.state.batch} batches in this epoch; it promised {len(loader)}.")

    def _step(self, module: nn.Module, batches: list[Any], parameters: list[nn.Parameter]) -> None:
        """Change the weights once."""
        self._guard.before_step(self.module)
        is_shared = self.strategy.shares_step(self.state.step + 1)
        loss = self._train_step.differentiate(module, batches, self.progress, is_shared=is_shared)
        norm = self._train_step.transform(self.optimizer, self.state.step, self.progress)
        self._emit("gradients_ready")
        final = gradient_norm(parameters) if self._callback_list.handles("gradients_ready") else norm
        gradients = (parameter.grad for parameter in parameters if parameter.grad is not None)
        # The factor of fp16 makes gradients overflow now and then; its scaler leaves such a step out and lowers it.
        final = loss if self.precision.name == "fp16" else final
        is_healthy = self._guard.is_healthy(loss, final, gradients, self.strategy, is_shared=is_shared)
        if not is_healthy:
            self.precision.discard()
            self._guard.recover(self, self._guard.explain(self, batches, loss))
        elif self.precision.step(self.optimizer):
            self._guard.stepped()
        else:
            self.state.skipped += 1
            self._guard.overflowed(self.state.step + 1)
        for parameter in parameters:  # what zero_grad does, without its bookkeeping
            parameter.grad = None
        rows = sum(num_rows(batch[0]) for batch in batches)
        self._advance(loss if is_healthy else None, norm, batches=len(batches), rows=rows)

    def _advance(self, loss: Tensor | float | None, norm: Tensor | float, *, batches: int, rows: int) -> None:
        """Count a step and set the learning rate of the next; a step that was left out has no loss."""
        rate = self.optimizer.param_groups[0]["lr"]
        self.lr_scheduler.step()
        self.state.step += 1
        self.state.batch += batches
        self.state.pending_validation = True
        self.strategy.stepped(self.state.step)
        if loss is not None:
            self._running_metrics.add(loss, rows, rate, norm)
        self._lower_threads()
        self._emit("step_end")

    def _lower_threads(self) -> bool:
        """Go on with one thread if several wait for each other; return whether that has just begun."""
        is_lowered = self._thread_count.is_lowered(self.state.step)
        if is_lowered:
            self._emit("threads_lowered")
        return is_lowered

    def _finish_step(self, module: nn.Module, loader: Loader, validation_loader: Loader | None) -> None:
        """Validate, log and emit what belongs to the last step."""
        state = self.state
        validate_every = self.config.validation_interval(self.plan.steps_per_epoch)
        is_logged = bool(self.history.rows) and self.history.rows[-1]["step"] == state.step
        validate = validation_loader is not None and state.step % validate_every == 0 and not is_logged
        log = state.step % self.config.log_every == 0 and not is_logged
        try:
            if (validate or log) and not self.is_over:
                self._guard.require_finite_weights(self, f"at step {state.step}")
            if validate and validation_loader is not None:
                self.lr_scheduler.validated(self._validate(module, validation_loader))
            if validate or (log and not self.is_over):  # the row of the last step comes with its validation
                self._log(validated=validate)
                log = False
            if state.batch >= len(loader):
                self._emit("epoch_end")
                state.epoch += 1
                state.batch = 0
            state.pending_validation = log
            if validate:
                self._guard.keep(self)
            is_complete = True
        except _ValidationCancelledError:
            is_complete = False
        stops, is_interrupted, self.takes_state = self.strategy.any_of(
            state.stop_reason is not None,
            self._interruption is not None,
            is_complete and self._callback_list.wants_state(self),
        )
        if stops:
            self._share_stop()
        if is_complete:
            self._emit("checkpoint_safe")
        if is_interrupted:
            self._interrupt()

    def _share_stop(self) -> None:
        """Stop for the reason of the first process that has one."""
        told = self.strategy.gather((self.state.stop_reason, self.state.stop_requested))
        for reason, requested in told:
            if reason is not None:
                self.stop(reason, requested=requested)

    def _validate(self, module: nn.Module, loader: Loader) -> float:
        """Validate the weights that training would end with now, and return the validation loss."""
        before = random_state(self.device)
        self.strategy.settle()
        self._emit("validation_start")
        self._switch(module, training=False)
        try:
            metrics = self._validation.measure(module, loader, self._continues_validation)
            if metrics is None:  # one thread computes from here on, and a validation has one thread count
                set_random_state(before, self.device)
                metrics = self._validation.measure(module, loader, self._continues_validation)
            assert metrics is not None
        except _ValidationCancelledError:
            self._emit("validation_cancelled")
            self._switch(module, training=True)
            set_random_state(before, self.device)
            raise
        loss = metrics["validation_loss"]
        if not math.isfinite(loss):
            self._emit("validation_cancelled")
            self._switch(module, training=True)
            self._guard.give_up(self, self._guard.explain_validation(self, loader.epoch(0), loss))
        self.state.metrics = metrics
        self._emit("validation_end")
        self._switch(module, training=True)
        return loss

    def _continues_validation(self) -> bool:
        """Emit that a batch is done, and return whether the others are to be done as well."""
        self._emit("validation_batch")
        if self.strategy.any_of(self._interruption is not None)[0]:
            raise _ValidationCancelledError
        return not self._lower_threads()

    def _log(self, *, validated: bool) -> None:
        """Add a row to the history."""
        row = self._running_metrics.read()
        self.processes = self._process_clock.share(row["samples_per_second"])
        row["samples_per_second"] = sum(process.samples_per_second for process in self.processes)
        for name in ("train_loss", "gradient_norm"):  # of the same steps in all, or of steps that each made by itself
            if row[name] is not None:
                row[name] = self.strategy.all_reduce(row[name], 0.0)[0] / len(self.processes)
        if row["train_loss"] is not None and not math.isfinite(row["train_loss"]):
            self._guard.give_up(self, f"the training loss became {row['train_loss']} at step {self.state.step}.")
        if self.precision.name == "fp16" or self.state.skipped:
            row["skipped_steps"] = self.state.skipped
        row |= self.state.metrics if validated else {}
        self.history.add(step=self.state.step, epoch=self.state.epoch, **row)
        self._emit("logged")

    def _interrupt(self) -> None:
        self._emit("interrupted")
        names = self.strategy.gather(self._interruption)  # another process may have been told
        name = next(item for item in names if item is not None)
        raise Interrupted(name, f"training was interrupted at step {self.state.step}")

    def _finish(self, module: nn.Module, validation_loader: Loader | None) -> None:
        """Validate the last weights, if that was not just done, and choose those that stay."""
        self.strategy.settle()
        self._guard.require_finite_weights(self, "after the last step")
        self._emit("finishing")
        if not self.history.rows or self.history.rows[-1]["step"] != self.state.step:
            try:
                if validation_loader is not None:
                    self._validate(module, validation_loader)
            except _ValidationCancelledError:
                self._interrupt()
            self._log(validated=validation_loader is not None)
        self._switch(module, training=False)
        self.state.selected_step = self.state.step
        self._emit("fit_end")

    def _switch(self, module: nn.Module, *, training: bool) -> None:
        """Switch the module, and an optimizer that keeps averages in place of weights, to training or evaluation."""
        module.train(training)
        if switch := getattr(self.optimizer, "train" if training else "eval", None):
            switch()

    def _emit(self, event: str, *arguments: Any) -> None:
        self._callback_list.emit(self, event, *arguments)


def _checked_metrics(metrics: Mapping[str, Measure] | None) -> dict[str, Measure]:
    """Return functions by name, or raise."""
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping) or not all(callable(measure) for measure in metrics.values()):
        raise ConfigError(
            "metrics: pass functions of output and batch by name, such as {'hits': hits}. Metrics that have names are "
            "listed in the config: TrainingConfig(metrics=['accuracy'])."
        )
    return dict(metrics)
