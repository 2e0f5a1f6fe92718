"""Base classes of the scalers."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

    from neuro_divergent.core.arrays import Array

LARGEST = 1e17  # the squares of larger values do not fit float32 when a window of them is added up
ROUNDING = 1e-6  # part of the level of a window below which its spread is rounding error
SMALLEST = 1e-8  # a spread below this fraction of the level is rounding error of float32, not signal


class WindowScaler(Component):
    """Removes level and spread of each window, computed from its history alone.

    Applied to every batch: ``scaled = (y - loc) / scale``. A history that does not tell a scale, such as a constant
    one, gets the usual scale of its series (see ``Spreads``).

    Attributes:
        applied: Whether batches come scaled.
        reversible: Whether the network scales and inverts by itself, with the statistics of the scaler.
        has_scale: Whether the scale depends on the window.
    """

    applied: ClassVar[bool] = True
    has_scale: ClassVar[bool] = True
    reversible: ClassVar[bool] = False

    registry: ClassVar[Registry] = Registry("window scaler", "neuro_divergent.data.scaling.window")

    @abstractmethod
    def statistics(self, past: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return ``loc`` and ``scale``, both ``(batch, 1, channel)``, of a history ``(batch, time, channel)``.

        ``mask`` is ``None`` when every value was observed. Equal values have scale 0, up to rounding, and a window
        without any observed value has 0 and 0.
        """


class SeriesScaler(Component):
    """Transforms each series with parameters fitted once on its training part.

    Attributes:
        lowest: Values must be greater than this for the transformation to exist.
        affine: Whether it is a shift and a factor, the two parameters that ``fit`` returns.
    """

    lowest: ClassVar[float] = float("-inf")
    affine: ClassVar[bool] = False

    registry: ClassVar[Registry] = Registry("series scaler", "neuro_divergent.data.scaling.series")

    @abstractmethod
    def fit(self, values: Array) -> Array:
        """Return the parameters of one series from its observed training values (float64, at least one)."""

    def fit_blocks(self, blocks: Iterable[Array]) -> Array | None:
        """Return the parameters of one series that is too long to be read at once.

        Args:
            blocks: Its observed training values (float64), at least one in all. They can be read once.

        Returns:
            The parameters; ``None`` where they need all values at once, and ``fit`` is given a sample of them.
        """
        return None

    @abstractmethod
    def transform(self, values: Tensor, params: Tensor) -> Tensor:
        """Scale values; ``params`` broadcasts against them, with the parameters on its last axis."""

    @abstractmethod
    def inverse(self, values: Tensor, params: Tensor) -> Tensor:
        """Undo ``transform``."""


def usable_spread(spread: float, level: float) -> float:
    """Return a spread to divide by: 1 where it is only the rounding error of values at that level."""
    return spread if spread > SMALLEST * max(1.0, abs(level)) else 1.0


def sum_over_time(values: Tensor) -> Tensor:
    """Return the sum of ``(batch, time, channel)`` over time, ``(batch, 1, channel)``."""
    if is_exporting():  # runtimes of graphs are ten times faster with a matrix product
        steps, channels = values.shape[1:]
        total = values.transpose(1, 2).reshape(-1, steps) @ values.new_ones(steps, 1)
        return total.reshape(-1, 1, channels)
    return values.sum(1, keepdim=True)
