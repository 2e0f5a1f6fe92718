"""HINT: any architecture, forecasting a hierarchy so that its parts add up."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from neuro_divergent.core.errors import DataError, DataWarning, InputError, NotFittedError
from neuro_divergent.data.cleaning.calendar import show, show_time
from neuro_divergent.data.io.source import Backend, backend_of, to_native
from neuro_divergent.data.io.table import describe
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.hierarchy.artifact import HintParts, reading_hint, save_hint
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy, Matrix, refuse_strangers
from neuro_divergent.forecasting.hierarchy.joint_errors import JointErrors, Noise
from neuro_divergent.forecasting.hierarchy.reconciliation import (
    NEED_ERRORS,
    Method,
    Reconciliation,
    check_method,
    lacks_errors,
)
from neuro_divergent.forecasting.hierarchy.residuals import HierarchyResiduals, aligned
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.forecasting.predictor import interval_quantiles
from neuro_divergent.forecasting.uncertainty.intervals import check_levels, check_quantiles
from neuro_divergent.training.callbacks.base import CallbackLike

_PATHS = 1000
_TOLERANCE = 1e-3  # of the mean size of a node; tables of rounded numbers are not warned about


@dataclass(frozen=True, eq=False)
class _Base:
    """Forecasts of the network as they are, in the order of the nodes, and what will make them add up."""

    values: Matrix  # (nodes, steps)
    reconciliation: Reconciliation
    index: dict[str, pl.Series]  # id and time columns, in the order of the panel
    places: NDArray[np.int64]  # of the nodes in the panel
    backend: Backend

    def column(self, values: Matrix) -> NDArray[np.float64]:
        """Lay values of ``(..., nodes, steps)`` out like the index."""
        order = np.argsort(self.places)
        return np.ascontiguousarray(values[..., order, :]).reshape(-1)


class HINT:
    """Trains one forecaster on all nodes of a hierarchy, and makes what it forecasts add up.

    After Olivares et al., "HINT: Hierarchical Mixture Networks for Coherent Probabilistic Forecasting" (2023), for any
    architecture and any loss: the network forecasts every node, and its forecasts are brought onto the space where
    parts add up to their sums. Intervals come from sample paths that are made coherent one by one (Panagiotelis et al.,
    EJOR 2023). Where the paper draws them from a mixture that the network gives, here a path is the reconciled forecast
    plus the errors that reconciled forecasts of all nodes had in a past window that training did not see, so that nodes
    miss together as they did then; it works for networks without a distribution, and the spread of those that have one
    is not used.

    Args:
        forecaster: What to train, or a trained one to ``calibrate``.
        hierarchy: Which series are sums of which.
        method: How forecasts are made to add up: ``bottom_up``, ``top_down``, ``mint_ols``, ``mint_structural``,
            ``mint_variance`` or ``mint_shrink``. The last two need a validation part; ``top_down`` takes shares from
            the history that a forecast is made from.
    """

    def __init__(self, forecaster: Forecaster, hierarchy: Hierarchy, method: Method = "mint_shrink") -> None:
        check_method(method)
        self.forecaster = forecaster
        self.hierarchy = hierarchy
        self.method = method
        self._measured = False
        self._measurement: HierarchyResiduals | None = None
        self._reconciliation: Reconciliation | None = None
        self._backend: Backend = "polars"

    def fit(self, data: Any, *, callbacks: Sequence[CallbackLike] = (), **schema: Any) -> Self:
        """Train the forecaster on a table of all nodes, and measure how it misses them.

        Args:
            data: As for ``Forecaster.fit``; its series are the nodes. ``Hierarchy.aggregate_table`` makes such a table.
            callbacks: What else to do at the events of training.
            schema: Fields of ``Schema``, as for ``Forecaster.fit``.

        Raises:
            DataError: If the table cannot be used, or its series are not the nodes or end at different times.
            ConfigError: If the method needs a validation part and there is none.
        """
        if self.method in NEED_ERRORS and not self.forecaster.task.validation:
            raise lacks_errors(self.method)
        panel = data if isinstance(data, Panel) else load_panel(data, Schema(**schema))
        _warn_incoherent(panel, self._places(panel), self.hierarchy)
        self.forecaster.fit(panel, callbacks=callbacks)
        self._measure("polars" if isinstance(data, Panel) else backend_of(data))
        return self

    def calibrate(self) -> Self:
        """Measure how a forecaster that was trained on all nodes in this process misses them, without training it.

        Raises:
            NotFittedError: If it was not trained, or was loaded from a file, which holds no validation part.
        """
        if self.forecaster.panel is None:
            raise NotFittedError(
                "this forecaster has no data to be measured on: call fit(data), or load what HINT.save wrote."
            )
        self._measure(self.forecaster.fitted.backend)
        return self

    def with_method(self, method: Method) -> HINT:
        """Return the same trained forecaster with another reconciliation; nothing is trained or measured again."""
        other = HINT(self.forecaster, self.hierarchy, method)
        if self._measured:
            other._take(self._measurement, self._backend)
        return other

    def predict(
        self,
        df: Any = None,
        *,
        future: Any = None,
        levels: Sequence[float] = (),
        quantiles: Sequence[float] = (),
        horizon: int | None = None,
        num_paths: int = _PATHS,
        seed: int = 0,
        noise: Noise = "bootstrap",
    ) -> Any:
        """Forecast what comes after the end of each node.

        Points add up, to the precision of 64-bit numbers. Intervals and quantiles are those of paths that add up;
        quantiles of sums are not sums of quantiles, and so they do not.

        Args:
            df: Series of all nodes to forecast, with the columns that training had; unset, those of training.
            future: Table of the covariates known ahead, for the horizon of every node.
            levels: Central intervals to give, in percent: ``[80, 95]``.
            quantiles: Quantiles to give, as shares: ``[0.1, 0.9]``; any, also of a quantile loss that has others.
            horizon: Steps to forecast; more than trained for are reached by feeding forecasts back as history.
            num_paths: Paths that intervals and quantiles are taken from.
            seed: Of the draw of paths.
            noise: Where paths come from: ``"bootstrap"`` adds whole past windows of errors, ``"normal"`` adds normal
                errors with their covariance, for when there are few windows.

        Returns:
            A table like that of ``Forecaster.predict``.
        """
        if levels:
            check_levels(tuple(levels))
        if quantiles:
            check_quantiles(tuple(quantiles))
        if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 1):
            raise InputError(f"horizon: {horizon!r} must be an integer of at least 1.")
        base = self._base(df, future, horizon)
        columns: dict[str, Any] = {**base.index, "forecast": base.column(base.reconciliation.apply(base.values))}
        wanted = [*(share for level in levels for share in interval_quantiles(level)), *quantiles]
        if wanted:
            names = [f"{end}-{level:g}" for level in levels for end in ("lo", "hi")]
            names += [f"q-{share:g}" for share in quantiles]
            found = np.quantile(self._paths(base, num_paths, seed, noise, wanted), wanted, axis=0)
            columns |= {name: base.column(values) for name, values in zip(names, found, strict=True)}
        return to_native(columns, base.backend)

    def simulate(
        self,
        num_paths: int = _PATHS,
        *,
        df: Any = None,
        future: Any = None,
        seed: int = 0,
        noise: Noise = "bootstrap",
    ) -> Any:
        """Draw futures in which everything adds up: for each path and time, each sum is that of its parts.

        Args:
            num_paths: Futures to draw.
            df: As for ``predict``; likewise ``future``, ``seed`` and ``noise``.
            future: Table of the covariates known ahead.
            seed: Of the draw.
            noise: Where paths come from.

        Returns:
            A table of the kind that came in: ``path`` (from 0), id, time, ``value``.
        """
        base = self._base(df, future, None)
        paths = self._paths(base, num_paths, seed, noise)
        rows = base.values.size
        repeat = np.tile(np.arange(rows), num_paths)
        columns: dict[str, Any] = {"path": np.repeat(np.arange(num_paths), rows)}
        columns |= {name: values.gather(repeat) for name, values in base.index.items()}
        return to_native({**columns, "value": base.column(paths)}, base.backend)

    def sample(
        self,
        num_paths: int = _PATHS,
        *,
        df: Any = None,
        future: Any = None,
        seed: int = 0,
        noise: Noise = "bootstrap",
    ) -> Matrix:
        """Return what ``simulate`` draws as an array ``(num_paths, nodes, horizon)``, nodes as in the hierarchy."""
        return self._paths(self._base(df, future, None), num_paths, seed, noise)

    def save(self, path: str | Path) -> None:
        """Write network, hierarchy and measured errors to a directory, complete or not at all."""
        self._fitted()
        save_hint(Path(path), HintParts(self.forecaster, self.hierarchy, self.method, self._measurement, self._backend))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote. Nothing in the directory is ever executed.

        Raises:
            UntrustedFileError: If it is something else, was altered, or was written by a newer version.
        """
        with reading_hint(Path(path)) as parts:
            hint = cls(parts.forecaster, parts.hierarchy, parts.method)
            hint._take(parts.measurement, parts.backend)
        return hint

    @property
    def errors(self) -> JointErrors | None:
        """Errors of the network on windows that training did not see, nodes as in the hierarchy; or there are none."""
        return None if self._measurement is None else self._measurement.errors

    def _measure(self, backend: Backend) -> None:
        assert self.forecaster.panel is not None
        places = self._places(self.forecaster.panel)
        self._take(HierarchyResiduals.of(self.forecaster, self.hierarchy, places), backend)

    def _take(self, measurement: HierarchyResiduals | None, backend: Backend) -> None:
        """Accept what was measured, and work out how to make forecasts add up that follow the end of training."""
        self._measurement, self._backend, self._measured = measurement, backend, True
        self._reconciliation = None
        self._reconciliation = self._reconciliation_after(self.forecaster.fitted.context)

    def _reconciliation_after(self, context: Panel) -> Reconciliation:
        """Return how to make forecasts add up that follow a history; only shares of a total depend on it."""
        if self._reconciliation is not None and self.method != "top_down":
            return self._reconciliation
        values, seen = aligned(context, self._places(context))
        needed = self.errors if self.method in NEED_ERRORS else None
        return Reconciliation.fit(
            self.hierarchy,
            self.method,
            covariance=None if needed is None else needed.covariance(),
            history=values[self.hierarchy.bottom_rows][:, seen],
        )

    def _fitted(self) -> Reconciliation:
        if self._reconciliation is None:
            raise NotFittedError("this HINT has not been trained: call fit(data) first, or load a saved one.")
        return self._reconciliation

    def _paths(self, base: _Base, num_paths: int, seed: int, noise: Noise, wanted: Sequence[float] = ()) -> Matrix:
        """Return paths ``(num_paths, nodes, steps)`` that can tell the quantiles that are wanted of them."""
        if self._measurement is None:
            raise InputError(
                "paths need forecast errors of windows that training did not see, and there are none. Train with "
                "validation set to a share or a number of rows of at least one horizon."
            )
        steps, reach = base.values.shape[1], self._measurement.errors.values.shape[2]
        if steps > reach:
            raise InputError(
                f"paths reach {reach} steps, the horizon of training; {steps} were asked for. Train with "
                f"horizon={steps}, or leave out levels and quantiles."
            )
        errors = self._measurement.after(base.reconciliation, self.method)
        errors.check_quantiles(wanted, noise)
        return base.reconciliation.apply(base.values) + errors.draw(num_paths, seed=seed, noise=noise)[:, :, :steps]

    def _base(self, df: Any, future: Any, horizon: int | None) -> _Base:
        """Let the network forecast every node."""
        self._fitted()
        outlook = PredictionContext.of(self.forecaster.fitted, df, future=future, horizon=horizon)
        context = outlook.fitted.context
        places = self._places(context)
        table = dataclasses.replace(outlook, backend="polars").table((), ())
        values = table["forecast"].to_numpy().astype(np.float64).reshape(len(places), outlook.steps)
        backend = self._backend if df is None else outlook.backend
        return _Base(values[places], self._reconciliation_after(context), outlook.index, places, backend)

    def _places(self, panel: Panel) -> NDArray[np.int64]:
        """Return the place of each node in a panel.

        Raises:
            DataError: If its series are not the nodes, or do not all end at the same time.
        """
        names = panel.ids.cast(pl.String).to_list()
        refuse_strangers(names, self.hierarchy.nodes, "node", panel.source)
        ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
        if ends.n_unique() > 1:
            other = int(np.flatnonzero((ends != ends[0]).to_numpy())[0])
            spans = [f"{show(panel.ids[place])} ends at {show_time(ends, place)}" for place in (0, other)]
            raise DataError(
                describe(panel.source, f"nodes must end at the same time to add up: {spans[0]}, but {spans[1]}.")
            )
        places = {name: place for place, name in enumerate(names)}
        return np.array([places[name] for name in self.hierarchy.nodes], dtype=np.int64)


def _warn_incoherent(panel: Panel, places: NDArray[np.int64], hierarchy: Hierarchy) -> None:
    """Warn about a table that does not add up itself, which speaks for another hierarchy."""
    values, seen = aligned(panel, places)
    values = values[:, seen]
    if not values.size:
        return
    apart = np.abs(hierarchy.aggregate(values[hierarchy.bottom_rows]) - values).max(1)
    shares = apart / np.maximum(np.abs(values).mean(1), np.finfo(np.float32).tiny)
    worst = int(shares.argmax())
    if shares[worst] > _TOLERANCE:
        warnings.warn(
            f"node {hierarchy.nodes[worst]!r} differs from the sum of its parts by up to {apart[worst]:.3g}, "
            f"{shares[worst]:.1%} of its mean size. Is this the hierarchy of the table?",
            DataWarning,
            stacklevel=3,
        )
