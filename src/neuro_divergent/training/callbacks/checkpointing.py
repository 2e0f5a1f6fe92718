"""Writing checkpoints while training runs."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError, StorageError, did_you_mean
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

Count = Annotated[int, Field(ge=1)]


class Checkpointing(Config):
    """When checkpoints are written, and which are kept.

    One is always written when training comes to its end or is asked to stop, so that it can be taken up again.

    Attributes:
        directory: Where checkpoints go, one directory each, such as ``step-000001200``.
        every_epochs: Epochs between two of them; ``None`` for not by epochs.
        every_steps: Steps between two of them, at the next row of the history (``log_every``); ``None`` for not by
            steps.
        at_most_every: Seconds that must have passed since the last one, or the start, before the next is written; so
            that small networks do not spend their time on it.
        keep: How many of the latest are kept. The best is kept as well.
        metric: Which result of the last validation decides about the best; it is named in ``best.json``.
        mode: Whether lower (``min``) or higher (``max``) is better.
        on_improvement: Whether one is also written after each validation that is better than all before. Otherwise the
            best is the best of those that are written anyway.
    """

    directory: Path
    every_epochs: Count | None = 10
    every_steps: Count | None = None
    at_most_every: float = Field(0.0, ge=0)
    keep: Count = 3
    metric: str = "validation_loss"
    mode: Literal["min", "max"] = "min"
    on_improvement: bool = False

    def build(self) -> Checkpointer:
        """Return the callback that does it."""
        return Checkpointer(self)


class Checkpointer(Callback):
    """Writes checkpoints on behalf of a ``Checkpointing``.

    They are written at the end of an epoch and when a row is added to the history: whatever belongs to a step is then
    done, and no average stands in for the weights. Only what this run wrote is ever removed.
    """

    def __init__(self, config: Checkpointing) -> None:
        self.config = config
        self.best: dict[str, Any] | None = None
        self._written: list[int] = []
        self._has_improved = False
        self._marked: dict[str, Any] | None = None
        self._last_time = 0.0

    def fit_start(self, trainer: Trainer) -> None:
        """Refuse a directory with checkpoints of another run, and clear away what an interrupted one left half done."""
        from neuro_divergent.training.checkpoint import list_checkpoints

        if not trainer.strategy.is_main:
            return
        directory = self.config.directory
        if trainer.state.step == 0 and list_checkpoints(directory):
            raise ConfigError(f"{directory}: holds checkpoints of an earlier run; resume it or choose another place.")
        self._last_time = time.monotonic()
        for leftover in directory.glob(".step-*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def validation_end(self, trainer: Trainer) -> None:
        """Notice the best result so far."""
        self._has_improved = self._is_better(trainer)

    def logged(self, trainer: Trainer) -> None:
        """Write if enough steps have passed, a result was the best, or training ends."""
        state, every = trainer.state, self.config.every_steps
        last = self._written[-1] if self._written else 0
        by_steps = every is not None and state.step // every > last // every
        at_end = state.step == trainer.plan.total_steps or state.stop_reason is not None
        by_result = self.config.on_improvement and self._has_improved
        if at_end or ((by_steps or by_result) and self._is_time()):
            self._write(trainer)

    def epoch_end(self, trainer: Trainer) -> None:
        """Write if enough epochs have passed."""
        every = self.config.every_epochs
        if every is not None and (trainer.state.epoch + 1) % every == 0 and self._is_time():
            self._write(trainer)

    def state_dict(self) -> dict[str, Any]:
        """Return what was written and which is the best."""
        return {"written": list(self._written), "best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up a state again."""
        self._written, self.best = list(state["written"]), state["best"]

    def _is_time(self) -> bool:
        return time.monotonic() - self._last_time >= self.config.at_most_every

    def _write(self, trainer: Trainer) -> None:
        from neuro_divergent.training.checkpoint import step_directory, write_checkpoint

        step = trainer.state.step
        if self._written and self._written[-1] == step:
            return
        if self._is_better(trainer):
            self.best = {"checkpoint": step_directory(Path(), step).name, "step": step, **self._result(trainer)}
        self._has_improved = False
        # The list is part of the state: it must have this checkpoint in it when the state is taken.
        self._written.append(step)
        removed = self._choose_removed()
        state = trainer.state_dict()
        if trainer.strategy.is_main:
            write_checkpoint(step_directory(self.config.directory, step), state)
            self._mark()
            for old in removed:
                _remove(step_directory(self.config.directory, old))
        self._written = [item for item in self._written if item not in removed]
        self._last_time = time.monotonic()

    def _choose_removed(self) -> list[int]:
        best = None if self.best is None else self.best["step"]
        return [step for step in self._written[: -self.config.keep] if step != best]

    def _mark(self) -> None:
        """Name the best checkpoint in a file, before the one that was named until now is removed."""
        from neuro_divergent.core.atomic import write_file
        from neuro_divergent.training.checkpoint import BEST

        if self.best != self._marked:
            content = json.dumps(self.best, indent=2) + "\n"
            write_file(self.config.directory / BEST, content.encode("utf-8"))
            self._marked = self.best

    def _result(self, trainer: Trainer) -> dict[str, Any]:
        return {"metric": self.config.metric, "value": trainer.state.metrics[self.config.metric]}

    def _is_better(self, trainer: Trainer) -> bool:
        """Return whether the last validation is better than the best checkpoint; without one, nothing is."""
        metrics, metric = trainer.state.metrics, self.config.metric
        if not metrics:
            return False
        if metric not in metrics:
            hint = did_you_mean(metric, metrics)
            raise ConfigError(f"checkpointing: metric {metric!r} is not measured.{hint} Known: {', '.join(metrics)}.")
        if self.best is None:
            return True
        value, best = metrics[metric], self.best["value"]
        return bool(value < best if self.config.mode == "min" else value > best)


def _remove(path: Path) -> None:
    """Remove a checkpoint so that it is complete or absent at every moment."""
    try:
        hidden = path.rename(path.with_name(f".{path.name}-removed"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"{path}: cannot be removed: {error.strerror or error}.") from error
    shutil.rmtree(hidden, ignore_errors=True)
