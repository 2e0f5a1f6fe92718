"""Hearing signals for a while."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from neuro_divergent.core.errors import ConfigError, did_you_mean

_SAME_REQUEST = 0.2
_DEAF = ("SIGKILL", "SIGSTOP")  # the system delivers these to nobody


class SignalListener:
    """Calls a function when one of some signals arrives for the first time.

    From the second signal on, whoever listened before hears them again: a program that was asked politely once can then
    be ended at once, whatever it is doing. Signals within a fifth of a second of the first are the same request: a
    service manager sends one to every process of a group, and a supervisor among them passes its own on.

    Args:
        names: Such as ``"SIGTERM"``.
        hear: Called with the name, in the main thread, between any two of its instructions; it should only take note.
        who: Who listens, for messages.
    """

    def __init__(self, names: str | Sequence[str], hear: Callable[[str], None], who: str) -> None:
        self._signals = [_find(name, who) for name in ((names,) if isinstance(names, str) else names)]
        self._hear = hear
        self._who = who
        self._previous: dict[signal.Signals, Any] = {}
        self._since: float | None = None

    def start(self) -> None:
        """Begin to listen.

        Raises:
            ConfigError: Outside the main thread, where Python hears no signals.
        """
        if self._signals and threading.current_thread() is not threading.main_thread():
            raise ConfigError(f"{self._who}: signals are heard in the main thread only; run fit there, or use a file.")
        self._since = None
        for number in self._signals:
            self._previous.setdefault(number, signal.signal(number, self._receive))

    def stop(self) -> None:
        """Let others hear the signals again."""
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _receive(self, number: int, frame: Any) -> None:
        del frame
        now = time.monotonic()
        if self._since is None:
            self._since = now
            self._hear(signal.Signals(number).name)
        elif now - self._since > _SAME_REQUEST:
            self.stop()
            signal.raise_signal(number)


def _find(name: str, who: str) -> signal.Signals:
    known = [item.name for item in signal.Signals if item.name not in _DEAF]
    if name not in known:
        hint = did_you_mean(name, known) or f" Known: {', '.join(known)}."
        raise ConfigError(f"{who}: {name!r} is not a signal that can be heard here.{hint}")
    return signal.Signals[name]
