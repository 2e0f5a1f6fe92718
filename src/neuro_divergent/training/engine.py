"""The training loop: batch, forward, loss, backward, clip, step, schedule, emit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import ConfigError, DataError, DivergedError
from neuro_divergent.core.memory import keeping_memory
from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.spec import Batch
from neuro_divergent.core.threads import Contention, threads_for, using_threads
from neuro_divergent.data.loader import Loader, Order, as_loader
from neuro_divergent.losses.reduce import mean_of
from neuro_divergent.training.accumulation import GradientSum
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.callbacks.unfreeze import Unfreezer
from neuro_divergent.training.checkpoint import read_checkpoint
from neuro_divergent.training.compilation import compiled
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.differentiation import numerical_gradients, warn_about
from neuro_divergent.training.gradients import add_penalty
from neuro_divergent.training.history import History
from neuro_divergent.training.meter import Meter, Tally
from neuro_divergent.training.metrics import metric_for
from neuro_divergent.training.objective import Example, LossFunction, Objective, Restore
from neuro_divergent.training.precision import Precision
from neuro_divergent.training.recompute import choose_every, recomputing
from neuro_divergent.training.schedules.base import Pace, Plan
from neuro_divergent.training.strategy import SingleDevice, Strategy
from neuro_divergent.training.teacher_forcing import TeacherForcing, set_ratio

Measure = Callable[[Tensor, Any], Tensor]

_EVENTS = tuple(name for name in vars(Callback) if not name.startswith("_") and "state" not in name)


@dataclass
class TrainingState:
    """Where training is.

    Attributes:
        step: Optimizer steps done.
        epoch: Epochs begun, counted from 0.
        batch: Batches done in this epoch.
        skipped: Steps whose gradients overflowed in fp16, so that the weights stayed as they were.
        metrics: Results of the last validation.
        stop_reason: Why training is to end, once that is known.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    skipped: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    stop_reason: str | None = None


class Trainer:
    """Trains any torch module.

    Args:
        module: Network to train, in place.
        loss: One of our losses, or any function of output and target that returns a number.
        config: How to train.
        callbacks: What else to do at the events of training.
        metrics: More results to measure in validation: functions of output and batch that return one value per item.
            Those that have names can be listed in ``config.metrics`` instead.
        restore: Brings values that belong to a batch back to the units of the data, for losses that need those.
        strategy: How processes share the work.
    """

    optimizer: torch.optim.Optimizer
    pace: Pace

    def __init__(
        self,
        module: nn.Module,
        loss: LossFunction,
        config: TrainingConfig | None = None,
        *,
        callbacks: Sequence[Callback] = (),
        metrics: Mapping[str, Measure] | None = None,
        restore: Restore | None = None,
        strategy: Strategy | None = None,
    ) -> None:
        self.module = module
        self.loss = loss
        self.config = config or TrainingConfig()
        self.callbacks = list(callbacks)
        self.metrics = dict(metrics or {})
        self.strategy: Strategy = strategy or SingleDevice()
        self.objective = Objective(
            loss, restore=restore, curriculum=self.config.curriculum, distillation=self.config.distillation
        )
        self.state = TrainingState()
        self.history = History()
        self.device = resolve_device(self.config.device)
        self.precision = Precision(self.config.precision, self.device)
        self.threads = 0
        self.plan = Plan(0, 0)
        self._meter = Meter()
        self._named_metrics = {name: metric_for(name, loss) for name in self.config.metrics}
        self._active: list[Callback] = []
        self._listeners: dict[str, list[Callable[..., None]]] = {}

    def fit(
        self, train: Any, validation: Any = None, *, resume: Mapping[str, Any] | Path | str | None = None
    ) -> History:
        """Train until the end of the plan or until something asks to stop.

        Args:
            train: Tensors ``(inputs, targets)`` or ``(inputs, targets, weights)``, an iterable of such batches with a
                length (a list, a ``DataLoader``) or a loader.
            validation: The same, or ``None`` for no validation and no early stopping.
            resume: What ``state_dict`` returned, or a checkpoint directory, to go on from.

        Returns:
            The history, also found at ``self.history``.

        Raises:
            DivergedError: If the loss is no longer a finite number.
        """
        config = self.config
        items = len(train[0]) if isinstance(train, (tuple, list)) and train and isinstance(train[0], Tensor) else 0
        order = Order(
            batch_size=config.batch_size_for(items),
            shuffle=config.shuffle,
            seed=config.seed,
            drop_last=config.drop_last,
        )
        loader = as_loader(train, order, self.device)
        checker = (
            None if validation is None else as_loader(validation, Order(batch_size=1024, shuffle=False), self.device)
        )
        if not len(loader):
            raise DataError("there is no batch to train on.")
        if isinstance(resume, (str, Path)):
            resume = read_checkpoint(Path(resume))
        self.module.to(self.device)
        self.threads = self._choose_threads(loader) if config.threads == "auto" else config.threads
        with seeded(config.seed), using_threads(self.threads), keeping_memory(), ExitStack() as stack:
            stack.enter_context(recomputing(self.module, self._recompute_every()))
            stack.enter_context(self.precision.casting(self.module))
            try:
                self._run(loader, checker, resume)
            except BaseException as error:
                self._emit("failed", error)
                raise
        return self.history

    def stop(self, reason: str) -> None:
        """End training after the current step."""
        self.state.stop_reason = self.state.stop_reason or reason

    @property
    def progress(self) -> float:
        """Share of the planned steps that are done."""
        return self.state.step / max(self.plan.total_steps, 1)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that must survive a restart; call it from a callback or after training."""
        return {
            "state": asdict(self.state),
            "module": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "pace": self.pace.state_dict(),
            "precision": self.precision.state_dict(),
            "callbacks": [{"kind": type(item).__name__, "state": item.state_dict()} for item in self._active],
            "history": self.history.state_dict(),
            "meter": self._meter.state_dict(),
            "random": _random_state(self.device),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up a state again; ``fit(resume=...)`` calls it when the optimizer is there."""
        kinds = [type(item).__name__ for item in self._active]
        if kinds != [item["kind"] for item in state["callbacks"]]:
            raise ConfigError(
                f"the state was saved with other callbacks ({', '.join(item['kind'] for item in state['callbacks'])}) "
                f"than there are now ({', '.join(kinds)}). Pass the same ones in the same order."
            )
        self.state = TrainingState(**state["state"])
        self.state.stop_reason = None
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.pace.load_state_dict(state["pace"])
        self.precision.load_state_dict(state["precision"])
        for item, saved in zip(self._active, state["callbacks"], strict=True):
            item.load_state_dict(saved["state"])
        self.history.load_state_dict(state["history"])
        self._meter.load_state_dict(state["meter"])
        _set_random_state(state["random"], self.device)

    def _run(self, loader: Loader, checker: Loader | None, resume: Mapping[str, Any] | None) -> None:
        """Do all of training."""
        config = self.config
        steps_per_epoch = math.ceil(len(loader) / config.accumulate)
        self.plan = Plan(config.total_steps(steps_per_epoch), steps_per_epoch)
        unfreezers = [Unfreezer(config.freeze)] if config.freeze else []
        from_config = config.build_callbacks(with_validation=checker is not None)
        self._active = [*unfreezers, *from_config, *self.callbacks]
        self._listeners = {event: self._hearing(event) for event in _EVENTS}
        ever_trained = unfreezers[0].freeze(self.module) if unfreezers else None
        module = self.strategy.prepare(self.module)
        in_training = compiled(module) if config.compile else module
        self.optimizer = config.optimizer.build(self.module, ever_trained)
        self.pace = config.schedule.start(self.optimizer, self.plan)
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        gradient_sum = GradientSum(parameters, in_double=config.gradient_sum == "float64")
        validate_every = config.validation_interval(steps_per_epoch)
        self._meter = Meter()
        contention = Contention(self.threads)
        if config.gradient_method != "autodiff":
            warn_about(config.gradient_method, self.module)

        if resume is not None:
            self.load_state_dict(resume)
        self._switch(module, training=True)
        self._emit("fit_start")
        self.history.start()
        while self.state.step < self.plan.total_steps and self.state.stop_reason is None:
            self._emit("epoch_start")
            for batches in _groups(loader.epoch(self.state.epoch, self.state.batch), config.accumulate):
                loss = self._differentiate(in_training, batches, parameters, gradient_sum)
                norm = self._transform(parameters)
                self._emit("gradients_ready")
                self.state.skipped += not self.precision.step(self.optimizer)
                for parameter in parameters:  # what zero_grad does, without its bookkeeping
                    parameter.grad = None
                rate = self.optimizer.param_groups[0]["lr"]
                self.pace.step()
                self.state.step += 1
                self.state.batch += len(batches)
                self._meter.add(loss, sum(len(batch[0]) for batch in batches))
                self._emit("step_end")

                at_end = self.state.step == self.plan.total_steps or self.state.stop_reason is not None
                validate = checker is not None and (self.state.step % validate_every == 0 or at_end)
                if validate and checker is not None:
                    self.pace.validated(self._validate(module, checker))
                if validate or at_end or self.state.step % config.log_every == 0:
                    self._log(rate, norm, validated=validate)
                    contention.check()
                if at_end or self.state.stop_reason is not None:
                    break
            if self.state.batch >= len(loader):
                self._emit("epoch_end")
                self.state.epoch += 1
                self.state.batch = 0
        self._switch(module, training=False)
        self._emit("fit_end")

    def _differentiate(
        self, module: nn.Module, batches: list[Any], parameters: list[nn.Parameter], gradient_sum: GradientSum
    ) -> Tensor:
        """Set the gradients of the mean cost of some batches, and return the loss."""
        config, finish = self.config, self.objective.finish
        if config.teacher_forcing is not None:
            self._force(config.teacher_forcing)
        for augmentation in config.augment:
            batches = [augmentation.apply(batch) for batch in batches]

        def costs(batch: Any) -> tuple[Tensor, Tensor | float]:
            example = Example.of(self.precision.cast_batch(batch))
            return self.objective.total(self._forward(module, example), example, self.progress)

        def mean() -> Tensor:
            totals, weights = zip(*map(costs, batches), strict=True)
            return finish(mean_of(sum(totals), sum(weights)))

        if config.gradient_method != "autodiff":
            return numerical_gradients(mean, parameters, config.gradient_method, buffers=self.module.buffers())
        if len(batches) == 1:
            example = Example.of(self.precision.cast_batch(batches[0]))
            loss = self.objective.mean(self._forward(module, example), example, self.progress)
            self.precision.backward(loss)
            return loss.detach()
        return gradient_sum.run(batches, costs, finish, self.precision.backward, lambda: self.strategy.no_sync(module))

    def _force(self, forcing: TeacherForcing) -> None:
        """Tell autoregressive parts how often to read the true value before."""
        if not set_ratio(self.module, forcing.ratio(self.progress)):
            raise ConfigError(
                "teacher_forcing: the network forecasts all steps at once, so there is nothing to force. Choose an "
                'autoregressive one, such as LSTM(decoding="autoregressive"), or leave teacher_forcing out.'
            )

    def _transform(self, parameters: list[nn.Parameter]) -> Tensor | None:
        """Penalise, clip and add noise, in place; return the norm before clipping, where one is measured."""
        config = self.config
        self.precision.unscale(self.optimizer)
        if config.l1 or config.l2:
            add_penalty(parameters, l1=config.l1, l2=config.l2)
        norm = None if config.clip is None else config.clip.apply(parameters)
        if config.gradient_noise is not None:
            config.gradient_noise.apply(parameters, self.state.step)
        return norm

    def _forward(self, module: nn.Module, example: Example) -> Tensor:
        """Return the output, in the type of the weights."""
        with self.precision.forward():
            output: Tensor = module(example.inputs)
        return output.float() if output.dtype in (torch.bfloat16, torch.float16) else output

    def _validate(self, module: nn.Module, checker: Loader) -> float:
        """Measure the network as it would be if training ended now, and return the validation loss."""
        self._emit("validation_start")
        self._switch(module, training=False)
        self.state.metrics = self._measure(module, checker)
        loss = self.state.metrics["validation_loss"]
        if not math.isfinite(loss):
            raise DivergedError(_diverged("validation loss", loss, self.state.step))
        self._emit("validation_end")
        self._switch(module, training=True)
        return loss

    @torch.inference_mode()
    def _measure(self, module: nn.Module, checker: Loader) -> dict[str, float]:
        """Return the loss, each target counted by its weight, and the metrics."""
        tally = Tally()
        for batch in checker.epoch(0):
            example = Example.of(self.precision.cast_batch(batch))
            output = self._forward(module, example)
            tally.add("validation_loss", *self.objective.total(output, example), self.objective.finish)
            for name, metric in self._named_metrics.items():
                tally.add(f"validation_{name}", *self.objective.measure(metric, output, example), metric.finish)
            for name, measure in self.metrics.items():
                tally.add(f"validation_{name}", *self.objective.count(measure(output, batch), example))
        return tally.means()

    def _log(self, rate: float, norm: Tensor | None, *, validated: bool) -> None:
        """Add a row to the history."""
        loss, speed = self._meter.read()
        if not math.isfinite(loss):
            raise DivergedError(_diverged("training loss", loss, self.state.step))
        self.history.add(
            step=self.state.step,
            epoch=self.state.epoch,
            train_loss=loss,
            learning_rate=rate,
            gradient_norm=None if norm is None else float(norm),
            samples_per_second=speed,
            **({"skipped_steps": self.state.skipped} if self.precision.name == "fp16" else {}),
            **(self.state.metrics if validated else {}),
        )
        self._emit("logged")

    def _switch(self, module: nn.Module, *, training: bool) -> None:
        """Tell the module, and an optimizer that keeps averages in the place of weights, what comes now."""
        module.train(training)
        switch = getattr(self.optimizer, "train" if training else "eval", None)
        if switch is not None:
            switch()

    def _recompute_every(self) -> int:
        """Return the blocks per segment."""
        every = self.config.recompute
        return choose_every(self.module) if every == "auto" else every

    def _choose_threads(self, loader: Loader) -> int:
        """Choose threads from the multiply-adds of a forward pass, estimated from one batch."""
        inputs = Example.of(next(iter(loader.epoch(0)))).inputs
        first = inputs.past_y if isinstance(inputs, Batch) else inputs
        recurrent = any(isinstance(part, nn.RNNBase) for part in self.module.modules())
        rows = first.shape[0] * (first.shape[1] if recurrent and first.ndim > 2 else 1)
        weights = sum(parameter.numel() for parameter in self.module.parameters())
        return threads_for(rows * weights)

    def _hearing(self, event: str) -> list[Callable[..., None]]:
        """Return the methods that override an event, so that an event nobody hears costs nothing."""
        found = [
            getattr(callback, event)
            for callback in self._active
            if getattr(type(callback), event) is not getattr(Callback, event)
        ]
        return found[::-1] if event == "validation_end" else found

    def _emit(self, event: str, *arguments: Any) -> None:
        for listener in self._listeners.get(event, ()):
            listener(self, *arguments)


def _groups(batches: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of ``size`` batches; the last of an epoch may be shorter."""
    source = iter(batches)
    while group := list(islice(source, size)):
        yield group


def _random_state(device: torch.device) -> dict[str, Tensor]:
    state = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        state[device.type] = torch.get_device_module(device).get_rng_state()
    return state


def _set_random_state(state: Mapping[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(state["cpu"])
    if device.type in state and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(state[device.type])


def _diverged(what: str, value: float, step: int) -> str:
    return f"{what} became {value} at step {step}. Lower the learning rate, clip gradients or scale the data."
