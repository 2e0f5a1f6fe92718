"""Temporary signal handlers."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from neuro_divergent.core.errors import ConfigError, did_you_mean

_SAME_REQUEST = 0.2
_UNHANDLED = ("SIGKILL", "SIGSTOP")  # cannot be handled


class SignalListener:
    """Calls a function when one of some signals arrives for the first time.

    From the second signal on, the previous handlers are active again: the second request can then end the program at
    once, whatever it is doing. Signals within a fifth of a second of the first are the same request: a
    service manager sends one to every process of a group, and a supervisor among them passes its own on.

    Args:
        names: Such as ``"SIGTERM"``.
        handler: Called with the name, in the main thread, between any two of its instructions; it should only set a
            flag.
        who: Name of the component, for messages.
    """

    def __init__(self, names: str | Sequence[str], handler: Callable[[str], None], who: str) -> None:
        self._signals = [_find(name, who) for name in ((names,) if isinstance(names, str) else names)]
        self._handler = handler
        self._who = who
        self._previous: dict[signal.Signals, Any] = {}
        self._since: float | None = None

    def start(self) -> None:
        """Install the handlers.

        Raises:
            ConfigError: Outside the main thread, where Python handles no signals.
        """
        if self._signals and threading.current_thread() is not threading.main_thread():
            raise ConfigError(
                f"{self._who}: signals are handled in the main thread only; run fit there, or use a file."
            )
        self._since = None
        for number in self._signals:
            self._previous.setdefault(number, signal.signal(number, self._receive))

    def stop(self) -> None:
        """Restore the previous handlers."""
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _receive(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if self._since is None:
            self._since = now
            self._handler(signal.Signals(number).name)
        elif now - self._since > _SAME_REQUEST:
            self.stop()
            signal.raise_signal(number)


def _find(name: str, who: str) -> signal.Signals:
    known = [item.name for item in signal.Signals if item.name not in _UNHANDLED]
    if name not in known:
        hint = did_you_mean(name, known) or f" Known: {', '.join(known)}."
        raise ConfigError(f"{who}: {name!r} is not a signal that can be handled here.{hint}")
    return signal.Signals[name]
