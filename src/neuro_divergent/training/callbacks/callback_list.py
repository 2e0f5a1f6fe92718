"""Dispatches training events to callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.state import kind_of, match_states

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

EVENTS = tuple(
    name for name, value in vars(Callback).items() if callable(value) and name[0] != "_" and "state" not in name
)


class CallbackList:
    """The callbacks of a training, in the order in which they are called.

    Only methods that override an event are called, so that an event without handlers costs nothing. Where several
    processes train together, those with ``main_only`` are called in the first one (``is_main``) alone.
    """

    def __init__(self, callbacks: Sequence[Callback] = (), *, is_main: bool = True) -> None:
        self.callbacks = list(callbacks)
        self._is_main = is_main
        self._handlers = {event: self._find_handlers(event) for event in EVENTS}
        self._wanting = [item for item in callbacks if type(item).wants_state is not Callback.wants_state]

    def handles(self, event: str) -> bool:
        """Whether a callback handles an event."""
        return bool(self._handlers[event])

    def emit(self, trainer: Trainer, event: str, *arguments: Any) -> None:
        """Call all handlers of an event."""
        for handler in self._handlers[event]:
            handler(trainer, *arguments)

    def wants_state(self, trainer: Trainer) -> bool:
        """Whether a callback of the first process wants the state of the step that is complete."""
        answers = [callback.wants_state(trainer) for callback in self._wanting] if self._is_main else ()
        return any(answers)

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
            if (self._is_main or not callback.main_only)
            and getattr(type(callback), event) is not getattr(Callback, event)
        ]
        return found[::-1] if event == "validation_end" else found
