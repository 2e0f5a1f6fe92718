"""The training loop: batch, forward, loss, backward, clip, step, schedule, emit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import DataError, DivergedError
from neuro_divergent.core.memory import keeping_memory
from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.spec import Batch
from neuro_divergent.core.threads import Contention, threads_for, using_threads
from neuro_divergent.data.loader import Loader, Order, as_loader
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.reduce import weighted_mean
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.history import History
from neuro_divergent.training.schedules.base import Plan
from neuro_divergent.training.strategy import SingleDevice, Strategy

Metric = Callable[[Tensor, Any], Tensor]
LossFunction = Loss | Callable[[Tensor, Tensor], Tensor]

_EVENTS = tuple(name for name in vars(Callback) if not name.startswith("_") and "state" not in name)


@dataclass
class TrainingState:
    """Where training is.

    Attributes:
        step: Optimizer steps done.
        epoch: Epochs begun, counted from 0.
        batch: Batches done in this epoch.
        metrics: Results of the last validation.
        stop_reason: Why training is to end, once that is known.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
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
        strategy: How processes share the work.
    """

    def __init__(
        self,
        module: nn.Module,
        loss: LossFunction,
        config: TrainingConfig | None = None,
        *,
        callbacks: Sequence[Callback] = (),
        metrics: Mapping[str, Metric] | None = None,
        strategy: Strategy | None = None,
    ) -> None:
        self.module = module
        self.loss = loss
        self.config = config or TrainingConfig()
        self.callbacks = list(callbacks)
        self.metrics = dict(metrics or {})
        self.strategy: Strategy = strategy or SingleDevice()
        self.state = TrainingState()
        self.history = History()
        self.device = resolve_device(self.config.device)
        self.threads = 0
        self.plan = Plan(0, 0)

    def fit(self, train: Any, validation: Any = None) -> History:
        """Train until the end of the plan or until something asks to stop.

        Args:
            train: Tensors ``(inputs, targets)``, an iterable of batches with a length (a list, a ``DataLoader``) or a
                loader.
            validation: The same, or ``None`` for no validation and no early stopping.

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
        self.module.to(self.device)
        self.threads = self._choose_threads(loader) if config.threads == "auto" else config.threads
        with seeded(config.seed), using_threads(self.threads), keeping_memory():
            try:
                self._run(loader, checker)
            except BaseException as error:
                self._emit("failed", error)
                raise
        return self.history

    def stop(self, reason: str) -> None:
        """End training after the current step."""
        self.state.stop_reason = self.state.stop_reason or reason

    def _run(self, loader: Loader, checker: Loader | None) -> None:
        """Do all of training."""
        self.plan = Plan(self.config.total_steps(len(loader)), len(loader))
        if checker is not None and self.config.early_stopping is not None:
            self.callbacks.append(self.config.early_stopping.build())
        self._listeners = {event: self._hearing(event) for event in _EVENTS}
        module = self.strategy.prepare(self.module)
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        optimizer = self.config.optimizer.build(self.module)
        pace = self.config.schedule.start(optimizer, self.plan)
        clip = self.config.clip
        validate_every = self.config.validation_interval(len(loader))
        meter = _Meter()
        contention = Contention(self.threads)
        norm: Tensor | None = None

        module.train()
        self.history.start()
        self._emit("fit_start")
        while self.state.step < self.plan.total_steps and self.state.stop_reason is None:
            self._emit("epoch_start")
            for batch in loader.epoch(self.state.epoch, self.state.batch):
                loss = self._loss(module, batch)
                loss.backward()  # type: ignore[no-untyped-call]
                if clip is not None:
                    norm = clip.apply(parameters)
                self._emit("gradients_ready")
                optimizer.step()
                optimizer.zero_grad()
                rate = optimizer.param_groups[0]["lr"]
                pace.step()
                self.state.step += 1
                self.state.batch += 1
                meter.add(loss.detach(), batch)
                self._emit("step_end")

                at_end = self.state.step == self.plan.total_steps or self.state.stop_reason is not None
                validate = checker is not None and (self.state.step % validate_every == 0 or at_end)
                if validate and checker is not None:
                    pace.validated(self._validate(module, checker))
                if validate or at_end or self.state.step % self.config.log_every == 0:
                    self._log(meter, rate, norm, validated=validate)
                    contention.check()
                if at_end or self.state.stop_reason is not None:
                    break
            else:
                self._emit("epoch_end")
                self.state.epoch += 1
                self.state.batch = 0
        self.module.eval()
        self._emit("fit_end")

    def _loss(self, module: nn.Module, batch: Any) -> Tensor:
        """Return the mean loss of a batch."""
        inputs, target, mask = _unpack(batch)
        return self._cost(module(inputs), target, mask)

    def _cost(self, output: Tensor, target: Tensor, mask: Tensor | None) -> Tensor:
        if isinstance(self.loss, Loss):
            return weighted_mean(self.loss.elementwise(output, target), mask)
        return self.loss(output, target)

    @torch.inference_mode()
    def _validate(self, module: nn.Module, checker: Loader) -> float:
        """Measure the validation loss and the metrics, weighted by the number of observed targets."""
        self._emit("validation_start")
        module.eval()
        sums: dict[str, float] = dict.fromkeys(
            ("validation_loss", *(f"validation_{name}" for name in self.metrics)), 0.0
        )
        weight = 0.0
        for batch in checker.epoch(0):
            inputs, target, mask = _unpack(batch)
            output = module(inputs)
            observed = float(target.numel() if mask is None else mask.sum())
            weight += observed
            sums["validation_loss"] += float(self._cost(output, target, mask)) * observed
            for name, metric in self.metrics.items():
                sums[f"validation_{name}"] += float(weighted_mean(metric(output, batch), mask)) * observed
        module.train()
        self.state.metrics = {name: total / max(weight, 1.0) for name, total in sums.items()}
        loss = self.state.metrics["validation_loss"]
        if not math.isfinite(loss):
            raise DivergedError(_diverged("validation loss", loss, self.state.step))
        self._emit("validation_end")
        return loss

    def _log(self, meter: _Meter, rate: float, norm: Tensor | None, *, validated: bool) -> None:
        """Add a row to the history."""
        loss, speed = meter.read()
        if not math.isfinite(loss):
            raise DivergedError(_diverged("training loss", loss, self.state.step))
        self.history.add(
            step=self.state.step,
            epoch=self.state.epoch,
            train_loss=loss,
            learning_rate=rate,
            gradient_norm=None if norm is None else float(norm),
            samples_per_second=speed,
            **(self.state.metrics if validated else {}),
        )
        self._emit("logged")

    def _choose_threads(self, loader: Loader) -> int:
        """Choose threads from the multiply-adds of a forward pass, estimated from one batch."""
        inputs, _, _ = _unpack(next(iter(loader.epoch(0))))
        first = inputs.past_y if isinstance(inputs, Batch) else inputs
        recurrent = any(isinstance(part, nn.RNNBase) for part in self.module.modules())
        rows = first.shape[0] * (first.shape[1] if recurrent and first.ndim > 2 else 1)
        weights = sum(parameter.numel() for parameter in self.module.parameters())
        return threads_for(rows * weights)

    def _hearing(self, event: str) -> list[Callable[..., None]]:
        """Return the methods that override an event, so that an event nobody hears costs nothing."""
        return [
            getattr(callback, event)
            for callback in self.callbacks
            if getattr(type(callback), event) is not getattr(Callback, event)
        ]

    def _emit(self, event: str, *arguments: Any) -> None:
        for listener in getattr(self, "_listeners", {}).get(event, ()):
            listener(self, *arguments)


class _Meter:
    """Adds up losses and samples between two rows of the history, without reading a number back from the device."""

    def __init__(self) -> None:
        self._total: Tensor | None = None
        self._steps = 0
        self._samples = 0
        self._since = time.perf_counter()

    def add(self, loss: Tensor, batch: Any) -> None:
        self._total = loss if self._total is None else self._total + loss
        self._steps += 1
        self._samples += len(batch[0])

    def read(self) -> tuple[float, float]:
        """Return the mean loss and the samples per second since the last reading."""
        loss = math.nan if self._total is None else float(self._total) / self._steps
        speed = self._samples / max(time.perf_counter() - self._since, 1e-9)
        self.__init__()  # type: ignore[misc]
        return loss, speed


def _unpack(batch: Any) -> tuple[Any, Tensor, Tensor | None]:
    """Return what the module reads, the target, and which targets were observed."""
    if isinstance(batch, Batch):
        assert batch.future_y is not None, "a batch to train on has targets"
        return batch, batch.future_y, batch.future_mask
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        return batch[0], batch[1], None
    raise DataError(f"a batch is a pair (inputs, targets) or a Batch; got {type(batch).__name__}.")


def _diverged(what: str, value: float, step: int) -> str:
    return f"{what} became {value} at step {step}. Lower the learning rate, clip gradients or scale the data."
