"""Forecasts that add up: reconciling the series of a hierarchy.

The last step of HINT (Olivares et al., "HINT: Hierarchical Mixture Networks for Coherent Probabilistic Forecasting",
2023), for any architecture: train one model on all nodes, then bring its forecasts onto the space where parts add up to
their sums. A ``Hierarchy`` knows which nodes are sums of which; a ``Reconciliation`` is a matrix ``P`` from forecasts
of all nodes to forecasts of the bottom ones, so that ``S P`` makes any forecast, or any sampled path, coherent.

- ``bottom_up``: forget the forecasts of sums.
- ``top_down``: split the forecast of the total by the shares that bottom series had in the past.
- ``mint``: minimum trace (Wickramasuriya et al., JASA 2019), the coherent forecast of least error variance, for a
  covariance of the errors that is the identity (``ols``), the number of bottom series below a node (``structural``),
  the variance of each node (``variance``), or the covariance shrunk towards it (``shrink``; Schaefer and
  Strimmer, 2005).

Coherent intervals come from sample paths: each path is made coherent and quantiles are taken afterwards (Panagiotelis
et al., EJOR 2023). Paths of a model without a distribution are its forecast plus errors of past windows, whole windows
at a time over all nodes, so that what goes together in the errors goes together in the paths.

Shapes: forecasts are ``(nodes, horizon)``; paths and errors of past windows have one more axis in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from neuro_divergent.core.errors import ConfigError, DataError

Matrix = NDArray[np.float64]
Method = Literal["bottom_up", "top_down", "ols", "structural", "variance", "shrink"]
METHODS: tuple[Method, ...] = ("bottom_up", "top_down", "ols", "structural", "variance", "shrink")


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Which series are sums of which.

    Attributes:
        nodes: All series, in the order of the rows of ``summing``.
        bottom: The series that are no sums, in the order of its columns.
        summing: The matrix ``S``, ``(nodes, bottom)``: a node is that sum of bottom series.
    """

    nodes: tuple[str, ...]
    bottom: tuple[str, ...]
    summing: Matrix

    def __post_init__(self) -> None:
        """Check that every bottom series is itself a node.

        Raises:
            DataError: If the matrix does not fit the names, or a bottom series is no node of its own.
        """
        if self.summing.shape != (len(self.nodes), len(self.bottom)):
            raise DataError(
                f"the summing matrix is {self.summing.shape[0]} x {self.summing.shape[1]}; {len(self.nodes)} nodes and "
                f"{len(self.bottom)} bottom series were named."
            )
        places = {name: place for place, name in enumerate(self.nodes)}
        for column, name in enumerate(self.bottom):
            row = self.summing[places[name]] if name in places else np.zeros(len(self.bottom))
            if row[column] != 1 or np.count_nonzero(row) != 1:
                raise DataError(f"bottom series {name!r} must be a node that is the sum of itself alone.")

    @classmethod
    def from_entries(cls, nodes: Sequence[str], bottom: Sequence[str], weights: Sequence[float]) -> Hierarchy:
        """Build a hierarchy from the entries of its matrix that are not zero, row name, column name and weight each."""
        all_nodes, all_bottom = tuple(dict.fromkeys(nodes)), tuple(dict.fromkeys(bottom))
        rows = {name: place for place, name in enumerate(all_nodes)}
        columns = {name: place for place, name in enumerate(all_bottom)}
        summing = np.zeros((len(rows), len(columns)))
        for node, part, weight in zip(nodes, bottom, weights, strict=True):
            summing[rows[node], columns[part]] = weight
        return cls(all_nodes, all_bottom, summing)

    @property
    def bottom_rows(self) -> NDArray[np.int64]:
        """Places of the bottom series among the nodes."""
        places = {name: place for place, name in enumerate(self.nodes)}
        return np.array([places[name] for name in self.bottom], dtype=np.int64)

    def aggregate(self, bottom: NDArray[Any]) -> Matrix:
        """Return values of all nodes ``(..., nodes, horizon)`` for values of the bottom ``(..., bottom, horizon)``."""
        total: Matrix = self.summing @ bottom
        return total

    def incoherence(self, values: NDArray[Any]) -> float:
        """Return the largest difference between a node and the sum of its parts, in ``(..., nodes, horizon)``."""
        return float(np.abs(self.aggregate(values[..., self.bottom_rows, :]) - values).max())


@dataclass(frozen=True, eq=False)
class Reconciliation:
    """A way to make forecasts of a hierarchy coherent.

    Attributes:
        hierarchy: The hierarchy.
        projection: The matrix ``P``, ``(bottom, nodes)``: bottom forecasts from those of all nodes.
    """

    hierarchy: Hierarchy
    projection: Matrix

    @classmethod
    def fit(
        cls, hierarchy: Hierarchy, method: Method, *, errors: Matrix | None = None, history: Matrix | None = None
    ) -> Reconciliation:
        """Work out the matrix of a method.

        Args:
            hierarchy: The hierarchy.
            method: One of ``METHODS``.
            errors: Forecast errors ``(cases, nodes)`` on data that the model was not trained on, for ``variance`` and
                ``shrink``.
            history: Past values ``(steps, bottom)`` that ``top_down`` takes shares from.

        Raises:
            ConfigError: If there is no such method, or it lacks what it needs.
        """
        if method not in METHODS:
            raise ConfigError(f"there is no reconciliation {method!r}. Known: {', '.join(METHODS)}.")
        if method == "bottom_up":
            return cls(hierarchy, np.eye(len(hierarchy.nodes))[hierarchy.bottom_rows])
        if method == "top_down":
            return cls(hierarchy, _top_down(hierarchy, _need(history, method, "history")))
        if method == "ols":
            covariance = np.eye(len(hierarchy.nodes))
        elif method == "structural":
            covariance = np.diag(np.abs(hierarchy.summing).sum(1))
        else:
            cases = _need(errors, method, "errors")
            covariance = np.diag(_variances(cases)) if method == "variance" else shrunk_covariance(cases)
        return cls(hierarchy, _minimum_trace(hierarchy.summing, covariance))

    def apply(self, values: NDArray[Any]) -> Matrix:
        """Return coherent values for point forecasts or sample paths ``(..., nodes, horizon)``."""
        return self.hierarchy.aggregate(self.projection @ values)

    def covariance(self, covariance: Matrix) -> Matrix:
        """Return the covariance ``(nodes, nodes)`` of coherent forecasts whose base forecasts had the given one."""
        matrix = self.hierarchy.summing @ self.projection
        result: Matrix = matrix @ covariance @ matrix.T
        return result

    def quantiles(self, paths: NDArray[Any], levels: Sequence[float]) -> Matrix:
        """Return quantiles ``(levels, nodes, horizon)`` of paths that are made coherent one by one."""
        result: Matrix = np.quantile(self.apply(paths), levels, axis=0)
        return result


def error_paths(point: NDArray[Any], errors: NDArray[Any]) -> Matrix:
    """Return paths ``(windows, nodes, horizon)``: a forecast that misses as it missed in each of the past windows."""
    paths: Matrix = point + errors
    return paths


def shrunk_covariance(errors: Matrix) -> Matrix:
    """Return the covariance of ``(cases, nodes)`` with its correlations shrunk towards none.

    The share of shrinkage minimises the expected squared error (Schaefer and Strimmer, 2005); errors count around zero,
    so a bias is part of them.
    """
    variances = _variances(errors)
    scaled = errors / np.sqrt(variances)
    cases = len(errors)
    correlation = scaled.T @ scaled / cases
    products = scaled[:, :, None] * scaled[:, None, :]
    noise = products.var(0, ddof=1) / cases
    apart = ~np.eye(errors.shape[1], dtype=bool)
    signal = np.square(correlation[apart]).sum()
    share = 1.0 if signal == 0 else float(np.clip(noise[apart].sum() / signal, 0, 1))
    shrunk = np.where(apart, (1 - share) * correlation, 1.0)
    result: Matrix = shrunk * np.sqrt(np.outer(variances, variances))
    return result


def _variances(errors: Matrix) -> Matrix:
    """Return the mean square of each node; one that never missed counts as nearly, not infinitely, certain."""
    variances = np.square(errors).mean(0)
    largest = float(variances.max())
    result: Matrix = np.maximum(variances, 1e-8 * (largest if largest > 0 else 1.0))
    return result


def _minimum_trace(summing: Matrix, covariance: Matrix) -> Matrix:
    """Return ``(S' W^-1 S)^-1 S' W^-1`` by solving, without an inverse."""
    weighted = np.linalg.solve(covariance, summing).T
    result: Matrix = np.linalg.solve(weighted @ summing, weighted)
    return result


def _top_down(hierarchy: Hierarchy, history: Matrix) -> Matrix:
    """Split the node that sums up every bottom series by the shares they had of it."""
    totals = np.flatnonzero((hierarchy.summing == 1).all(1))
    if not len(totals):
        raise ConfigError("top_down needs a node that is the sum of all bottom series; the hierarchy has none.")
    shares = history.sum(0) / history.sum()
    projection = np.zeros((len(hierarchy.bottom), len(hierarchy.nodes)))
    projection[:, totals[0]] = shares
    return projection


def _need(given: Matrix | None, method: str, name: str) -> Matrix:
    if given is None or not len(given):
        raise ConfigError(f"the reconciliation {method!r} needs {name}; pass {name}=.")
    return given
