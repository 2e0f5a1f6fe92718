"""Models for demand that is often zero. They forecast the mean demand of a row, the same for every step."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.forecasting.statistical.library import SeriesModel
from neuro_divergent.forecasting.statistical.methods.library import LibraryMethod

Weight = Annotated[float, Field(gt=0, lt=1)]


class _IntermittentMethod(LibraryMethod):
    intermittent: ClassVar[bool] = True
    has_intervals: ClassVar[bool] = False


@register("croston_sba")
class CrostonSBA(_IntermittentMethod):
    """Croston's method, which smooths demands and the intervals between them, with the correction of its bias."""

    paper: ClassVar[str] = "https://doi.org/10.1016/j.ijforecast.2004.10.001"

    def build(self, models: Any, season_length: int) -> SeriesModel:
        made: SeriesModel = models.CrostonSBA()
        return made


@register("adida")
class ADIDA(_IntermittentMethod):
    """Smooths sums over as many rows as usually lie between two demands."""

    paper: ClassVar[str] = "https://doi.org/10.1057/jors.2010.32"

    def build(self, models: Any, season_length: int) -> SeriesModel:
        made: SeriesModel = models.ADIDA()
        return made


@register("imapa")
class IMAPA(_IntermittentMethod):
    """Mean of smoothed sums over one row up to as many as usually lie between two demands."""

    paper: ClassVar[str] = "https://doi.org/10.1057/jors.2014.62"

    def build(self, models: Any, season_length: int) -> SeriesModel:
        made: SeriesModel = models.IMAPA()
        return made


@register("tsb")
class TSB(_IntermittentMethod):
    """Smooths demands and the probability of a demand, which falls in rows without one.

    Attributes:
        alpha_demand: Weight of the last demand.
        alpha_probability: Weight of the last row in the probability.
    """

    paper: ClassVar[str] = "https://doi.org/10.1016/j.ejor.2011.05.018"
    alpha_demand: Weight = 0.1
    alpha_probability: Weight = 0.1

    def build(self, models: Any, season_length: int) -> SeriesModel:
        made: SeriesModel = models.TSB(alpha_d=self.alpha_demand, alpha_p=self.alpha_probability)
        return made
