from . import (
    augment as augment,
    callbacks as callbacks,
    datasets as datasets,
    diagnostics as diagnostics,
    distributed as distributed,
    errors as errors,
    evaluation as evaluation,
    federated as federated,
    forecasting as forecasting,
    lifecycle as lifecycle,
    losses as losses,
    metrics as metrics,
    models as models,
    optimizers as optimizers,
    plots as plots,
    privacy as privacy,
    runs as runs,
    scalers as scalers,
    schedules as schedules,
    search as search,
    serving as serving,
    splitters as splitters,
    training as training,
)
from .core.config import knob as knob, register as register
from .core.progress import show_progress as show_progress
from .data.panel import Panel as Panel
from .data.schema import Schema as Schema
from .diagnostics.doctor import diagnose as diagnose
from .evaluation.comparison.comparison import compare as compare
from .evaluation.conformal.conformal import Conformal as Conformal
from .evaluation.cross_validation.backtest import backtest as backtest
from .evaluation.cross_validation.cross_validation import cross_validate as cross_validate
from .evaluation.evaluate import evaluate as evaluate
from .evaluation.learning_curve import learning_curve as learning_curve
from .evaluation.scoring.score import score as score
from .forecasting.ensemble.ensemble import Ensemble as Ensemble
from .forecasting.forecaster import Forecaster as Forecaster
from .forecasting.hierarchy.hierarchy import Hierarchy as Hierarchy
from .forecasting.hierarchy.hint import HINT as HINT
from .forecasting.load import load as load
from .forecasting.statistical.statistical import Statistical as Statistical
from .forecasting.task import Task as Task
from .lifecycle.pipeline.pipeline import Pipeline as Pipeline
from .lifecycle.registry.registry import Registry as Registry
from .losses.classification import CrossEntropy as CrossEntropy
from .losses.quantile import QuantileLoss as QuantileLoss
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
from .search.auto.forecaster import AutoForecaster as AutoForecaster
from .training.callbacks.early_stopping import EarlyStopping as EarlyStopping
from .training.config import TrainingConfig as TrainingConfig
from .training.engine import Trainer as Trainer
from .training.gradients.check import check_gradients as check_gradients
from .training.gradients.tape import GradientTape as GradientTape
from .training.gradients.transforms.clip import ClipNorm as ClipNorm
from .training.optimizers.adam import AdamW as AdamW
from .training.schedules.cosine import WarmupCosine as WarmupCosine

__version__: str
