"""Policies for missing values of one series, in NumPy, as ``data.cleaning.filling`` has them for tables."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats
from neuro_divergent.core.errors import DataError

_OFFERS = {"error": "Fill them, or train with another policy for missing values", "forward": "Cut the beginning off"}


def fill_target(values: Floats, missing: Bools, policy: str, place: str) -> Bools | None:
    """Fill the missing values of a target in place.

    Returns:
        Which values were observed if the others are to be hidden, else ``None``.

    Raises:
        DataError: If the policy does not allow them or has nothing to fill them with; ``place`` names the series.
    """
    if missing.all():
        raise DataError(f"{place}: no observed values. Leave such series out")
    _refuse(missing, policy, place)
    _fill(values, missing, policy)
    return ~missing if policy == "mask" else None


def fill_covariate(values: Floats, missing: Bools, policy: str, place: str, *, categorical: bool) -> None:
    """Fill the missing values of a covariate in place; categories have no in-between and are unknown where hidden.

    Raises:
        DataError: If the policy does not allow them or has nothing to fill them with; ``place`` names the covariate.
    """
    _refuse(missing, policy, place)
    if policy == "mask" and not categorical:
        policy = "forward"  # Covariates have no mask. The last value is a better guess than 0.
    elif policy == "interpolate" and categorical:
        policy = "forward"
    _fill(values, missing, policy)


def _refuse(missing: Bools, policy: str, place: str) -> None:
    if policy in ("zero", "mask"):
        return
    count, first = int(missing.sum()), int(missing.argmax()) + 1
    if policy == "error":
        plural = "s" if count > 1 else ""
        raise DataError(f"{place}: {count} missing value{plural}, first at position {first}. {_OFFERS[policy]}")
    if missing.all():
        raise DataError(f'{place}: no observed values, so missing="{policy}" has nothing to fill them with')
    if policy == "forward" and missing[0]:
        raise DataError(
            f'{place}: missing at the beginning, where missing="forward" has nothing to repeat. {_OFFERS[policy]}'
        )


def _fill(values: Floats, missing: Bools, policy: str) -> None:
    known = np.flatnonzero(~missing)
    if policy in ("zero", "mask") or not len(known):
        values[missing] = 0
        return
    holes = np.flatnonzero(missing)
    if policy == "interpolate":
        values[holes] = np.interp(holes, known, values[known])
    else:  # Where a series begins with a hole, the next value is repeated.
        before = np.searchsorted(known, holes) - 1
        values[holes] = values[known[np.maximum(before, 0)]]
