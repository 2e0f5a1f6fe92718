"""Interrupting training so that it can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuro_divergent.core.signals import SignalListener
from neuro_divergent.training.callbacks.base import ClosingCallback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer


class Interruption(ClosingCallback):
    """Lets a signal interrupt training between two steps instead of in the middle of one.

    The step that is under way is finished (validation is cancelled), checkpoints are written, and ``fit`` ends with
    ``Interrupted``. A second signal ends the process the way it would without this callback, at once. ``fit`` must run
    in the main thread.

    Examples:
        Ctrl-C between two steps, which another callback stands for here:

        >>> import neuro_divergent as nd
        >>> import signal, torch
        >>> class ControlC(nd.callbacks.Callback):
        ...     def step_end(self, trainer):
        ...         signal.raise_signal(signal.SIGINT)
        >>> callbacks = [nd.callbacks.Interruption(), ControlC()]
        >>> trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), callbacks=callbacks)
        >>> try:
        ...     trainer.fit((torch.ones(8, 1), torch.ones(8, 1)))
        ... except nd.errors.Interrupted:
        ...     print("step", trainer.state.step, "is complete")
        step 1 is complete
    """

    def __init__(self, signals: Sequence[str] = ("SIGINT", "SIGTERM")) -> None:
        self._trainer: Trainer | None = None
        self._listener = SignalListener(signals, self._receive, "interruption")

    def fit_start(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._listener.start()

    def close(self) -> None:
        self._listener.stop()
        self._trainer = None

    def _receive(self, name: str) -> None:
        if self._trainer is not None:
            self._trainer.interrupt(name)
