"""Stopping training by a file or a signal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.signals import SignalListener
from neuro_divergent.training.callbacks.base import ClosingCallback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

_SECONDS_BETWEEN_LOOKS = 0.5


class StopRequest(ClosingCallback):
    """Ends training as if it were over, with a model, when a file appears or a signal arrives.

    Args:
        file: Looked for twice a second. One that is there before training starts is refused, because it is probably
            left from the last time and nothing would be trained; it is never deleted.
        signals: Names such as ``"SIGUSR1"``. They are heard from the start to the end of ``fit``, which must then run
            in the main thread; afterwards whoever heard them before does so again. That already holds for a second
            signal.

    Examples:
        A callback stands here for somebody who makes the file while training runs:

        >>> import neuro_divergent as nd
        >>> import pathlib, tempfile, torch
        >>> class Touch(nd.callbacks.Callback):
        ...     def epoch_start(self, trainer):
        ...         file.touch()
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     file = pathlib.Path(directory, "stop")
        ...     callbacks = [nd.callbacks.StopRequest(file), Touch()]
        ...     trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), callbacks=callbacks)
        ...     _ = trainer.fit((torch.ones(8, 1), torch.ones(8, 1)))
        >>> trainer.state.step, trainer.state.stop_requested
        (1, True)
    """

    in_refit: ClassVar[bool] = True

    def __init__(self, file: str | Path | None = None, signals: Sequence[str] = ()) -> None:
        if file is None and not signals:
            raise ConfigError("stop request: give a file, signals or both.")
        self.file = None if file is None else Path(file)
        self._listener = SignalListener(signals, self._receive, "stop request")
        self._received: str | None = None
        self._next_look = 0.0

    def fit_start(self, trainer: Trainer) -> None:
        self._received = None
        if self.file is not None and self.file.exists():
            raise ConfigError(f"{self.file}: exists already, so training would stop at once; remove it first.")
        self._listener.start()

    def step_end(self, trainer: Trainer) -> None:
        if self._received is not None:
            trainer.stop(f"{self._received} was received", requested=True)
        elif self.file is not None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS
            if self.file.exists():
                trainer.stop(f"{self.file} asks for it", requested=True)

    def close(self) -> None:
        self._listener.stop()

    def _receive(self, name: str) -> None:
        self._received = name
