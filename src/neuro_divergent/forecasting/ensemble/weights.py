"""How much each member of an ensemble counts: as requested, or by its errors."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.core.errors import ConfigError

RequestedWeights = Literal["validation"] | tuple[float, ...] | None


def check_requested(weights: Any) -> RequestedWeights:
    """Return requested weights, whose number is checked by ``check_weights``.

    Raises:
        ConfigError: If they are neither ``"validation"`` nor numbers.
    """
    if weights is None or (isinstance(weights, str) and weights == "validation"):
        return weights  # type: ignore[return-value]
    try:
        if isinstance(weights, str):
            raise TypeError
        return tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        raise ConfigError(f"weights: {weights!r} must be 'validation' or a number for each member.") from None


def check_weights(weights: Any, count: int) -> Floats:
    """Return weights that add up to 1.

    Raises:
        ValueError: If they are not one number of at least 0 for each member, with a positive sum.
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (count,) or not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise ValueError(f"weights must be {count} numbers of at least 0, not all 0; got {weights!r}")
    return values if abs(values.sum() - 1) < 1e-12 else values / values.sum()


def accuracy_weights(squared_errors: Array) -> Array:
    """Return weights in proportion to one over the mean squared error, adding up to 1.

    For errors that are independent and without bias these weights have the least expected squared error (Bates and
    Granger, 1969). They ignore the correlation of errors, which takes far more data to estimate than a
    validation part has: weights that try to are often worse than equal ones. Each series counts the same, whatever its
    size, because its errors are taken relative to those of the average member.

    Args:
        squared_errors: Mean squared error of each member on each series, ``(members, series)``.
    """
    usual = squared_errors.mean(0)
    relative = squared_errors[:, usual > 0] / usual[usual > 0]
    if not relative.size:
        return np.full(len(squared_errors), 1 / len(squared_errors))
    inverse = 1 / np.maximum(relative.mean(1), 1e-12)
    weights: Array = inverse / inverse.sum()
    return weights
