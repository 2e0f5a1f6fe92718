from .core.config import register as register
from .core.errors import (
    ConfigError as ConfigError,
    DataError as DataError,
    DataWarning as DataWarning,
    DivergedError as DivergedError,
    DivergenceWarning as DivergenceWarning,
    InputError as InputError,
    Interrupted as Interrupted,
    MissingDependencyError as MissingDependencyError,
    NeuroDivergentError as NeuroDivergentError,
    NotFittedError as NotFittedError,
    OutOfMemoryError as OutOfMemoryError,
    StorageError as StorageError,
    StorageWarning as StorageWarning,
    UntrustedFileError as UntrustedFileError,
    WorkerDiedError as WorkerDiedError,
)
from .core.spec import Batch as Batch, Feature as Feature, Inputs as Inputs, TaskSpec as TaskSpec, Traits as Traits
from .data.augment import Augmentation as Augmentation
from .data.augment.jitter import Jitter as Jitter
from .data.augment.mask import MaskHistory as MaskHistory
from .data.augment.mixup import Mixup as Mixup
from .data.augment.scale import Scale as Scale
from .data.augment.time_warp import TimeWarp as TimeWarp
from .data.augment.window_slice import WindowSlice as WindowSlice
from .data.panel import Panel as Panel
from .data.scaling.series import (
    BoxCoxSeriesScaler as BoxCoxSeriesScaler,
    LogSeriesScaler as LogSeriesScaler,
    MinMaxSeriesScaler as MinMaxSeriesScaler,
    RobustSeriesScaler as RobustSeriesScaler,
    StandardSeriesScaler as StandardSeriesScaler,
)
from .data.scaling.window import (
    IdentityScaler as IdentityScaler,
    MeanAbsScaler as MeanAbsScaler,
    MinMaxScaler as MinMaxScaler,
    RevIN as RevIN,
    RobustScaler as RobustScaler,
    StandardScaler as StandardScaler,
)
from .data.schema import Schema as Schema
from .diagnostics.attribution import (
    integrated_gradients as integrated_gradients,
    permutation_importance as permutation_importance,
)
from .diagnostics.doctor import diagnose as diagnose
from .diagnostics.finding import Change as Change, Diagnosis as Diagnosis, Finding as Finding
from .diagnostics.gradients import (
    GradientReport as GradientReport,
    analyse_gradients as analyse_gradients,
    gradient_snapshot as gradient_snapshot,
)
from .diagnostics.network import analyse_network as analyse_network
from .evaluation.calibration import check_calibration as check_calibration
from .evaluation.comparison.comparison import Comparison as Comparison, compare as compare
from .evaluation.conformal.conformal import Conformal as Conformal
from .evaluation.cross_validation.backtest import Backtest as Backtest, backtest as backtest
from .evaluation.cross_validation.cross_validation import (
    CrossValidation as CrossValidation,
    cross_validate as cross_validate,
)
from .evaluation.evaluate import Evaluation as Evaluation, evaluate as evaluate
from .evaluation.leaderboard.leaderboard import Leaderboard as Leaderboard, run_leaderboard as run_leaderboard
from .evaluation.learning_curve import LearningCurve as LearningCurve, learning_curve as learning_curve
from .evaluation.scoring.score import score as score
from .evaluation.splitters.base import Splitter as Splitter
from .evaluation.splitters.blocked import BlockedSplit as BlockedSplit
from .evaluation.splitters.fold import Fold as Fold
from .evaluation.splitters.function import SplitFunction as SplitFunction
from .evaluation.splitters.time_series import TimeSeriesSplit as TimeSeriesSplit
from .forecasting.ensemble.ensemble import Ensemble as Ensemble
from .forecasting.explain import Explanation as Explanation
from .forecasting.forecast_module import ForecastModule as ForecastModule
from .forecasting.forecaster import Forecaster as Forecaster
from .forecasting.hierarchy.hierarchy import Hierarchy as Hierarchy
from .forecasting.hierarchy.hint import HINT as HINT
from .forecasting.load import load as load
from .forecasting.protocol import ForecastModel as ForecastModel
from .forecasting.pretrain import Pretrained as Pretrained
from .runs.events import read_events as read_events
from .runs.history_reader import read_history as read_history
from .runs.status import RunSummary as RunSummary, describe_run as describe_run, list_runs as list_runs
from .forecasting.task import Task as Task
from .reporting.export import write_figure as write_figure
from .reporting.plots import (
    plot_architecture as plot_architecture,
    plot_calibration as plot_calibration,
    plot_comparison as plot_comparison,
    plot_folds as plot_folds,
    plot_forecast as plot_forecast,
    plot_history as plot_history,
    plot_importance as plot_importance,
    plot_layers as plot_layers,
    plot_learning_curve as plot_learning_curve,
    plot_ranking as plot_ranking,
    plot_residuals as plot_residuals,
    plot_schedule as plot_schedule,
    plot_scores as plot_scores,
)
from .losses.base import Loss as Loss, LossTraits as LossTraits
from .losses.classification import BinaryCrossEntropy as BinaryCrossEntropy, CrossEntropy as CrossEntropy
from .losses.distribution.base import DistributionLoss as DistributionLoss
from .losses.distribution.bernoulli import Bernoulli as Bernoulli
from .losses.distribution.beta import Beta as Beta
from .losses.distribution.isqf import ISQF as ISQF
from .losses.distribution.laplace import Laplace as Laplace
from .losses.distribution.log_normal import LogNormal as LogNormal
from .losses.distribution.mixture import (
    GaussianMixture as GaussianMixture,
    NegativeBinomialMixture as NegativeBinomialMixture,
    PoissonMixture as PoissonMixture,
)
from .losses.distribution.negative_binomial import NegativeBinomial as NegativeBinomial
from .losses.distribution.normal import Normal as Normal
from .losses.distribution.poisson import Poisson as Poisson
from .losses.distribution.student_t import StudentT as StudentT
from .losses.distribution.tweedie import Tweedie as Tweedie
from .losses.distribution.zero_inflated import (
    ZeroInflatedNegativeBinomial as ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson as ZeroInflatedPoisson,
)
from .losses.expectile import ExpectileLoss as ExpectileLoss
from .losses.implicit import ImplicitQuantileLoss as ImplicitQuantileLoss
from .losses.mase import MASE as MASE
from .losses.percentage import MAPE as MAPE, SMAPE as SMAPE
from .losses.point import MAE as MAE, MSE as MSE, RMSE as RMSE, Huber as Huber
from .losses.quantile import QuantileLoss as QuantileLoss
from .losses.robust import LogCosh as LogCosh, Tukey as Tukey
from .losses.weighted import Weighting as Weighting
from .losses.weighted.function import WeightFunction as WeightFunction
from .losses.weighted.magnitude import Magnitude as Magnitude
from .losses.weighted.recency import Recency as Recency
from .models.autoformer import Autoformer as Autoformer
from .models.base import Architecture as Architecture
from .models.bitcn import BiTCN as BiTCN
from .models.deep_npts import DeepNPTS as DeepNPTS
from .models.deepar import DeepAR as DeepAR
from .models.dilated_rnn import DilatedRNN as DilatedRNN
from .models.dlinear import DLinear as DLinear
from .models.fedformer import FEDformer as FEDformer
from .models.informer import Informer as Informer
from .models.itransformer import ITransformer as ITransformer
from .models.kan import KAN as KAN
from .models.mlp import MLP as MLP
from .models.mlp_multivariate import MLPMultivariate as MLPMultivariate
from .models.nbeats import NBEATS as NBEATS, NBEATSx as NBEATSx
from .models.nhits import NHITS as NHITS
from .models.nlinear import NLinear as NLinear
from .models.patchtst import PatchTST as PatchTST
from .models.recurrent import GRU as GRU, LSTM as LSTM, RNN as RNN
from .models.rmok import RMoK as RMoK
from .models.softs import SOFTS as SOFTS
from .models.stemgnn import StemGNN as StemGNN
from .models.tcn import TCN as TCN
from .models.tft import TFT as TFT
from .models.tide import TiDE as TiDE
from .models.time_llm import TimeLLM as TimeLLM
from .models.time_mixer import TimeMixer as TimeMixer
from .models.timesnet import TimesNet as TimesNet
from .models.timexer import TimeXer as TimeXer
from .models.tsmixer import TSMixer as TSMixer
from .models.tsmixerx import TSMixerx as TSMixerx
from .models.vanilla_transformer import VanillaTransformer as VanillaTransformer
from .models.xlinear import XLinear as XLinear
from .models.xlstm import XLSTM as XLSTM
from .training.tuning.batch_size import find_batch_size as find_batch_size
from .training.average import EMA as EMA, SWA as SWA, Average as Average
from .training.callbacks.base import Callback as Callback, CallbackConfig as CallbackConfig
from .training.callbacks.checkpointing import Checkpointing as Checkpointing
from .training.callbacks.csv import CSVLog as CSVLog
from .training.callbacks.early_stopping import EarlyStopping as EarlyStopping
from .training.callbacks.events import EventLog as EventLog
from .training.callbacks.heartbeat import Heartbeat as Heartbeat
from .training.callbacks.interruption import Interruption as Interruption
from .training.callbacks.learning_rate import LearningRateLog as LearningRateLog
from .training.callbacks.limits import TimeLimit as TimeLimit
from .training.callbacks.logging import Log as Log
from .training.callbacks.mlflow import MLflow as MLflow
from .training.callbacks.stop_request import StopRequest as StopRequest
from .training.callbacks.tensorboard import TensorBoard as TensorBoard
from .training.checkpointing.checkpoint import read_checkpoint as read_checkpoint
from .training.config import TrainingConfig as TrainingConfig
from .training.curriculum import Curriculum as Curriculum, EasyFirst as EasyFirst, HorizonGrowth as HorizonGrowth
from .training.gradients.finite_difference import GradientCostWarning as GradientCostWarning
from .training.divergence import Divergence as Divergence
from .training.engine import Trainer as Trainer
from .training.freezing import Freeze as Freeze
from .training.gradients.check import GradientCheck as GradientCheck, check_gradients as check_gradients
from .training.gradients.estimators.autodiff import Autodiff as Autodiff
from .training.gradients.estimators.base import GradientEstimator as GradientEstimator
from .training.gradients.estimators.differences import (
    CentralDifference as CentralDifference,
    ForwardDifference as ForwardDifference,
)
from .training.gradients.step_loss import StepLoss as StepLoss
from .training.gradients.transforms.base import (
    GradientContext as GradientContext,
    GradientTransform as GradientTransform,
)
from .training.gradients.transforms.clip import ClipNorm as ClipNorm, ClipValue as ClipValue
from .training.gradients.transforms.noise import GradientNoise as GradientNoise
from .training.gradients.transforms.penalty import Penalty as Penalty
from .training.history import History as History
from .training.metrics import accuracy as accuracy
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
from .training.tuning.rate_finder import RateCurve as RateCurve, find_learning_rate as find_learning_rate
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
from .training.gradients.tape import GradientTape as GradientTape
from .training.teacher_forcing import (
    ConstantForcing as ConstantForcing,
    ExponentialForcing as ExponentialForcing,
    InverseSigmoidForcing as InverseSigmoidForcing,
    LinearForcing as LinearForcing,
    TeacherForcing as TeacherForcing,
)

__version__: str
