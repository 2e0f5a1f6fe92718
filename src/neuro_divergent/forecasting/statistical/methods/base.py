"""What a statistical model is: settings that forecast windows of a panel, each from the rows before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from neuro_divergent.core.arrays import AnyFloats, Floats
from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry
from neuro_divergent.forecasting.statistical.naive import NaiveForecasts


class Fallback(NamedTuple):
    """A window that was forecast by a simpler method.

    Attributes:
        window: Place of the window among those to forecast.
        method: Name of the method that was used.
        reason: Why, in words.
    """

    window: int
    method: str
    reason: str


@dataclass(frozen=True, eq=False)
class MethodForecast:
    """Forecasts of windows.

    Attributes:
        point: ``(windows, horizon)``.
        quantiles: ``(windows, horizon, quantiles)``.
        fallbacks: Windows that the method could not forecast.
    """

    point: AnyFloats
    quantiles: AnyFloats
    fallbacks: list[Fallback] = field(default_factory=list)


class StatisticalMethod(Component):
    """A statistical model for one series: a name and settings.

    Attributes:
        extra: Extra of this package that it needs, if any.
        intermittent: Whether it is meant for demand that is often zero.
        paper: Where it is described.
    """

    registry: ClassVar[Registry] = Registry("statistical model", "neuro_divergent.forecasting.statistical.methods")
    extra: ClassVar[str | None] = None
    intermittent: ClassVar[bool] = False
    paper: ClassVar[str] = ""

    def rows_used(self, season_length: int) -> int | None:
        """Return how many rows at the end of a series a forecast is made from; ``None`` for all."""
        del season_length
        return None

    def require(self) -> None:
        """Refuse to go on where a package is missing.

        Raises:
            MissingDependencyError: With the extra to install.
        """

    def forecast(self, windows: NaiveForecasts, quantiles: Sequence[float], *, jobs: int = 1) -> MethodForecast:
        """Forecast windows, each from the observed values of its series before the first target.

        Args:
            windows: What to forecast; naive forecasts of the same windows are the fall-back.
            quantiles: Quantiles to forecast, between 0 and 1.
            jobs: Number of processes.
        """
        raise NotImplementedError


def normal_quantiles(point: AnyFloats, spread: AnyFloats, quantiles: Sequence[float]) -> AnyFloats:
    """Return quantiles of normal distributions around points, one more axis."""
    from scipy.special import ndtri

    scores: Floats = ndtri(list(quantiles))
    bounds: AnyFloats = point[..., None] + spread[..., None] * scores
    return bounds
