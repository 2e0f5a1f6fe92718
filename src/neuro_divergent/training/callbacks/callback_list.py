"""Who hears which event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.state import kind_of, match_states

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

EVENTS = tuple(name for name in vars(Callback) if not name.startswith("_") and "state" not in name)


class CallbackList:
    """The callbacks of a training, in the order in which they hear.

    Only the methods that override an event are called, so that an event nobody hears costs nothing.
    """

    def __init__(self, callbacks: Sequence[Callback] = ()) -> None:
        self.callbacks = list(callbacks)
        self._listeners = {event: self._hearing(event) for event in EVENTS}

    def hears(self, event: str) -> bool:
        """Whether anybody hears an event."""
        return bool(self._listeners[event])

    def tell(self, trainer: Trainer, event: str, *arguments: Any) -> None:
        """Tell all who hear an event."""
        for listener in self._listeners[event]:
            listener(trainer, *arguments)

    def state_dict(self) -> list[dict[str, Any]]:
        """Return what each remembers."""
        return [{"kind": kind_of(item), "state": item.state_dict()} for item in self.callbacks]

    def load_state_dict(self, saved: list[dict[str, Any]]) -> None:
        """Give each callback with a memory its own back; those without one may come and go.

        Raises:
            ConfigError: If somebody whose memory was saved is missing, or comes in another order.
        """
        for place, state in match_states(saved, self.callbacks, "callbacks"):
            self.callbacks[place].load_state_dict(state)

    def _hearing(self, event: str) -> list[Callable[..., None]]:
        found = [
            getattr(callback, event)
            for callback in self.callbacks
            if getattr(type(callback), event) is not getattr(Callback, event)
        ]
        return found[::-1] if event == "validation_end" else found
