"""Student's t distribution with quantiles."""

from __future__ import annotations

from torch import Tensor
from torch.distributions import Chi2, Distribution, StudentT
from torch.distributions.utils import broadcast_all

from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.losses.distribution.distributions import traced
from neuro_divergent.losses.distribution.distributions.solve import special


class StudentTDistribution(StudentT):
    """Adds to torch's distribution its ``cdf`` and quantiles."""

    def __init__(self, df: Tensor, loc: Tensor, scale: Tensor) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        # Torch's distribution checks the degrees of freedom here even with validate_args=False, and refuses NaN.
        self._chi2 = Chi2(self.df, validate_args=False)
        Distribution.__init__(self, self.df.shape, validate_args=False)

    def cdf(self, value: Tensor) -> Tensor:
        from scipy.special import stdtr

        return special(stdtr, self.df, (value - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        if is_exporting():
            return self.loc + self.scale * traced.student_t_quantile(self.df, value)
        from scipy.special import stdtrit

        return self.loc + self.scale * special(stdtrit, self.df, value)
