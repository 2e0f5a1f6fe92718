"""Codes of categories, by the values of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import DataError
from neuro_divergent.serving.description import ExportedFeature


class CategoryCodes:
    """Turns values of a categorical covariate into codes from 1; 0 is for values that training did not see.

    Values of different types are equal if they are written the same way: 1, 1.0 and ``"1"``.

    Args:
        feature: A covariate with categories.
        unknown: Policy for others: ``error`` or ``unknown``.
    """

    def __init__(self, feature: ExportedFeature, unknown: str) -> None:
        self._codes = {_text(value): float(code) for code, value in enumerate(feature.categories or (), 1)}
        # Text and missing values are most of all, and need no conversion.
        self._quick: dict[str | None, float] = {None: np.nan}
        self._quick |= {value: self._codes[value] for value in feature.categories or () if isinstance(value, str)}
        self._refuses = unknown == "error"

    def encode(self, values: Sequence[Any], place: str) -> Floats:
        """Return the code of each value, NaN where it is ``None``.

        Raises:
            DataError: If a value was not in training and such are refused; ``place`` names the covariate.
        """
        quick = list(map(self._quick.get, values))
        codes = np.array([self._code(value) for value in values] if None in quick else quick, np.float64)
        if self._refuses and (codes == 0).any():
            position = int((codes == 0).argmax())
            value = str(values[position])[:40]
            raise DataError(
                f"{place}, position {position + 1}: category {value!r} not in training data. Train with "
                'unknown_category="unknown" to forecast without knowing it'
            )
        return codes

    def _code(self, value: Any) -> float:
        if value is None:
            return np.nan
        return self._codes.get(_text(value), 0.0)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
