"""The series of a request as arrays, all end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array, Floats, Ints
from neuro_divergent.core.errors import DataError, did_you_mean
from neuro_divergent.serving.category_codes import CategoryCodes
from neuro_divergent.serving.description import Description, ExportedFeature
from neuro_divergent.serving.request import Series

_SHOWN = 40


@dataclass(frozen=True, eq=False)
class Histories:
    """Values as they came: numbers, or codes of categories, NaN where one is missing.

    Attributes:
        ids: Name of each series, or ``None``.
        ends: Time of the last value of each, as an integer, or ``None``.
        offsets: Where each series begins, and the end.
        y: Target, one value per row.
        past: Covariates known only in the past, ``(rows, features)``.
        future: Covariates known ahead without calendar features, ``(rows, features)``, and ``ahead`` the same for the
            steps to forecast, ``(series, horizon, features)``.
        static: ``(series, features)``.
    """

    ids: tuple[Any, ...]
    ends: tuple[int | None, ...]
    offsets: Ints
    y: Floats
    past: Floats
    future: Floats
    ahead: Floats
    static: Floats

    def label(self, series: int) -> str:
        """Return how messages call a series."""
        return label_of(self.ids[series], series)

    @property
    def lengths(self) -> Ints:
        """Number of rows of each series."""
        return np.diff(self.offsets)


def label_of(name: Any, position: int) -> str:
    """Return how messages call a series: by its name, or by its position in the request, from 1."""
    if name is None:
        return f"series number {position + 1}"
    text = repr(name)
    return f"series {text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}"


class HistoryReader:
    """Turns series of a request into arrays, and checks their covariates against those of training."""

    def __init__(self, description: Description) -> None:
        self._description = description
        self._codes = {
            feature.name: CategoryCodes(feature, description.unknown_category)
            for feature in (*description.past, *description.future, *description.static)
            if feature.categories is not None
        }

    def read(self, series: Sequence[Series], ends: tuple[int | None, ...], horizon: int) -> Histories:
        """Return the arrays.

        Args:
            series: As requested.
            ends: Their ends as integers.
            horizon: Steps to forecast.

        Raises:
            DataError: If a series is empty or lacks a covariate, with its name.
        """
        lengths = [len(item.y) for item in series]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        names = tuple(item.id for item in series)
        parts = [self._parts(item, label_of(item.id, place), horizon) for place, item in enumerate(series)]
        past, future, ahead, static = (list(part) for part in zip(*parts, strict=True))
        return Histories(
            names,
            ends,
            offsets,
            np.concatenate([np.asarray(item.y, np.float64) for item in series]),
            np.concatenate(past),
            np.concatenate(future),
            np.stack(ahead),
            np.stack(static),
        )

    def _parts(self, item: Series, label: str, horizon: int) -> tuple[Floats, Floats, Floats, Floats]:
        description, length = self._description, len(item.y)
        if not length:
            raise DataError(f"{label}: y is empty; send at least one value")
        past = self._table(item.past, description.past, (length,), f"{label}, past")
        accepted = (length + horizon, length + description.horizon)
        both = self._table(item.future, description.future, accepted, f"{label}, future")
        values = {name: [value] for name, value in item.static.items()}
        static = self._table(values, description.static, (1,), f"{label}, static")
        return past, both[:length], both[length : length + horizon], static[0]

    def _table(
        self,
        given: Mapping[str, Sequence[Any]],
        features: tuple[ExportedFeature, ...],
        lengths: tuple[int, ...],
        place: str,
    ) -> Floats:
        """Return columns side by side, each of one of the accepted lengths."""
        known = {feature.name for feature in features}
        for name in given:
            if name not in known:
                shown = ", ".join(sorted(known)[:8]) or "none"
                close = did_you_mean(name[:_SHOWN], known)
                raise DataError(f"{place}: the model has no covariate {name[:_SHOWN]!r}; it has {shown}.{close}")
        table = np.empty((lengths[0], len(features)), np.float64)
        for position, feature in enumerate(features):
            column = given.get(feature.name)
            where = f"{place}[{feature.name!r}]"
            if column is None:
                raise DataError(f"{where}: missing; the model needs {lengths[0]} value{'s' * (lengths[0] != 1)}")
            if len(column) not in lengths:
                raise DataError(f"{where}: {len(column)} values, expected {lengths[0]}")
            values = column[: lengths[0]]
            codes = self._codes.get(feature.name)
            table[:, position] = _numbers(values, where) if codes is None else codes.encode(values, where)
        return table


def _numbers(values: Sequence[Any], place: str) -> Array:
    if isinstance(values, list) and str in set(map(type, values)):
        position = next(number for number, value in enumerate(values) if isinstance(value, str))
        text = values[position][:_SHOWN]
        raise DataError(f"{place}, position {position + 1}: {text!r} is text; in training it held numbers")
    try:
        return np.array(values, np.float64)
    except (OverflowError, ValueError, TypeError):
        raise DataError(f"{place}: holds values that are not numbers, or too large ones") from None
