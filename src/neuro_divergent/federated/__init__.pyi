from .aggregation.base import Aggregation as Aggregation
from .aggregation.fedadagrad import FedAdagrad as FedAdagrad
from .aggregation.fedadam import FedAdam as FedAdam
from .aggregation.fedavg import FedAvg as FedAvg
from .aggregation.fedbn import FedBN as FedBN
from .aggregation.fedprox import FedProx as FedProx
from .aggregation.fedyogi import FedYogi as FedYogi
from .aggregation.krum import Krum as Krum
from .aggregation.median import Median as Median
from .aggregation.multi_krum import MultiKrum as MultiKrum
from .aggregation.scaffold import Scaffold as Scaffold
from .aggregation.trimmed_mean import TrimmedMean as TrimmedMean
from .federation import Federation as Federation
from .global_model import GlobalModel as GlobalModel
from .settings import (
    FederationConfig as FederationConfig,
    FederationSettings as FederationSettings,
    Personalization as Personalization,
)
