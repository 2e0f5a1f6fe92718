"""Callbacks that a file can name: settings that build them."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from neuro_divergent.core.config import Component, register
from neuro_divergent.core.registry import Registry
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.callbacks.checkpointing import Checkpointing

Count = Annotated[int, Field(ge=1)]


class CallbackSettings(Component):
    """Settings of a callback.

    In Python a callback can be passed as it is; these make the common ones known to TOML and the command line:
    ``[[training.callbacks]]``, ``name = "csv"``.
    """

    registry: ClassVar[Registry] = Registry("callback", "neuro_divergent.training.callbacks.settings")

    @abstractmethod
    def build(self) -> Callback:
        """Return the callback."""


@register("csv")
class CSVLogging(CallbackSettings):
    """Each row of the history in a CSV file, as soon as it is there.

    Attributes:
        path: The file; it is replaced if it exists.
    """

    path: str = "history.csv"

    def build(self) -> Callback:
        """Return the callback."""
        from neuro_divergent.training.callbacks.csv import CSVLog

        return CSVLog(self.path)


@register("log")
class Logging(CallbackSettings):
    """Rows of the history in Python's logging, under ``neuro_divergent.training``.

    Attributes:
        every: Rows from one message to the next.
    """

    every: Count = 1

    def build(self) -> Callback:
        """Return the callback."""
        from neuro_divergent.training.callbacks.logging import Log

        return Log(self.every)


@register("tensorboard")
class TensorBoardLogging(CallbackSettings):
    """The history as event files for TensorBoard, which is an extra: ``pip install "neuro-divergent[tensorboard]"``.

    Attributes:
        directory: Where to.
    """

    directory: str = "tensorboard"

    def build(self) -> Callback:
        """Return the callback."""
        from neuro_divergent.training.callbacks.tensorboard import TensorBoard

        return TensorBoard(self.directory)


@register("mlflow")
class MLflowLogging(CallbackSettings):
    """Settings and history as a run of MLflow, which is an extra: ``pip install "neuro-divergent[mlflow]"``.

    Attributes:
        experiment: Name of the experiment; made if it does not exist.
        run: Name of the run; MLflow invents one if there is none.
        tracking_uri: Where to, such as ``sqlite:///mlflow.db``; MLflow's own setting if there is none.
    """

    experiment: str = "neuro-divergent"
    run: str | None = None
    tracking_uri: str | None = None

    def build(self) -> Callback:
        """Return the callback."""
        from neuro_divergent.training.callbacks.mlflow import MLflow

        return MLflow(self.experiment, run=self.run, tracking_uri=self.tracking_uri)


@register("checkpoints")
class Checkpoints(Checkpointing, CallbackSettings):
    """Checkpoints while training runs."""

    directory: str | Path | None = "checkpoints"
