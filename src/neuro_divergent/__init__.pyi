from .core.errors import (
    ConfigError,
    DataError,
    DataWarning,
    DivergedError,
    InputError,
    MissingDependencyError,
    NeuroDivergentError,
    NotFittedError,
    StorageError,
    UntrustedFileError,
)
from .core.spec import Batch, Feature, TaskSpec, Traits
from .data.panel import Panel
from .data.scaling.series import (
    BoxCoxSeriesScaler,
    LogSeriesScaler,
    MinMaxSeriesScaler,
    RobustSeriesScaler,
    StandardSeriesScaler,
)
from .data.scaling.window import IdentityScaler, MeanAbsScaler, MinMaxScaler, RevIN, RobustScaler, StandardScaler
from .data.schema import Schema
from .evaluation.evaluate import Evaluation, evaluate
from .forecasting.forecaster import Forecaster
from .forecasting.task import Task
from .losses.base import Loss
from .losses.point import MAE, MSE, Huber
from .losses.quantile import QuantileLoss
from .models.base import Architecture
from .models.dlinear import DLinear
from .models.itransformer import ITransformer
from .models.mlp import MLP
from .models.nbeats import NBEATS
from .models.nhits import NHITS
from .models.nlinear import NLinear
from .models.recurrent import GRU, LSTM, RNN, Recurrent
from .training.callbacks.base import Callback
from .training.callbacks.early_stopping import EarlyStopping
from .training.config import TrainingConfig
from .training.engine import Trainer
from .training.gradients import ClipNorm, ClipValue
from .training.history import History
from .training.optimizers.adam import Adam, AdamW
from .training.optimizers.rmsprop import RMSprop
from .training.optimizers.sgd import SGD
from .training.schedules.constant import Constant
from .training.schedules.cosine import Cosine, WarmupCosine
from .training.schedules.plateau import Plateau
from .training.schedules.step import StepDecay

__version__: str
