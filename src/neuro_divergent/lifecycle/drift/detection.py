"""Compares new errors with those of a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import InputError
from neuro_divergent.lifecycle.drift.drift_result import DriftResult
from neuro_divergent.lifecycle.drift.errors import Errors
from neuro_divergent.lifecycle.drift.feed import broken_series
from neuro_divergent.lifecycle.drift.incident import Incident
from neuro_divergent.lifecycle.drift.named_series import name_series
from neuro_divergent.lifecycle.drift.panel_test import LEAST_TIMES, Name, run_panel_test
from neuro_divergent.lifecycle.drift.standardization import standardize

ALPHA = 0.03
"""Probability of a false alarm of one check."""

MOST_BROKEN = 0.05
"""Fraction of the series with an incident, above which nothing is judged."""

LEAST_NEW = 3
"""New times, below which nothing is judged."""

_TESTS: tuple[Name, ...] = ("level", "size")


def detect_drift(
    reference: Errors,
    new: Errors,
    *,
    alpha: float = ALPHA,
    season_length: int | None = None,
    false_discoveries: float = 0.05,
    incidents: Sequence[Incident] = (),
    seed: int = 0,
) -> DriftResult:
    """Decide whether errors have changed since the reference.

    The panel is judged first and alone decides: the mean standardized error of each time (``level``) and the logarithm
    of the mean absolute one (``size``, of which only an increase counts) are compared with the reference, with half of
    ``alpha`` each. Then the series that stand out are named, by the Kolmogorov-Smirnov test and cumulative sums, with
    control of false discoveries.

    Args:
        reference: Errors on held-out data, such as those of the back-test at registration.
        new: Errors since then; times that the reference has too are left out.
        alpha: Probability of a false alarm of this check; ``AlphaSpending`` divides a rate per year over many.
        season_length: Rows in the longest season of the data; unset, the longest that the errors declare. A reference
            shorter than that is not judged, because errors may differ from one part of a season to another.
        false_discoveries: Expected fraction of the named series that have not changed; 0 names none.
        incidents: What ``check_feed`` found. Series with an incident are left out. If these are more than 5 % of
            the series, the result is ``incident`` and never drift.
        seed: Of the bootstrap behind the cumulative sums.

    Raises:
        InputError: If ``alpha`` or ``false_discoveries`` is no probability.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> import polars as pl
        >>> noise, ids = np.random.default_rng(0).normal(size=(5, 140)), pl.Series("id", list("ABCDE"))
        >>> old = nd.lifecycle.Errors(ids=ids, times=pl.Series("ds", range(100)), values=noise[:, :100])
        >>> new = nd.lifecycle.Errors(ids=ids, times=pl.Series("ds", range(100, 140)), values=noise[:, 100:])
        >>> nd.lifecycle.detect_drift(old, new).verdict
        'no drift'
        >>> worse = nd.lifecycle.Errors(ids=ids, times=new.times, values=new.values + 2)
        >>> nd.lifecycle.detect_drift(old, worse).verdict
        'drift'
    """
    for name, value in (("alpha", alpha), ("false_discoveries", false_discoveries)):
        if not 0 <= value < 1:
            raise InputError(f"{name}: {value!r} must be between 0 and 1.")
    if reference.num_times:
        new = new.after(reference.times[-1])
    facts: dict[str, Any] = {
        "alpha": alpha,
        "false_discoveries": false_discoveries,
        "incidents": tuple(incidents),
        "reference_times": reference.times,
        "new_times": new.times,
        "left_out": {},
    }
    broken = broken_series(incidents)
    if broken and _share(broken, new) > MOST_BROKEN:
        return DriftResult(verdict="incident", **facts)
    if broken:
        # Ids of an incident are values of the same column.
        new = new.without(pl.Series(broken, dtype=new.ids.dtype, strict=False))
        facts["left_out"] = {"broken feed": len(broken)}
    longest = max(reference.season_length, new.season_length) if season_length is None else season_length
    if reason := _too_little(reference, new, longest):
        return DriftResult(verdict="not judged", reason=reason, **facts)
    return _compare(reference, new, facts, seed)


def _compare(reference: Errors, new: Errors, facts: dict[str, Any], seed: int) -> DriftResult:
    errors = standardize(reference, new)
    facts["left_out"] = {**facts["left_out"], **errors.left_out}
    if not len(errors.ids):
        why = ", ".join(f"{count:,} {reason}" for reason, count in facts["left_out"].items())
        return DriftResult(verdict="not judged", reason=f"no series can be compared ({why}).", **facts)
    tests = tuple(filter(None, (run_panel_test(errors.reference, errors.new, name) for name in _TESTS)))
    if len(tests) < len(_TESTS):
        reason = f"fewer than {LEAST_TIMES} times of the reference have errors of enough series."
        return DriftResult(verdict="not judged", reason=reason, **facts)
    p_value = min(1.0, len(tests) * min(test.p_value for test in tests))
    fraction = facts["false_discoveries"]
    horizon = max(reference.horizon, new.horizon)
    named = name_series(errors, new.times, false_discoveries=fraction, horizon=horizon, seed=seed) if fraction else ()
    verdict: Any = "drift" if p_value <= facts["alpha"] else "no drift"
    return DriftResult(verdict=verdict, p_value=p_value, tests=tests, series=named, num_series=len(errors.ids), **facts)


def _share(broken: list[Any], new: Errors) -> float:
    return len(broken) / max(new.num_series, 1)


def _too_little(reference: Errors, new: Errors, longest: int) -> str:
    """Return why the errors cannot be compared; nothing if they can."""
    old, fresh = _times_with_errors(reference.values), _times_with_errors(new.values)
    if fresh < LEAST_NEW:
        return f"there are errors at {fresh} new times, and at least {LEAST_NEW} are needed."
    if old < LEAST_TIMES:
        return f"there are errors at {old} times of the reference, and at least {LEAST_TIMES} are needed."
    if old < longest:
        return (
            f"the reference has errors at {old:,} times, less than the longest season of {longest:,}. Errors that "
            "differ with the season would look like drift. Take a longer reference, such as a back-test over a "
            "complete season."
        )
    return ""


def _times_with_errors(values: Floats) -> int:
    return int(np.isfinite(values).any(0).sum()) if values.size else 0
