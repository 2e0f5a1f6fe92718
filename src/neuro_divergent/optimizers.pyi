from .training.optimizers.adabound import AdaBound as AdaBound
from .training.optimizers.adadelta import Adadelta as Adadelta
from .training.optimizers.adagrad import Adagrad as Adagrad
from .training.optimizers.adam import Adam as Adam, AdamW as AdamW
from .training.optimizers.adamax import Adamax as Adamax
from .training.optimizers.adan import Adan as Adan
from .training.optimizers.base import Optimizer as Optimizer
from .training.optimizers.groups import Group as Group
from .training.optimizers.lamb import LAMB as LAMB
from .training.optimizers.lion import Lion as Lion
from .training.optimizers.lookahead import Lookahead as Lookahead
from .training.optimizers.muon import Muon as Muon
from .training.optimizers.nadam import NAdam as NAdam
from .training.optimizers.prodigy import Prodigy as Prodigy
from .training.optimizers.radam import RAdam as RAdam
from .training.optimizers.rmsprop import RMSprop as RMSprop
from .training.optimizers.schedule_free import (
    ScheduleFreeAdamW as ScheduleFreeAdamW,
    ScheduleFreeSGD as ScheduleFreeSGD,
)
from .training.optimizers.sgd import SGD as SGD
