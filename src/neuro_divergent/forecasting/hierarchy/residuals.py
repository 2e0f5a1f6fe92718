"""Residuals of a forecaster on all nodes of a hierarchy, on windows that training did not see."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy
from neuro_divergent.forecasting.hierarchy.joint_errors import JointErrors
from neuro_divergent.forecasting.hierarchy.nodes import aligned, by_cutoff
from neuro_divergent.forecasting.hierarchy.reconciliation import Method, Reconciliation

_MOST = 500  # windows that are kept, the latest ones


@dataclass(frozen=True, eq=False)
class HierarchyResiduals:
    """Errors of past windows, each of all nodes at once.

    Attributes:
        errors: Observed minus forecast values, ``(windows, nodes, horizon)``.
        splits: Observed values minus the observed total split by the proportions of the history, ``(windows, bottom,
            horizon)``: the errors of top-down even if it knows the total. ``None`` if there is no total.
        stored_covariance: Covariance of the errors that ``errors`` were drawn with; ``None`` where they were measured.
    """

    errors: JointErrors
    splits: Floats | None
    stored_covariance: Floats | None = None

    @classmethod
    def of(cls, forecaster: Forecaster, hierarchy: Hierarchy, places: Ints) -> HierarchyResiduals | None:
        """Measure a forecaster, trained in this process, on its validation part.

        Args:
            forecaster: The forecaster, whose series all end at the same time.
            hierarchy: Which of them are sums of which.
            places: Place in its panel of each node.

        Returns:
            The latest 500 windows, one row apart, in which every node was observed, or ``None`` if there are none.
        """
        assert forecaster.split is not None
        windows = forecaster.split.validation
        latest = windows.ends - (_MOST + windows.horizon - 1)
        windows = dataclasses.replace(windows, step=1, begins=np.maximum(windows.begins, latest))
        if not len(windows):
            return None
        found = forecaster.validated.forecast_windows(windows)
        missed = np.where(found.observed, found.actual.astype(np.float64) - found.point, np.nan)
        ages, _, values = by_cutoff(windows.panel, found, missed)
        complete = ~np.isnan(values).any((1, 2))
        if not complete.any():
            return None
        # One layout, whether measured or read from a file, so that sums over it are the same to the last bit.
        errors = JointErrors(np.ascontiguousarray(values[complete][:, places]))
        past, seen = aligned(windows.panel, places)
        begins = past.shape[1] + ages[complete]
        return cls(errors, _splits(hierarchy, past, seen, begins, windows.input_size, windows.horizon))

    def covariance(self) -> Floats:
        """Return the covariance ``(nodes, nodes)`` of the measured errors, as ``JointErrors.covariance`` does."""
        return self.errors.covariance() if self.stored_covariance is None else self.stored_covariance

    def summarized(self) -> HierarchyResiduals:
        """Return the covariance, and as many draws from a normal distribution in place of the measured errors."""
        if self.stored_covariance is not None:
            return self
        measured = self.errors.values
        both = measured if self.splits is None else np.concatenate([measured, self.splits], axis=1)
        drawn = JointErrors(both).draw(len(both), seed=0, noise="normal")
        errors, splits = np.split(drawn, [measured.shape[1]], axis=1)
        return HierarchyResiduals(
            JointErrors(np.ascontiguousarray(errors)),
            None if self.splits is None else np.ascontiguousarray(splits),
            self.covariance(),
        )

    def after(self, reconciliation: Reconciliation, method: Method) -> JointErrors:
        """Return the errors that forecasts reconciled in this way had, if the data add up; the errors do so anyway."""
        errors = reconciliation.apply(self.errors.values)
        if method == "top_down":
            assert self.splits is not None
            errors = errors + reconciliation.hierarchy.aggregate(self.splits)
        return JointErrors(errors)


def _splits(
    hierarchy: Hierarchy,
    past: Floats,
    seen: Bools,
    begins: Ints,
    input_size: int,
    horizon: int,
) -> Floats | None:
    if hierarchy.total_row is None:
        return None
    bottom = past[hierarchy.bottom_rows]
    sums = np.pad(np.cumsum(bottom * seen, axis=1), ((0, 0), (1, 0)))
    history = sums[:, begins] - sums[:, begins - input_size]
    total = history.sum(0)
    proportions = np.divide(history, total, out=np.zeros_like(history), where=total != 0)
    steps = begins[:, None] + np.arange(horizon)
    missed = bottom[:, steps] - proportions[:, :, None] * past[hierarchy.total_row, steps]
    return np.ascontiguousarray(missed.transpose(1, 0, 2))
