"""Whether forecasts have become worse than those of the back-test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from neuro_divergent.core.arrays import Floats
from neuro_divergent.lifecycle.drift.errors import Errors


@dataclass(frozen=True)
class Degradation:
    """Errors of now compared with those of the back-test.

    Attributes:
        is_worse: Whether they are larger by the required fraction, and significantly so.
        ratio: Mean scaled error of now, divided by that of the back-test; NaN if it cannot be computed.
        p_value: Of the one-sided test of Welch on the means of horizons.
        horizons: Horizons of the back-test, and of now.
        sentence: The result in words.
    """

    is_worse: bool
    ratio: float
    p_value: float
    horizons: tuple[int, int]
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "horizons": list(self.horizons)}


def find_degradation(reference: Errors, new: Errors, *, fraction: float, alpha: float) -> Degradation:
    """Compare absolute errors, one mean per horizon over all series.

    Errors of a series are divided by its mean absolute error in the back-test, so that series of any scale count the
    same. Horizons do not overlap, so that their means depend little on each other.

    Args:
        reference: Errors of the back-test.
        new: Errors since then.
        fraction: How much larger errors must have become.
        alpha: Significance level.
    """
    size = _mean(np.abs(reference.values), axis=1)
    sizes = {name: value for name, value in zip(reference.ids, size, strict=True) if value > 0}
    before, now = _means(reference, sizes), _means(new, sizes)
    if len(before) < 2 or len(now) < 2:
        return Degradation(False, float("nan"), 1.0, (len(before), len(now)), "Too few horizons to compare errors.")
    ratio = float(now.mean() / before.mean())
    spread = before.std() + now.std()
    p_value = float(stats.ttest_ind(now, before, equal_var=False, alternative="greater").pvalue) if spread > 0 else 1.0
    is_worse = ratio >= 1 + fraction and p_value < alpha
    word = "significantly" if p_value < alpha else "not significantly"
    change = f"{abs(ratio - 1):.0%} {'larger' if ratio >= 1 else 'smaller'}"
    sentence = f"Errors are {change} than in the back-test ({word}: p {p_value:.2g}, {len(now)} horizons)."
    return Degradation(is_worse, ratio, p_value, (len(before), len(now)), sentence)


def _means(errors: Errors, sizes: dict[Any, float]) -> Floats:
    """Return the mean scaled absolute error of each horizon."""
    known = [place for place, name in enumerate(errors.ids) if name in sizes]
    if not known or not errors.num_times:
        return np.zeros(0)
    scale = np.array([sizes[errors.ids[place]] for place in known])
    scaled = np.abs(errors.values[known]) / scale[:, None]
    count = errors.num_times // errors.horizon
    blocks = scaled[:, errors.num_times - count * errors.horizon :].reshape(len(known), count, errors.horizon)
    found = _mean(_mean(blocks, axis=2), axis=0)
    kept: Floats = found[np.isfinite(found)]
    return kept


def _mean(values: Floats, axis: int) -> Floats:
    """Return means of what is observed; NaN where nothing is."""
    observed = np.isfinite(values)
    count = observed.sum(axis=axis)
    mean: Floats = np.where(count > 0, np.where(observed, values, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)
    return mean
