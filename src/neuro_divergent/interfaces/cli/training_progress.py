"""Progress of training: a live line on a terminal, ten plain lines in a pipe."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.formatting import format_count, format_duration, format_number
from neuro_divergent.core.progress import use_display
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from neuro_divergent.training.engine import Trainer

_LINES = 10
_SECONDS_BETWEEN_UPDATES = 0.1


class _TrainingProgress(Callback):
    """Shows training in its own way, which has more than other work: what else shows progress is silent meanwhile."""

    main_only: ClassVar[bool] = True

    in_refit: ClassVar[bool] = True

    def __init__(self) -> None:
        self._others: AbstractContextManager[None] = nullcontext()

    def fit_start(self, trainer: Trainer) -> None:
        self._others = use_display(None)

    def fit_end(self, trainer: Trainer) -> None:
        self._show_others()

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        self._show_others()

    def _show_others(self) -> None:
        others, self._others = self._others, nullcontext()
        others.__exit__(None, None, None)


class LiveProgress(_TrainingProgress):
    """Shows epoch, losses, learning rate, speed and time left in one line that is redrawn."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[numbers]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._last = 0.0
        self._numbers = ""

    def fit_start(self, trainer: Trainer) -> None:
        super().fit_start(trainer)
        self._task = self._progress.add_task("training", total=trainer.plan.total_steps, epoch=1, numbers="")
        self._progress.start()

    def step_end(self, trainer: Trainer) -> None:
        now = time.perf_counter()
        if now - self._last >= _SECONDS_BETWEEN_UPDATES:
            self._last = now
            self._update(trainer)

    def logged(self, trainer: Trainer) -> None:
        self._numbers = _numbers(trainer)

    def fit_end(self, trainer: Trainer) -> None:
        super().fit_end(trainer)
        self._update(trainer)
        self._progress.stop()
        self._progress.console.print(_ending(trainer), markup=False)

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        super().failed(trainer, error)
        self._progress.stop()

    def _update(self, trainer: Trainer) -> None:
        if self._task is not None:
            state = trainer.state
            self._progress.update(self._task, completed=state.step, epoch=state.epoch + 1, numbers=self._numbers)


class PlainProgress(_TrainingProgress):
    """Prints a line for each tenth of training."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._next = 0.0

    def fit_start(self, trainer: Trainer) -> None:
        super().fit_start(trainer)
        self._next = 0.0

    def logged(self, trainer: Trainer) -> None:
        done = trainer.state.step / max(trainer.plan.total_steps, 1)
        if done < self._next:
            return
        self._next = (int(done * _LINES) + 1) / _LINES
        total = trainer.plan.total_steps
        place = f"step {trainer.state.step:,}/{total:,}  epoch {trainer.state.epoch + 1}"
        self._console.print(f"{place}  {_numbers(trainer)}{_time_left(trainer, done)}", markup=False, soft_wrap=True)

    def fit_end(self, trainer: Trainer) -> None:
        super().fit_end(trainer)
        self._console.print(_ending(trainer), markup=False, soft_wrap=True)


def progress_for(console: Console) -> list[Callback]:
    """Return what shows training on a console: live on a terminal, lines elsewhere, nothing when it is quiet."""
    if console.quiet:
        return []
    return [LiveProgress(console) if console.is_terminal else PlainProgress(console)]


def _numbers(trainer: Trainer) -> str:
    row = trainer.history.rows[-1]
    text = f"loss {format_number(row['train_loss'])}"
    if "validation_loss" in trainer.state.metrics:
        text += f" validation {format_number(trainer.state.metrics['validation_loss'])}"
    return f"{text} lr {row['learning_rate']:.1e} {format_number(row['samples_per_second'])} samples/s"


def _time_left(trainer: Trainer, done: float) -> str:
    return f"  {format_duration(trainer.history.seconds / done * (1 - done))} left" if 0 < done < 1 else ""


def _ending(trainer: Trainer) -> str:
    purpose = f" on {trainer.label}" if trainer.label else ""
    steps = format_count(trainer.state.step, "step")
    seconds = f"Trained {steps}{purpose} in {format_duration(trainer.history.seconds)}"
    return f"{seconds}; stopped early: {trainer.state.stop_reason}" if trainer.state.stop_reason else seconds
