from .core.config import register
from .core.errors import (
    ConfigError,
    DataError,
    DataWarning,
    DivergedError,
    DivergenceWarning,
    InputError,
    Interrupted,
    MissingDependencyError,
    NeuroDivergentError,
    NotFittedError,
    OutOfMemoryError,
    StorageError,
    StorageWarning,
    UntrustedFileError,
)
from .core.spec import Batch, Feature, TaskSpec, Traits
from .data.augment import Augmentation
from .data.augment.jitter import Jitter
from .data.augment.mask import MaskHistory
from .data.augment.mixup import Mixup
from .data.augment.scale import Scale
from .data.augment.time_warp import TimeWarp
from .data.augment.window_slice import WindowSlice
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
from .evaluation.comparison.comparison import Comparison, compare
from .evaluation.conformal.conformal import Conformal
from .evaluation.cross_validation.backtest import Backtest, backtest
from .evaluation.cross_validation.cross_validation import CrossValidation, cross_validate
from .evaluation.evaluate import Evaluation, evaluate
from .evaluation.leaderboard.leaderboard import Leaderboard, run_leaderboard
from .evaluation.scoring.score import score
from .evaluation.splitters.base import Splitter
from .evaluation.splitters.blocked import BlockedSplit
from .evaluation.splitters.fold import Fold
from .evaluation.splitters.function import SplitFunction
from .evaluation.splitters.time_series import TimeSeriesSplit
from .forecasting.ensemble import Ensemble
from .forecasting.explanation import Explanation
from .forecasting.forecaster import Forecaster
from .forecasting.hierarchy import Hierarchy
from .forecasting.hint import HINT
from .forecasting.pretraining import Pretrained
from .forecasting.run_status import RunSummary, describe_run, list_runs
from .forecasting.task import Task
from .losses.base import Loss
from .losses.classification import BinaryCrossEntropy, CrossEntropy
from .losses.distribution.base import DistributionLoss
from .losses.distribution.bernoulli import Bernoulli
from .losses.distribution.beta import Beta
from .losses.distribution.isqf import ISQF
from .losses.distribution.laplace import Laplace
from .losses.distribution.log_normal import LogNormal
from .losses.distribution.mixture import GaussianMixture, NegativeBinomialMixture, PoissonMixture
from .losses.distribution.negative_binomial import NegativeBinomial
from .losses.distribution.normal import Normal
from .losses.distribution.poisson import Poisson
from .losses.distribution.student_t import StudentT
from .losses.distribution.tweedie import Tweedie
from .losses.distribution.zero_inflated import ZeroInflatedNegativeBinomial, ZeroInflatedPoisson
from .losses.expectile import ExpectileLoss
from .losses.implicit import ImplicitQuantileLoss
from .losses.mase import MASE
from .losses.percentage import MAPE, SMAPE
from .losses.point import MAE, MSE, RMSE, Huber
from .losses.quantile import QuantileLoss
from .losses.robust import LogCosh, Tukey
from .losses.weighted import Weighting
from .losses.weighted.function import WeightFunction
from .losses.weighted.magnitude import Magnitude
from .losses.weighted.recency import Recency
from .models.autoformer import Autoformer
from .models.base import Architecture
from .models.bitcn import BiTCN
from .models.deep_npts import DeepNPTS
from .models.deepar import DeepAR
from .models.dilated_rnn import DilatedRNN
from .models.dlinear import DLinear
from .models.fedformer import FEDformer
from .models.informer import Informer
from .models.itransformer import ITransformer
from .models.kan import KAN
from .models.mlp import MLP
from .models.mlp_multivariate import MLPMultivariate
from .models.nbeats import NBEATS, NBEATSx
from .models.nhits import NHITS
from .models.nlinear import NLinear
from .models.patchtst import PatchTST
from .models.recurrent import GRU, LSTM, RNN
from .models.rmok import RMoK
from .models.softs import SOFTS
from .models.stemgnn import StemGNN
from .models.tcn import TCN
from .models.tft import TFT
from .models.tide import TiDE
from .models.time_llm import TimeLLM
from .models.time_mixer import TimeMixer
from .models.timesnet import TimesNet
from .models.timexer import TimeXer
from .models.tsmixer import TSMixer
from .models.tsmixerx import TSMixerx
from .models.vanilla_transformer import VanillaTransformer
from .models.xlinear import XLinear
from .models.xlstm import XLSTM
from .training.batch_size import find_batch_size
from .training.callbacks.average import EMA, SWA, Average
from .training.callbacks.base import Callback
from .training.callbacks.checkpointing import Checkpointing
from .training.callbacks.csv import CSVLog
from .training.callbacks.early_stopping import EarlyStopping
from .training.callbacks.heartbeat import Heartbeat
from .training.callbacks.interruption import Interruption
from .training.callbacks.learning_rate import LearningRateLog
from .training.callbacks.limits import TimeLimit
from .training.callbacks.logging import Log
from .training.callbacks.mlflow import MLflow
from .training.callbacks.stop_request import StopRequest
from .training.callbacks.tensorboard import TensorBoard
from .training.checkpoint import read_checkpoint
from .training.config import TrainingConfig
from .training.curriculum import Curriculum, EasyFirst, HorizonGrowth
from .training.differentiation import GradientCostWarning
from .training.divergence import Divergence
from .training.engine import Trainer
from .training.freezing import Freeze
from .training.gradient_check import GradientCheck, check_gradients
from .training.gradients import ClipNorm, ClipValue, GradientNoise
from .training.history import History
from .training.metrics import accuracy
from .training.optimizers.adabound import AdaBound
from .training.optimizers.adadelta import Adadelta
from .training.optimizers.adagrad import Adagrad
from .training.optimizers.adam import Adam, AdamW
from .training.optimizers.adamax import Adamax
from .training.optimizers.adan import Adan
from .training.optimizers.base import Optimizer
from .training.optimizers.groups import Group
from .training.optimizers.lamb import LAMB
from .training.optimizers.lion import Lion
from .training.optimizers.lookahead import Lookahead
from .training.optimizers.muon import Muon
from .training.optimizers.nadam import NAdam
from .training.optimizers.prodigy import Prodigy
from .training.optimizers.radam import RAdam
from .training.optimizers.rmsprop import RMSprop
from .training.optimizers.schedule_free import ScheduleFreeAdamW, ScheduleFreeSGD
from .training.optimizers.sgd import SGD
from .training.rate_finder import RateCurve, find_learning_rate
from .training.schedules.auto import AutoSchedule
from .training.schedules.base import Plan, Schedule
from .training.schedules.chain import Chain, Part, Product
from .training.schedules.constant import Constant
from .training.schedules.cosine import Cosine, CosineRestarts, WarmupCosine
from .training.schedules.cyclic import Cyclic
from .training.schedules.exponential import Exponential
from .training.schedules.function import FunctionSchedule
from .training.schedules.inverse_sqrt import InverseSqrt
from .training.schedules.linear import Linear, WarmupLinear
from .training.schedules.one_cycle import OneCycle
from .training.schedules.plateau import Plateau
from .training.schedules.polynomial import Polynomial
from .training.schedules.step import MultiStep, StepDecay
from .training.tape import GradientTape
from .training.teacher_forcing import (
    ConstantForcing,
    ExponentialForcing,
    InverseSigmoidForcing,
    LinearForcing,
    TeacherForcing,
)

__version__: str
