"""What the weights of a fitted model come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrainedOn:
    """What the weights of a network come from.

    Attributes:
        steps: Optimizer steps.
        windows: Training windows.
        all_rows: Whether the validation part was among them.
    """

    steps: int
    windows: int
    all_rows: bool = False

    @classmethod
    def from_dict(cls, values: Any) -> TrainedOn | None:
        """Rebuild it from plain values; ``None`` for models of earlier versions, which do not say.

        Raises:
            ValueError: If the values are of another kind.
        """
        if values is None:
            return None
        if not isinstance(values, dict) or {name: type(value) for name, value in values.items()} != _TYPES:
            raise ValueError("trained_on")
        return cls(**values)


_TYPES = {"steps": int, "windows": int, "all_rows": bool}
