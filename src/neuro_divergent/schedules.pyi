from .training.schedules.auto import AutoSchedule as AutoSchedule
from .training.schedules.base import Plan as Plan, Schedule as Schedule
from .training.schedules.chain import Chain as Chain, Part as Part, Product as Product
from .training.schedules.constant import Constant as Constant
from .training.schedules.cosine import Cosine as Cosine, CosineRestarts as CosineRestarts, WarmupCosine as WarmupCosine
from .training.schedules.cyclic import Cyclic as Cyclic
from .training.schedules.exponential import Exponential as Exponential
from .training.schedules.function import FunctionSchedule as FunctionSchedule
from .training.schedules.inverse_sqrt import InverseSqrt as InverseSqrt
from .training.schedules.linear import Linear as Linear, WarmupLinear as WarmupLinear
from .training.schedules.one_cycle import OneCycle as OneCycle
from .training.schedules.plateau import Plateau as Plateau
from .training.schedules.polynomial import Polynomial as Polynomial
from .training.schedules.step import MultiStep as MultiStep, StepDecay as StepDecay
