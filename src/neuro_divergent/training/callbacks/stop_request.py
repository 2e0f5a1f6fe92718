"""Ending training when somebody outside asks for it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConfigError, did_you_mean
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

_SECONDS_BETWEEN_LOOKS = 0.5
_DEAF = ("SIGKILL", "SIGSTOP")  # the system delivers these to nobody


class StopRequest(Callback):
    """Ends training as if it were over, with a model, when a file appears or a signal arrives.

    Args:
        file: Looked for twice a second. One that is there before training starts is refused, because it is probably
            left from the last time and nothing would be trained; it is never deleted.
        signals: Names such as ``"SIGUSR1"``. They are heard from the start to the end of ``fit``, which must then run
            in the main thread; afterwards whoever heard them before does so again. That already holds for a second
            signal: with ``"SIGINT"``, Ctrl-C asks politely, and once more interrupts at once.
    """

    def __init__(self, file: str | Path | None = None, signals: Sequence[str] = ()) -> None:
        names = (signals,) if isinstance(signals, str) else tuple(signals)
        if file is None and not names:
            raise ConfigError("stop request: give a file, signals or both.")
        self.file = None if file is None else Path(file)
        self.signals = [_signal(name) for name in names]
        self._previous: dict[signal.Signals, Any] = {}
        self._received: signal.Signals | None = None
        self._next_look = 0.0

    def fit_start(self, trainer: Trainer) -> None:
        """Begin to listen."""
        del trainer
        self._received = None
        if self.file is not None and self.file.exists():
            raise ConfigError(f"{self.file}: exists already, so training would stop at once; remove it first.")
        if self.signals and threading.current_thread() is not threading.main_thread():
            raise ConfigError("stop request: signals are heard in the main thread only; run fit there, or use a file.")
        for number in self.signals:
            self._previous[number] = signal.signal(number, self._receive)

    def step_end(self, trainer: Trainer) -> None:
        """Stop if that was asked for."""
        if self._received is not None:
            trainer.stop(f"{self._received.name} was received")
        elif self.file is not None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS
            if self.file.exists():
                trainer.stop(f"{self.file} asks for it")

    def fit_end(self, trainer: Trainer) -> None:
        """Let others hear the signals again."""
        del trainer
        self._give_back()

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        """Let others hear the signals again."""
        del trainer, error
        self._give_back()

    def _receive(self, number: int, frame: Any) -> None:
        del frame
        self._received = signal.Signals(number)
        self._give_back()

    def _give_back(self) -> None:
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _signal(name: str) -> signal.Signals:
    known = [item.name for item in signal.Signals if item.name not in _DEAF]
    if name not in known:
        hint = did_you_mean(name, known) or f" Known: {', '.join(known)}."
        raise ConfigError(f"stop request: {name!r} is not a signal that can be heard here.{hint}")
    return signal.Signals[name]
