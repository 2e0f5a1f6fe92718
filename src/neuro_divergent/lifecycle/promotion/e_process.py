"""A sequential test that may be looked at after every block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from neuro_divergent.core.errors import InputError, UntrustedFileError

_FIRST = 2  # blocks that only set the scale
_LEAST_SPREAD = 0.4  # of the mean size of the differences
_MEMORY = 0.95  # weight of a block in the scale relative to the next one
_LARGEST = 700.0  # of the logarithm of the value: exp of it is still finite
_HUGE = 1e100  # from here on a difference counts as infinite, so that sums of them stay finite


@dataclass(frozen=True, kw_only=True)
class EProcess:
    """Evidence that one version has smaller losses than another, block by block.

    The value starts at 1 and is multiplied by ``1 + bet * x`` with each block, where ``x`` is the difference of the
    losses in units of the spread of earlier differences, clipped to ``-clip`` and ``clip``. If the expected ``x`` of
    a block, given everything before it, is never above 0, the value is a supermartingale, and the probability that it
    ever reaches ``v`` is at most ``1 / v`` (Ville, 1939), however often it is looked at.

    It does not change: ``update`` returns the next one. Its state is plain numbers.

    Attributes:
        bet: Fraction that is bet on each block.
        clip: Largest difference that counts; ``bet * clip`` must be below 1.
        log_value: Natural logarithm of the value.
        blocks: Number of blocks so far.
        index: Index of the last block; ``None`` before the first one.
        size: Weighted sum of the sizes of the differences.
        square: Weighted sum of their squares.
        drift: Weighted sum of the differences.
        weight: Sum of those weights.
        total: Sum of the differences, not clipped.

    Examples:
        >>> import neuro_divergent as nd
        >>> equal = better = nd.lifecycle.EProcess()
        >>> for block in range(30):
        ...     equal = equal.update(block, 0.1 if block % 2 else -0.1)
        ...     better = better.update(block, 0.1 if block % 5 else -0.1)
        >>> equal.value < 1, better.value > 20
        (True, True)
    """

    bet: float = 0.25
    clip: float = 2.5
    log_value: float = 0.0
    blocks: int = 0
    index: int | None = None
    size: float = 0.0
    square: float = 0.0
    drift: float = 0.0
    weight: float = 0.0
    total: float = 0.0

    def __post_init__(self) -> None:
        if not (self.bet > 0 and self.clip > 0 and self.bet * self.clip < 1):
            raise InputError(f"bet {self.bet!r} and clip {self.clip!r} must be above 0, and their product below 1.")

    @property
    def value(self) -> float:
        """The evidence: 20 or more rejects equal losses at a level of 5 %."""
        return math.exp(min(self.log_value, _LARGEST))

    @property
    def mean(self) -> float:
        """Mean difference over all blocks, not clipped; 0 before the first one."""
        return self.total / self.blocks if self.blocks else 0.0

    def update(self, index: int, difference: float) -> EProcess:
        """Return the process after one more block.

        Args:
            index: Where the block stands in time. A block that is not after the last one changes nothing, so that a
                repeated call after a restart does no harm.
            difference: Loss of the present version minus that of the other one: above 0 if the other one is better.
                Infinite if one of them failed; such a block counts as the largest difference.
        """
        if math.isnan(difference):
            raise InputError(f"difference: block {index} has none (NaN); leave such blocks out.")
        if self.index is not None and index <= self.index:
            return self
        finite = abs(difference) < _HUGE
        return replace(
            self,
            log_value=self.log_value + math.log1p(self.bet * self._scaled(difference)),
            blocks=self.blocks + 1,
            index=index,
            size=_MEMORY * self.size + abs(difference) if finite else self.size,
            square=_MEMORY * self.square + difference**2 if finite else self.square,
            drift=_MEMORY * self.drift + difference if finite else self.drift,
            weight=_MEMORY * self.weight + 1 if finite else self.weight,
            total=self.total + difference if finite else self.total,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain numbers; ``from_dict`` continues from it bit for bit."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> EProcess:
        """Restore a process from the result of ``to_dict``, also after JSON."""
        known = {field.name for field in fields(cls)}
        if set(state) != known or not all(_is_number(name, value) for name, value in state.items()):
            raise UntrustedFileError(f"the state of a sequential test must have finite numbers for {sorted(known)}.")
        return cls(**state)

    def _scaled(self, difference: float) -> float:
        """Return the difference in units that earlier blocks alone decide, clipped; 0 while there are none."""
        if self.blocks < _FIRST or self.weight == 0:
            return 0.0
        # The mean absolute value of a normal variable is sqrt(2 / pi) of its standard deviation.
        size = self.size / self.weight * math.sqrt(math.pi / 2)
        mean = self.drift / self.weight
        spread = math.sqrt(max(self.square / self.weight - mean**2, 0.0) * self.blocks / (self.blocks - 1))
        # The spread around the mean: a large and steady difference counts for more than its own size. Not less than a
        # part of the size, since the spread of few blocks can be small by chance.
        scale = max(spread, _LEAST_SPREAD * size)
        return max(-self.clip, min(self.clip, difference / scale)) if scale > 0 else 0.0


def _is_number(name: str, value: Any) -> bool:
    if name == "index" and value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and (isinstance(value, int) or name not in ("index", "blocks"))
