from .training.average import EMA as EMA, SWA as SWA, Average as Average
from .training.callbacks.base import (
    Callback as Callback,
    CallbackConfig as CallbackConfig,
    NamedCallback as NamedCallback,
)
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
