"""Dispatches training events to callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.state import kind_of, match_states

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

EVENTS = tuple(name for name in vars(Callback) if not name.startswith("_") and "state" not in name)


class CallbackList:
    """The callbacks of a training, in the order in which they are called.

    Only methods that override an event are called, so that an event without handlers costs nothing.
    """

    def __init__(self, callbacks: Sequence[Callback] = ()) -> None:
        self.callbacks = list(callbacks)
        self._handlers = {event: self._find_handlers(event) for event in EVENTS}

    def handles(self, event: str) -> bool:
        """Whether a callback handles an event."""
        return bool(self._handlers[event])

    def emit(self, trainer: Trainer, event: str, *arguments: Any) -> None:
        """Call all handlers of an event."""
        for handler in self._handlers[event]:
            handler(trainer, *arguments)

    def state_dict(self) -> list[dict[str, Any]]:
        """Return the state of each callback."""
        return [{"kind": kind_of(item), "state": item.state_dict()} for item in self.callbacks]

    def load_state_dict(self, saved: list[dict[str, Any]]) -> None:
        """Restore the state of each callback; those without one may come and go."""
        for place, state in match_states(saved, self.callbacks, "callbacks"):
            self.callbacks[place].load_state_dict(state)

    def _find_handlers(self, event: str) -> list[Callable[..., None]]:
        found = [
            getattr(callback, event)
            for callback in self.callbacks
            if getattr(type(callback), event) is not getattr(Callback, event)
        ]
        return found[::-1] if event == "validation_end" else found
