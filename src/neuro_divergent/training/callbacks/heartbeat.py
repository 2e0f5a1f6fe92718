"""A heartbeat file that is rewritten while training runs."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from neuro_divergent.core.errors import ConfigError, StorageWarning
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

ATTEMPT = "ND_ATTEMPT"
"""Environment variable with the number of this start, set by the program that restarts training."""

Phase = Literal["training", "validation", "saving", "refit", "finishing"]


class Heartbeat(Callback):
    """Writes step and time to a file every few seconds, for monitoring from outside.

    It is written where training happens, not by a separate thread, so that it stops when training hangs. A reader sees
    the old content or the new. It is not flushed to the disk: after a power cut nobody asks whether training lives. A
    disk that refuses is warned about once, and training goes on.

    Args:
        path: The file; it is replaced if it exists.
        every: Seconds from one time to the next, at least.
        attempt: Which start of the run this is, counted from 1; unset, what ``ND_ATTEMPT`` says in the environment.
        phase: What steps are part of.

    Examples:
        >>> import neuro_divergent as nd
        >>> import json, pathlib, tempfile, torch
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     heartbeat = nd.callbacks.Heartbeat(pathlib.Path(directory, "heartbeat.json"), every=5.0)
        ...     config = nd.TrainingConfig(max_steps=20)
        ...     trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config, callbacks=heartbeat)
        ...     _ = trainer.fit((torch.ones(8, 1), torch.ones(8, 1)))
        ...     last = json.loads(heartbeat.path.read_text())
        >>> last["step"], last["total_steps"], last["phase"]
        (20, 20, 'finishing')
    """

    main_only: ClassVar[bool] = True
    in_vectorized: ClassVar[bool] = True

    def __init__(
        self, path: str | Path, *, every: float = 5.0, attempt: int | None = None, phase: Phase = "training"
    ) -> None:
        if not every >= 0:
            raise ConfigError(f"heartbeat: every must be 0 seconds or more; got {every}.")
        self.path = Path(path)
        self.every = every
        self.attempt = told_attempt() if attempt is None else attempt
        self._steps_phase = phase
        self._phase = phase
        self._next = 0.0
        self._has_warned = False

    def fit_start(self, trainer: Trainer) -> None:
        self.beat(trainer, self._steps_phase)

    def step_end(self, trainer: Trainer) -> None:
        if time.monotonic() >= self._next:
            self.beat(trainer)

    def validation_start(self, trainer: Trainer) -> None:
        self._phase = "validation"
        self.step_end(trainer)

    def validation_end(self, trainer: Trainer) -> None:
        self._phase = self._steps_phase
        self.step_end(trainer)

    validation_cancelled = validation_end
    validation_batch = checkpoint_safe = step_end  # a save may have taken long

    def interrupted(self, trainer: Trainer) -> None:
        self.beat(trainer)

    def fit_end(self, trainer: Trainer) -> None:
        self.beat(trainer, "finishing")

    def beat(self, trainer: Trainer, phase: Phase | None = None) -> None:
        """Write now; ``phase`` is what is done from now on, ``None`` for the same as before."""
        self._phase = phase or self._phase
        self._next = time.monotonic() + self.every
        content = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "time": time.time(),
            "step": trainer.state.step,
            "total_steps": trainer.plan.total_steps,
            "phase": self._phase,
            "attempt": self.attempt,
        }
        # One name that is used again: kills between the two lines leave one file behind, and the next beat takes it.
        work = self.path.with_name(f".{self.path.name}.partial-0")
        try:
            work.write_text(json.dumps(content) + "\n", "utf-8")
            work.replace(self.path)
        except OSError as error:
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(
                    f"{self.path}: cannot be written: {error.strerror or error}; training goes on without a heartbeat.",
                    StorageWarning,
                    stacklevel=2,
                )


def told_attempt() -> int:
    """Return the number of this start of the run, from the environment."""
    text = os.environ.get(ATTEMPT, "")
    return int(text) if text.isascii() and text.isdecimal() else 1
