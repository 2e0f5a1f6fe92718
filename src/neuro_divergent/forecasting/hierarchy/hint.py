"""HINT: any architecture, forecasting a hierarchy so that its parts add up."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.errors import InputError, NotFittedError, check_choice
from neuro_divergent.core.progress import following
from neuro_divergent.data.io.source import Backend, to_native
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.hierarchy.artifact import HintParts, pack_hint, unpack_hint
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy
from neuro_divergent.forecasting.hierarchy.joint_errors import JointErrors, Noise
from neuro_divergent.forecasting.hierarchy.nodes import aligned, by_cutoff, node_places, warn_incoherent
from neuro_divergent.forecasting.hierarchy.reconciliation import (
    METHODS,
    NEED_ERRORS,
    Method,
    Reconciliation,
    lacks_errors,
)
from neuro_divergent.forecasting.hierarchy.residuals import HierarchyResiduals
from neuro_divergent.forecasting.load import rebuilding
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.forecasting.predictor import WindowForecasts
from neuro_divergent.forecasting.prepared_data import backend_for, read_panel
from neuro_divergent.forecasting.run_config import own_settings
from neuro_divergent.forecasting.task import check_horizon
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles
from neuro_divergent.forecasting.uncertainty.simulation import paths_table
from neuro_divergent.forecasting.warm_start import InitialLike, fitted_before, load_initial
from neuro_divergent.forecasting.wrapper import ModelWrapper
from neuro_divergent.training.callbacks.base import CallbackLike

_PATHS = 1000


@dataclass(frozen=True, eq=False)
class _Base:
    """Base forecasts of the network, in the order of the nodes, and their reconciliation."""

    values: Floats  # (nodes, steps)
    reconciliation: Reconciliation
    index: dict[str, pl.Series]  # id and time columns, in the order of the panel
    places: Ints  # of the nodes in the panel
    backend: Backend

    def column(self, values: Floats) -> Floats:
        """Return values of ``(..., nodes, steps)`` in the order of the index."""
        order = np.argsort(self.places)
        return np.ascontiguousarray(values[..., order, :]).reshape(-1)


class HINT(ModelWrapper[Forecaster]):
    """Trains one forecaster on all nodes of a hierarchy, and makes what it forecasts add up.

    After Olivares et al., "HINT: Hierarchical Mixture Networks for Coherent Probabilistic Forecasting" (2023), for any
    architecture and any loss: the network forecasts every node, and its forecasts are brought onto the space where
    parts add up to their sums. Intervals come from sample paths that are made coherent one by one (Panagiotelis et al.,
    EJOR 2023). Where the paper draws them from a mixture that the network gives, here a path is the reconciled forecast
    plus the errors that reconciled forecasts of all nodes had in a past window that training did not see, so that
    their dependence is kept; it works for networks without a distribution, and the spread of those that have one
    is not used.

    Args:
        forecaster: What to train, or a trained one to ``calibrate``.
        hierarchy: Which series are sums of which.
        method: How forecasts are made to add up: ``bottom_up``, ``top_down``, ``mint_ols``, ``mint_structural``,
            ``mint_variance`` or ``mint_shrink``. The last two need a validation part; ``top_down`` takes proportions
            from the history that a forecast is made from.

    Examples:
        >>> import neuro_divergent as nd
        >>> shops = nd.datasets.Synthetic(num_series=2, length=80).frame()
        >>> hierarchy = nd.Hierarchy.from_columns(shops, [])
        >>> network = nd.Forecaster("nlinear", horizon=7, input_size=14, training=nd.TrainingConfig(max_steps=20))
        >>> hint = nd.HINT(network, hierarchy, method="mint_ols").fit(hierarchy.aggregate_table(shops))
        >>> values = hint.predict().pivot("unique_id", index="ds", values="forecast")
        >>> (values["series-0"] + values["series-1"] - values["total"]).abs().max() < 1e-3
        True
    """

    def __init__(self, forecaster: Forecaster, hierarchy: Hierarchy, method: Method = "mint_shrink") -> None:
        check_choice("reconciliation", method, METHODS)
        self.forecaster = forecaster
        self.hierarchy = hierarchy
        self.method = method
        self._is_measured = False
        self._residuals: HierarchyResiduals | None = None
        self._reconciliation: Reconciliation | None = None
        self._backend: Backend = "polars"

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        initial: InitialLike | None = None,
        progress: bool = False,
        **schema: Any,
    ) -> Self:
        """Train the forecaster on a table of all nodes, and measure its errors on the validation part.

        Args:
            data: As for ``Forecaster.fit``; its series are the nodes. ``Hierarchy.aggregate_table`` makes such a table.
            callbacks: Callbacks that receive the events of training.
            initial: Weights to start from, as for ``Forecaster.fit``.
            progress: Whether progress is shown, as inside of ``nd.show_progress()``.
            schema: Fields of ``Schema``, as for ``Forecaster.fit``.

        Raises:
            DataError: If the table cannot be used, or its series are not the nodes or end at different times.
            ConfigError: If the method needs a validation part and there is none.
        """
        if self.method in NEED_ERRORS and not self.forecaster.task.validation:
            raise lacks_errors(self.method)
        source = load_initial(initial)
        panel = read_panel(data, schema, fitted_before(source))
        warn_incoherent(panel, node_places(panel, self.hierarchy), self.hierarchy)
        with following(progress):
            self.forecaster.fit(panel, callbacks=callbacks, initial=source)
            self._measure(backend_for(data))
        return self

    def calibrate(self) -> Self:
        """Measure the errors of a forecaster that was trained on all nodes in this process, without training it.

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
        if self._is_measured:
            other._take(self._residuals, self._backend)
        return other

    def predict(
        self,
        data: Any = None,
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
            data: Series of all nodes to forecast, with the columns that training had; unset, those of training.
            future: Table of the covariates known ahead, for the horizon of every node.
            levels: Central intervals to give, in percent: ``[80, 95]``.
            quantiles: Quantiles to give, between 0 and 1: ``[0.1, 0.9]``; any, also of a quantile loss that has others.
            horizon: Steps to forecast; more than trained for are reached by feeding forecasts back as history.
            num_paths: Paths that intervals and quantiles are taken from.
            seed: Of the draw of paths.
            noise: Where paths come from: ``"bootstrap"`` adds whole past windows of errors, ``"normal"`` adds normal
                errors with their covariance, for when there are few windows.

        Returns:
            A table like that of ``Forecaster.predict``.
        """
        requested = RequestedQuantiles(levels, quantiles)
        check_horizon(horizon)
        base = self._base(data, future, horizon)
        columns: dict[str, Any] = {**base.index, "forecast": base.column(base.reconciliation.apply(base.values))}
        if wanted := requested.all:
            paths = self._paths(base.values, base.reconciliation, num_paths, seed, noise, wanted)
            found = np.quantile(paths, wanted, axis=0)
            columns |= {name: base.column(values) for name, values in zip(requested.columns, found, strict=True)}
        return to_native(columns, base.backend)

    def simulate(
        self,
        num_paths: int = _PATHS,
        *,
        data: Any = None,
        future: Any = None,
        seed: int = 0,
        noise: Noise = "bootstrap",
    ) -> Any:
        """Draw coherent sample paths: for each path and time, each sum is that of its parts.

        Args:
            num_paths: Paths to draw.
            data: As for ``predict``; likewise ``future``, ``seed`` and ``noise``.
            future: Table of the covariates known ahead.
            seed: Of the draw.
            noise: Where paths come from.

        Returns:
            A table of the same kind as the input: ``path`` (from 0), id, time, ``value``.
        """
        base, paths = self._sampled(num_paths, data, future, seed, noise)
        return paths_table(base.index, base.column(paths).reshape(num_paths, -1), base.backend)

    def sample(
        self,
        num_paths: int = _PATHS,
        *,
        data: Any = None,
        future: Any = None,
        seed: int = 0,
        noise: Noise = "bootstrap",
    ) -> Floats:
        """Return what ``simulate`` draws as an array ``(num_paths, nodes, horizon)``, nodes as in the hierarchy."""
        return self._sampled(num_paths, data, future, seed, noise)[1]

    def forecast_windows(
        self,
        windows: Windows,
        levels: Sequence[float] = (),
        quantiles: Sequence[float] = (),
        *,
        noise: Noise = "bootstrap",
    ) -> WindowForecasts:
        """Forecast many windows of a panel, coherently at each cut-off, together with the observed values.

        Args:
            windows: Windows of a panel whose series are the nodes; at every cut-off there is one of each node.
            levels: Central intervals to give, in percent.
            quantiles: Quantiles to give, between 0 and 1.
            noise: Where paths come from, as for ``predict``.

        Raises:
            InputError: If a node has no window at a cut-off of another, or if there are too few errors for a level.
        """
        requested = RequestedQuantiles(levels, quantiles)
        wanted = requested.all
        self._require_fitted()
        panel, found = windows.panel, self.forecaster.forecast_windows(windows)
        places = node_places(panel, self.hierarchy)
        ages, cutoff, base = by_cutoff(panel, found, found.point)
        missing = np.isnan(base).any((0, 2))
        if missing.any():
            raise InputError(
                f"node {panel.ids[int(missing.argmax())]!r} has no window at some cut-offs of others. Forecasts add up "
                "only at cut-offs that all nodes have: pass windows that begin at the same times."
            )
        made = np.empty((1 + len(wanted), *base.shape))
        for number, age in enumerate(ages.tolist()):
            reconciliation, values = self._reconciliation_at(panel, places, age), base[number, places]
            made[0, number, places] = reconciliation.apply(values)
            if wanted:
                paths = self._paths(values, reconciliation, _PATHS, 0, noise, wanted)
                made[1:, number, places] = np.quantile(paths, wanted, axis=0)
        point, *ends = made[:, cutoff, found.series]
        return dataclasses.replace(found, point=point, **requested.by_name(ends))

    def linear_map(self, quantiles: Sequence[float] = ()) -> tuple[Floats, Floats]:
        """Return what ``predict`` does with base forecasts, for reconciliations that do not depend on the history.

        Args:
            quantiles: Quantiles, between 0 and 1.

        Returns:
            The matrix from base forecasts to coherent ones, ``(nodes, nodes)``, and how far each quantile lies from
            the coherent forecast, ``(quantiles, nodes, horizon)``; nodes as in the hierarchy.

        Raises:
            InputError: With ``top_down``, or if there are too few errors for a quantile.
        """
        self._require_fitted()
        if self.method == "top_down" or self._reconciliation is None:
            raise InputError(
                "'top_down' splits the total by proportions of the history that a forecast is made from, so it is not "
                "one matrix. Choose another reconciliation: with_method('mint_structural') needs no training."
            )
        matrix = self.hierarchy.summing @ self._reconciliation.projection
        nodes, horizon = len(self.hierarchy.nodes), self.task.horizon
        if not quantiles:
            return matrix, np.zeros((0, nodes, horizon))
        paths = self._paths(np.zeros((nodes, horizon)), self._reconciliation, _PATHS, 0, "bootstrap", quantiles)
        return matrix, np.quantile(paths, quantiles, axis=0)

    def to_files(self, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
        self._require_fitted()
        parts = HintParts(self.forecaster, self.hierarchy, self.method, self._residuals, self._backend)
        return pack_hint(parts, context=context)

    @classmethod
    def from_files(cls, files: dict[str, bytes], place: str) -> Self:
        with rebuilding(place, "HINT"):
            parts = unpack_hint(files, place)
            hint = cls(parts.forecaster, parts.hierarchy, parts.method)
            hint._take(parts.residuals, parts.backend)
        return hint

    def clone(self) -> Self:
        """Return an unfitted copy with the same settings; fitted to the same data it gets the same weights."""
        return type(self)(self.forecaster.clone(), self.hierarchy, self.method)

    def with_settings(self, changes: Mapping[str, Any]) -> Self:
        """Return an unfitted copy with some settings changed.

        Args:
            changes: Values by dotted name, as for ``Forecaster.with_settings``, and ``hint.method``.

        Raises:
            ConfigError: If there is no such setting, with the closest that there is, or if a value is not valid.
        """
        own, rest = own_settings(changes, "hint", ("method",))
        return type(self)(self.forecaster.with_settings(rest), self.hierarchy, own.get("method", self.method))

    def __repr__(self) -> str:
        name, nodes = type(self).__name__, f"{len(self.hierarchy.nodes)} nodes"
        measured = "" if self.is_fitted or not self.forecaster.is_fitted else "not calibrated, "
        return f"{name}({self.method}, {nodes}, {measured}{self.forecaster!r})"

    def _repr_html_(self) -> str:
        from neuro_divergent.forecasting.display import hint_html

        return hint_html(self)

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""
        # Proportions of a total come from the history of each forecast, so they may not be known yet.
        return self._is_measured and (self._reconciliation is not None or self.method == "top_down")

    @property
    def holds(self) -> dict[str, str]:
        """What a saved copy contains that comes from the training data, by name; see ``save``."""
        if not self.is_fitted:
            return {}
        found = {**self.forecaster.holds, "hierarchy": f"names of {len(self.hierarchy.nodes):,} nodes"}
        if self._residuals is not None:
            drawn = self._residuals.stored_covariance is not None
            kind = "covariance of validation errors, and draws with it" if drawn else "validation errors"
            found["node_errors"] = f"{kind}, {len(self._residuals.errors.values):,} windows of all nodes"
        return found

    @property
    def errors(self) -> JointErrors | None:
        """Errors of the network on windows that training did not see, nodes as in the hierarchy; or there are none.

        Those of a HINT that was saved without context are draws with the same covariance.
        """
        return None if self._residuals is None else self._residuals.errors

    def _measure(self, backend: Backend) -> None:
        assert self.forecaster.panel is not None
        places = node_places(self.forecaster.panel, self.hierarchy)
        self._take(HierarchyResiduals.of(self.forecaster, self.hierarchy, places), backend)

    def _take(self, residuals: HierarchyResiduals | None, backend: Backend) -> None:
        """Accept residuals, and fit the reconciliation of forecasts that follow the end of training."""
        self._residuals, self._backend, self._is_measured = residuals, backend, True
        self._reconciliation = None
        context = self.forecaster.fitted.context
        if context.num_series or self.method != "top_down":
            self._reconciliation = self._reconciliation_after(context)

    def _reconciliation_after(self, context: Panel) -> Reconciliation:
        """Return the reconciliation of forecasts that follow a history; only that of ``top_down`` depends on it."""
        if self._reconciliation is not None and self.method != "top_down":
            return self._reconciliation
        history = None
        if context.num_series:
            values, seen = aligned(context, node_places(context, self.hierarchy))
            history = values[self.hierarchy.bottom_rows][:, seen]
        needed = self._residuals if self.method in NEED_ERRORS else None
        if needed is None and self.method in NEED_ERRORS:
            raise lacks_errors(self.method, self._too_short())
        covariance = None if needed is None else needed.covariance()
        return Reconciliation.fit(self.hierarchy, self.method, covariance=covariance, history=history)

    def _too_short(self) -> tuple[str, int] | None:
        """Return the name and rows of the shortest node, if some node has no validation window."""
        if self.forecaster.split is None:
            return None
        validation = self.forecaster.split.validation
        panel, counts = validation.panel, validation.counts
        if len(counts) != panel.num_series or counts.all() or not self.task.validation:
            return None
        lengths = panel.offsets[1:] - panel.first_observed
        shortest = int(lengths.argmin())
        return str(panel.ids[shortest]), int(lengths[shortest])

    def _reconciliation_at(self, panel: Panel, places: Ints, age: int) -> Reconciliation:
        """Return the reconciliation of forecasts that begin ``-age`` rows before the end of the series of a panel."""
        if self._reconciliation is not None and self.method != "top_down":
            return self._reconciliation
        values, seen = aligned(panel, places)
        begin = values.shape[1] + age
        rows = slice(begin - self.task.history, begin)
        history = values[self.hierarchy.bottom_rows, rows][:, seen[rows]]
        return Reconciliation.fit(self.hierarchy, self.method, history=history)

    def _require_fitted(self) -> None:
        if not self.is_fitted:
            raise NotFittedError("this HINT has not been trained: call fit(data) first, or load a saved one.")

    def _paths(
        self,
        values: Floats,
        reconciliation: Reconciliation,
        num_paths: int,
        seed: int,
        noise: Noise,
        wanted: Sequence[float] = (),
    ) -> Floats:
        """Return paths ``(num_paths, nodes, steps)`` enough of them for the requested quantiles."""
        if self._residuals is None:
            raise InputError(
                "paths need forecast errors of windows that training did not see, and there are none. Train with "
                "validation set to a fraction or a number of rows of at least one horizon."
            )
        steps, reach = values.shape[1], self._residuals.errors.values.shape[2]
        if steps > reach:
            raise InputError(
                f"paths reach {reach} steps, the horizon of training; {steps} were requested. Train with "
                f"horizon={steps}, or leave out levels and quantiles."
            )
        errors = self._residuals.after(reconciliation, self.method)
        errors.check_quantiles(wanted, noise)
        return reconciliation.apply(values) + errors.draw(num_paths, seed=seed, noise=noise)[:, :, :steps]

    def _sampled(self, num_paths: int, data: Any, future: Any, seed: int, noise: Noise) -> tuple[_Base, Floats]:
        base = self._base(data, future, None)
        return base, self._paths(base.values, base.reconciliation, num_paths, seed, noise)

    def _base(self, data: Any, future: Any, horizon: int | None) -> _Base:
        """Return the base forecasts of every node."""
        self._require_fitted()
        prediction = PredictionContext.of(self.forecaster.fitted, data, future=future, horizon=horizon)
        context = prediction.fitted.context
        places = node_places(context, self.hierarchy)
        table = dataclasses.replace(prediction, backend="polars").table()
        values = table["forecast"].to_numpy().astype(np.float64).reshape(len(places), prediction.steps)
        backend = self._backend if data is None else prediction.backend
        return _Base(values[places], self._reconciliation_after(context), prediction.index, places, backend)
