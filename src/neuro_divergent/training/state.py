"""The state of training, and whether settings agree with a saved one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from neuro_divergent.core.errors import ConfigError, did_you_mean

_ACCURACY = "validation_accuracy"
_LENGTH = frozenset(("max_epochs", "max_steps", "max_seconds", "stop_file", "early_stopping"))
MAY_CHANGE = frozenset(
    (
        "max_epochs",
        "max_steps",
        "max_seconds",
        "stop_file",
        "log_every",
        "prefetch",
        "threads",
        "device",
        "strategy",
        "callbacks",
    )
)
"""Settings that may differ when training is resumed: how long it lasts, where it runs and what it reports."""


@dataclass
class TrainingState:
    """The state of training.

    Attributes:
        step: Optimizer steps done.
        epoch: Epochs begun, counted from 0.
        batch: Batches done in this epoch.
        skipped: Steps in which the weights stayed as they were, because gradients were not finite.
        pending_validation: Whether the validation that belongs to the last step is still to be done.
        metrics: Results of the last validation.
        stop_reason: Why training is to end, or ``None``.
        stop_requested: Whether somebody asked for that, so that nothing more is to be trained after it.
        selected_step: Step whose weights training ended with; ``None`` before its end.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    skipped: int = 0
    pending_validation: bool = False
    metrics: dict[str, float] = field(default_factory=dict)
    stop_reason: str | None = None
    stop_requested: bool = False
    selected_step: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, under the names that checkpoints have had from the start."""
        values = asdict(self)
        return {"unsettled": values.pop("pending_validation"), **values}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingState:
        """Restore what ``to_dict`` returned.

        Checkpoints of format 1 do not say whether a validation is pending; doing one that was done changes nothing.
        """
        values = dict(values)
        return cls(pending_validation=values.pop("unsettled", True), **values)


def find_metric(name: str, metrics: Mapping[str, float], where: str, mode: str) -> float:
    """Return a result of a validation; ``where`` is the setting that names it, for the message.

    Raises:
        ConfigError: If it is not measured, or is the accuracy and lower (``mode="min"``) is to be better.
    """
    if name not in metrics:
        hint = did_you_mean(name, metrics)
        raise ConfigError(f"{where}: metric {name!r} is not measured.{hint} Known: {', '.join(metrics)}.")
    if name == _ACCURACY and mode == "min":
        raise ConfigError(f'{where}: {name} is better where it is higher, not lower: set mode="max".')
    return metrics[name]


def differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield what differs between two settings as plain values: ``optimizer.lr: 0.001 before, 0.01 now``."""
    for key in dict.fromkeys((*before, *now)):
        old, new = before.get(key), now.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from differences(old, new, f"{prefix}{key}.")
        elif old != new:
            yield f"{prefix}{key}: {_show(old)} before, {_show(new)} now"


def require_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to resume with settings that would change the result."""
    old, new = ({key: value for key, value in item.items() if key not in MAY_CHANGE} for item in (before, now))
    if found := list(differences(old, new)):
        raise ConfigError(
            f"the settings have changed since the checkpoint: {'; '.join(found)}. Take the old ones, or allow changes "
            "(allow_changes=True, --allow-changes)."
        )


def extends(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    """Whether the settings change when training ends, so that a finished training is continued."""
    return before is None or any(before.get(name) != now.get(name) for name in _LENGTH)


def match_states(saved: list[dict[str, Any]], parts: Sequence[object], what: str) -> Iterator[tuple[int, Any]]:
    """Yield which of some parts a saved state belongs to, and the state; parts without a state may come and go.

    Saved are the ``kind`` (class) and ``state`` of each part, in order. It is an error if a part with a state is
    missing now, or comes in another order; ``what`` says what the parts are.
    """
    kept = [item for item in saved if item["state"]]
    for place, part in enumerate(parts):
        if kept and kind_of(part) == kept[0]["kind"]:
            yield place, kept.pop(0)["state"]
    if kept:
        now = ", ".join(kind_of(part) for part in parts) or "none"
        raise ConfigError(
            f"the state was saved with {what} that are missing now or come in another order: "
            f"{', '.join(item['kind'] for item in kept)} (now: {now}). Pass the same ones in the same order."
        )


def kind_of(part: object) -> str:
    """Return the name that the state of a part is saved under: that of its class, or the one it had in the past."""
    return getattr(part, "kind", type(part).__name__)


def _show(value: Any) -> str:
    return "nothing" if value is None else repr(value)
