from .checkpointing.checkpoint import read_checkpoint as read_checkpoint
from .curriculum import Curriculum as Curriculum, EasyFirst as EasyFirst, HorizonGrowth as HorizonGrowth
from .divergence import Divergence as Divergence
from .freezing import Freeze as Freeze
from .gradients.check import GradientCheck as GradientCheck
from .gradients.estimators.autodiff import Autodiff as Autodiff
from .gradients.estimators.base import GradientEstimator as GradientEstimator
from .gradients.estimators.differences import (
    CentralDifference as CentralDifference,
    ForwardDifference as ForwardDifference,
)
from .gradients.finite_difference import GradientCostWarning as GradientCostWarning
from .gradients.step_loss import StepLoss as StepLoss
from .gradients.transforms.base import GradientContext as GradientContext, GradientTransform as GradientTransform
from .gradients.transforms.clip import ClipValue as ClipValue
from .gradients.transforms.noise import GradientNoise as GradientNoise
from .gradients.transforms.penalty import Penalty as Penalty
from .history import History as History
from .metrics import accuracy as accuracy
from .teacher_forcing import (
    ConstantForcing as ConstantForcing,
    ExponentialForcing as ExponentialForcing,
    InverseSigmoidForcing as InverseSigmoidForcing,
    LinearForcing as LinearForcing,
    TeacherForcing as TeacherForcing,
)
from .tuning.batch_size import find_batch_size as find_batch_size
from .tuning.rate_finder import RateCurve as RateCurve, find_learning_rate as find_learning_rate
