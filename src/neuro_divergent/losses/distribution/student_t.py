"""Student's t distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


@register("student_t")
class StudentT(DistributionLoss):
    """Student's t distribution, for values that now and then lie far outside.

    The outputs are the degrees of freedom (unless they are fixed), made greater than 2 so that there is a variance,
    the location, and the spread, made positive.

    Attributes:
        df: Degrees of freedom, more than 2: the fewer, the heavier the tails. Unset, they are an output.

    Examples:
        The fewer degrees of freedom, the further out lies the largest of a thousand values:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[0.0, 0.5413]]]])  # location 0 and spread 1
        >>> losses = nd.losses.StudentT(df=30.0), nd.losses.StudentT(df=3.0)
        >>> [round(loss.forecast(outputs, levels=(0.999,)).quantiles.item(), 2) for loss in losses]
        [3.39, 10.21]
    """

    df: float | None = Field(default=None, gt=2, allow_inf_nan=False)

    @property
    def outputs(self) -> int:
        return 3 if self.df is None else 2

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.student_t import StudentTDistribution

        loc, scale = raw[..., -2], positive(raw[..., -1])
        df = positive(raw[..., 0], floor=2 + 1e-3) if self.df is None else loc.new_tensor(self.df)
        return StudentTDistribution(df, loc, scale)
