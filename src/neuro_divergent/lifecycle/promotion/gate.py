"""The gate: whether a challenger does well enough on held-out data to go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import InputError
from neuro_divergent.lifecycle.promotion.decision import Check, GateDecision

if TYPE_CHECKING:
    import polars as pl


class Gate(Config):
    """Conditions that a challenger must meet on held-out forecasts.

    Attributes:
        rule: ``no_worse`` lets a challenger pass unless it is significantly worse than the champion, because the shadow
            test that follows proves that it is better. ``better`` asks for a significant gain right away; use it where
            no shadow test follows.
        alpha: Significance level of the one-sided test of Diebold and Mariano.
        max_group_loss: How much worse than the champion any declared group may be, as a fraction.
        coverage_tolerance: How far the coverage of an interval may be from its level, as a fraction, beyond what chance
            makes of it at this number of origins, unless that of the champion is at least as far off; ``None`` does not
            look at intervals.
        levels: Levels of the intervals to look at, in percent; ``None``, those that the challenger has.
        if_unjudged: What happens if a check cannot be judged: ``fail`` keeps the champion, ``pass`` ignores the check.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = nd.datasets.Synthetic(num_series=4, length=200, frequency=1).frame()
        >>> model = nd.Statistical("seasonal_naive", horizon=7, season_length=7, test=70).fit(table)
        >>> champion = nd.evaluate(model).forecasts
        >>> gate = nd.lifecycle.Gate(coverage_tolerance=None)
        >>> gate.evaluate(champion, champion).passed
        True
        >>> gate.evaluate(champion, champion.with_columns(pl.col("forecast") + 20)).passed
        False
    """

    rule: Literal["no_worse", "better"] = "no_worse"
    alpha: float = Field(0.05, gt=0, lt=0.5)
    max_group_loss: float = Field(0.02, ge=0)
    coverage_tolerance: float | None = Field(0.03, gt=0, lt=1)
    levels: tuple[float, ...] | None = None
    if_unjudged: Literal["fail", "pass"] = "fail"

    def evaluate(
        self,
        champion: pl.DataFrame | None,
        challenger: pl.DataFrame,
        *,
        horizon: int | None = None,
        groups: Mapping[Any, str] | None = None,
        scales: Mapping[Any, float] | None = None,
        id: str | None = None,  # noqa: A002 (as in a schema)
        time: str = "ds",
    ) -> GateDecision:
        """Judge a challenger by its held-out forecasts.

        Args:
            champion: Forecasts of the champion for the same windows, as ``evaluate(...).forecasts`` has them; ``None``
                if there is no champion: then only the naive forecast and the intervals count.
            challenger: Forecasts of the challenger, likewise; observed values and baselines come from this table.
            horizon: Steps of a forecast; unset, the last step in the table.
            groups: Group of each series, by id; a series without one belongs to none.
            scales: What the errors of each series are divided by, usually ``series_scales(history)``; unset, its mean
                error with the seasonal naive forecast on these windows, or its mean absolute value where that is 0.
            id: Column of ids; unset, ``unique_id``.
            time: Column of times.

        Raises:
            DataError: If a column is missing, or the tables have no window in common.
        """
        # Settings are read by commands that answer before these are loaded.
        from neuro_divergent.lifecycle.promotion import gate_checks
        from neuro_divergent.lifecycle.promotion.held_out import HeldOut, find_id

        held_out = HeldOut.of(champion, challenger, scales=scales, id=find_id(challenger, id), time=time)
        steps = int(challenger["step"].max()) if horizon is None else horizon  # type: ignore[arg-type]
        if steps < 1:
            raise InputError(f"horizon: {steps} must be at least 1.")
        checks = [gate_checks.check_finite(challenger)]
        if champion is not None:
            checks.append(gate_checks.check_accuracy(held_out, steps, rule=self.rule, alpha=self.alpha))
        checks.append(gate_checks.check_naive(held_out))
        if champion is not None and groups is not None:
            checks.append(gate_checks.check_groups(held_out, groups, max_loss=self.max_group_loss))
        if self.coverage_tolerance is not None:
            checks += gate_checks.check_coverage(
                champion, challenger, tolerance=self.coverage_tolerance, levels=self.levels
            )
        return self._decide(tuple(checks))

    def _decide(self, checks: tuple[Check, ...]) -> GateDecision:
        failed = [check for check in checks if check.passed is False]
        unjudged = [check for check in checks if check.passed is None]
        stopping = failed + (unjudged if self.if_unjudged == "fail" else [])
        verdict = "The challenger does not pass; the champion stays." if stopping else "The challenger passes."
        reasons = " ".join(check.sentence for check in stopping or checks)
        return GateDecision(not stopping, checks, f"{verdict} {reasons}", self.rule)
