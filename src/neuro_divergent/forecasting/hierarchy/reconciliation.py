"""Reconciliation: makes forecasts of a hierarchy add up.

A reconciliation is a matrix ``P`` from forecasts of all nodes of a hierarchy to forecasts of the bottom ones, so that
``S P`` makes any forecast, or any sampled path, coherent.

- ``bottom_up``: ignore the forecasts of sums.
- ``top_down``: split the forecast of the total by the proportions of bottom series in the past (Gross and Sohl, 1990).
- ``mint_*``: minimum trace (Wickramasuriya et al., JASA 2019), the coherent forecast of least error variance among
  those that leave coherent forecasts alone, for a covariance of the errors that is the identity (``mint_ols``), the
  number of bottom series below a node (``mint_structural``), the variance of each node (``mint_variance``), or the
  whole covariance, shrunk (``mint_shrink``).

Shapes: forecasts are ``(nodes, horizon)``; paths have one more axis in front.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.core.errors import ConfigError, check_choice
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy

Method = Literal["bottom_up", "top_down", "mint_ols", "mint_structural", "mint_variance", "mint_shrink"]
METHODS: tuple[Method, ...] = get_args(Method)
NEED_ERRORS: tuple[Method, ...] = ("mint_variance", "mint_shrink")


@dataclass(frozen=True, eq=False)
class Reconciliation:
    """A way to make forecasts of a hierarchy coherent.

    Attributes:
        hierarchy: The hierarchy.
        projection: The matrix ``P``, ``(bottom, nodes)``: bottom forecasts from those of all nodes.
    """

    hierarchy: Hierarchy
    projection: Floats

    @classmethod
    def fit(
        cls, hierarchy: Hierarchy, method: Method, *, covariance: Floats | None = None, history: Floats | None = None
    ) -> Reconciliation:
        """Compute the matrix of a method.

        Args:
            hierarchy: The hierarchy.
            method: One of ``METHODS``.
            covariance: Of forecast errors, ``(nodes, nodes)``, positive definite, for ``mint_variance`` (its diagonal)
                and ``mint_shrink``.
            history: Past values ``(bottom, steps)`` that ``top_down`` takes proportions from.

        Raises:
            ConfigError: If there is no such method, or it lacks what it needs.
        """
        check_choice("reconciliation", method, METHODS)
        summing = hierarchy.summing
        if method == "bottom_up":
            return cls(hierarchy, np.eye(len(hierarchy.nodes))[hierarchy.bottom_rows])
        if method == "top_down":
            return cls(hierarchy, _top_down(hierarchy, history))
        if method == "mint_ols":
            return cls(hierarchy, _minimum_trace(summing, summing))
        if method == "mint_structural":
            return cls(hierarchy, _minimum_trace(summing, summing / np.abs(summing).sum(1)[:, None]))
        if covariance is None:
            raise lacks_errors(method)
        if method == "mint_variance":
            return cls(hierarchy, _minimum_trace(summing, summing / np.diag(covariance)[:, None]))
        return cls(hierarchy, _minimum_trace(summing, np.linalg.solve(covariance, summing).astype(np.float64)))

    def apply(self, values: Array) -> Floats:
        """Return coherent values for point forecasts or sample paths ``(..., nodes, horizon)``."""
        return self.hierarchy.aggregate(self.projection @ values)

    def covariance(self, covariance: Floats) -> Floats:
        """Return the covariance ``(nodes, nodes)`` of coherent forecasts whose base forecasts had the given one."""
        matrix = self.hierarchy.summing @ self.projection
        result: Floats = matrix @ covariance @ matrix.T
        return result


def lacks_errors(method: str, too_short: tuple[str, int] | None = None) -> ConfigError:
    """Return the error for a method that has no past errors to work with.

    Args:
        method: Its name.
        too_short: Name and rows of the shortest node, where nodes were too short for a validation part.
    """
    cause, cure = "", "Set validation to a fraction or a number of rows"
    if too_short is not None:
        cause = f": node {too_short[0]!r} has {too_short[1]} rows, too few for windows to train on and to validate on"
        cure = "Set validation and test to fewer rows, lower the horizon"
    return ConfigError(
        f"the reconciliation {method!r} needs forecast errors of windows that training did not see, and there are "
        f"none{cause}. {cure}, or choose 'mint_structural', which needs no errors."
    )


def _minimum_trace(summing: Floats, weighted: Floats) -> Floats:
    """Return ``(S' W^-1 S)^-1 S' W^-1`` for ``W^-1 S``, by solving."""
    return np.linalg.solve(weighted.T @ summing, weighted.T).astype(np.float64)


def _top_down(hierarchy: Hierarchy, history: Floats | None) -> Floats:
    """Split the node that sums up every bottom series by their past proportions."""
    if hierarchy.total_row is None:
        raise ConfigError("'top_down' needs a node that is the sum of all bottom series; the hierarchy has none.")
    if history is None or not history.sum():
        raise ConfigError("'top_down' needs a history whose total is not zero, to take proportions from.")
    projection = np.zeros((len(hierarchy.bottom), len(hierarchy.nodes)))
    projection[:, hierarchy.total_row] = history.sum(1) / history.sum()
    return projection
