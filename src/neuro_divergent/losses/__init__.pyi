from .base import Loss as Loss, LossTraits as LossTraits, PointLoss as PointLoss
from .classification import BinaryCrossEntropy as BinaryCrossEntropy
from .distribution.base import DistributionLoss as DistributionLoss
from .distribution.bernoulli import Bernoulli as Bernoulli
from .distribution.beta import Beta as Beta
from .distribution.isqf import ISQF as ISQF
from .distribution.laplace import Laplace as Laplace
from .distribution.log_normal import LogNormal as LogNormal
from .distribution.mixture import (
    GaussianMixture as GaussianMixture,
    NegativeBinomialMixture as NegativeBinomialMixture,
    PoissonMixture as PoissonMixture,
)
from .distribution.negative_binomial import NegativeBinomial as NegativeBinomial
from .distribution.normal import Normal as Normal
from .distribution.poisson import Poisson as Poisson
from .distribution.student_t import StudentT as StudentT
from .distribution.tweedie import Tweedie as Tweedie
from .distribution.zero_inflated import (
    ZeroInflatedNegativeBinomial as ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson as ZeroInflatedPoisson,
)
from .expectile import ExpectileLoss as ExpectileLoss
from .implicit import ImplicitQuantileLoss as ImplicitQuantileLoss
from .mase import MASE as MASE
from .percentage import MAPE as MAPE, SMAPE as SMAPE
from .point import Huber as Huber, MAE as MAE, MSE as MSE, RMSE as RMSE
from .robust import LogCosh as LogCosh, Tukey as Tukey
from .weighted import Weighting as Weighting
from .weighted.function import WeightFunction as WeightFunction
from .weighted.magnitude import Magnitude as Magnitude
from .weighted.recency import Recency as Recency
