from .autoformer import Autoformer as Autoformer
from .base import (
    Architecture as Architecture,
    Batch as Batch,
    Feature as Feature,
    Inputs as Inputs,
    TaskSpec as TaskSpec,
    Traits as Traits,
)
from .bitcn import BiTCN as BiTCN
from .deep_npts import DeepNPTS as DeepNPTS
from .deepar import DeepAR as DeepAR
from .dilated_rnn import DilatedRNN as DilatedRNN
from .dlinear import DLinear as DLinear
from .fedformer import FEDformer as FEDformer
from .informer import Informer as Informer
from .itransformer import ITransformer as ITransformer
from .kan import KAN as KAN
from .mlp import MLP as MLP
from .mlp_multivariate import MLPMultivariate as MLPMultivariate
from .nbeats import NBEATS as NBEATS, NBEATSx as NBEATSx
from .nhits import NHITS as NHITS
from .nlinear import NLinear as NLinear
from .patchtst import PatchTST as PatchTST
from .recurrent import GRU as GRU, LSTM as LSTM, RNN as RNN
from .rmok import RMoK as RMoK
from .softs import SOFTS as SOFTS
from .stemgnn import StemGNN as StemGNN
from .tcn import TCN as TCN
from .tft import TFT as TFT
from .tide import TiDE as TiDE
from .time_llm import TimeLLM as TimeLLM
from .time_mixer import TimeMixer as TimeMixer
from .timesnet import TimesNet as TimesNet
from .timexer import TimeXer as TimeXer
from .tsmixer import TSMixer as TSMixer
from .tsmixerx import TSMixerx as TSMixerx
from .vanilla_transformer import VanillaTransformer as VanillaTransformer
from .xlinear import XLinear as XLinear
from .xlstm import XLSTM as XLSTM
