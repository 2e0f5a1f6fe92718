"""The history in MLflow."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.training.callbacks.base import Callback, NamedCallback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

_SECONDS_BETWEEN_BATCHES = 1.0
_LARGEST_BATCH = 500  # MLflow takes 1,000 metrics at a time
_MOST_PARAMETERS = 100
_LONGEST_PARAMETER = 6000


@register("mlflow")
class MLflow(NamedCallback):
    """Records settings as parameters and each row of the history as metrics of a run of MLflow.

    It talks to a client of its own, so a run that is active elsewhere in the program is left alone. Rows are sent at
    most once a second. Resumed training goes on in the same run. MLflow itself reports its use to its makers unless the
    environment says ``DO_NOT_TRACK=true``. It is an extra: ``pip install "neuro-divergent[mlflow]"``.

    Attributes:
        experiment: Name of the experiment; made if it does not exist.
        run: Name of the run; MLflow invents one if there is none.
        tracking_uri: Where to, such as ``sqlite:///mlflow.db`` or the address of a server; MLflow's own setting if
            there is none.
        parameters: More to record besides the settings of training, such as those of the architecture.
        tags: Labels of the run.

    Examples:
        >>> import neuro_divergent as nd
        >>> callback = nd.callbacks.MLflow("sales", tracking_uri="sqlite:///mlflow.db", tags={"team": "demand"})
        >>> config = nd.TrainingConfig(callbacks=callback)
        >>> config.callbacks[0].experiment, config.callbacks[0].run  # MLflow invents a name for the run
        ('sales', None)
    """

    experiment: str = "neuro-divergent"
    run: str | None = None
    tracking_uri: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)

    def __init__(self, experiment: str = "neuro-divergent", **values: Any) -> None:
        super().__init__(**{"experiment": experiment, **values})

    def build(self) -> MLflowLogger:
        try:
            import mlflow  # noqa: F401
        except ImportError:
            raise MissingDependencyError('MLflow is not installed: pip install "neuro-divergent[mlflow]".') from None
        return MLflowLogger(self)


class MLflowLogger(Callback):
    """Writes to the run of an ``MLflow``.

    Attributes:
        run_id: The run, from the start of training on.
    """

    main_only: ClassVar[bool] = True

    kind = "MLflow"

    def __init__(self, config: MLflow) -> None:
        self.config = config
        self.run_id: str | None = None
        self._client: Any = None
        self._waiting: list[Any] = []
        self._last_sent = 0.0

    def fit_start(self, trainer: Trainer) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri=self.config.tracking_uri)
        if self.run_id is not None:
            self._client.update_run(self.run_id, status="RUNNING")
            return
        known = self._client.get_experiment_by_name(self.config.experiment)
        experiment = self._client.create_experiment(self.config.experiment) if known is None else known.experiment_id
        self.run_id = self._client.create_run(experiment, run_name=self.config.run, tags=self.config.tags).info.run_id
        self._record_parameters(dict([*_flatten(trainer.config.to_dict()), *_flatten(self.config.parameters)]))

    def logged(self, trainer: Trainer) -> None:
        """Store the row, and send what is waiting if it is time."""
        if self._client is None:
            return
        from mlflow.entities import Metric

        row = trainer.history.rows[-1]
        now = int(time.time() * 1000)
        self._waiting += [
            Metric(name, float(value), now, row["step"])
            for name, value in row.items()
            if name != "step" and value is not None
        ]
        is_late = time.monotonic() - self._last_sent >= _SECONDS_BETWEEN_BATCHES
        if is_late or len(self._waiting) >= _LARGEST_BATCH:
            self._send()

    def fit_end(self, trainer: Trainer) -> None:
        self._close("FINISHED", trainer.state.stop_reason)

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        """Send the rest and mark the run as failed, or as killed if somebody interrupted it."""
        self._close("FAILED" if isinstance(error, Exception) else "KILLED", f"{type(error).__name__}: {error}")

    def state_dict(self) -> dict[str, Any]:
        return {"run_id": self.run_id}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.run_id = state["run_id"]

    def _record_parameters(self, values: Mapping[str, Any]) -> None:
        from mlflow.entities import Param

        assert self.run_id is not None
        items = [Param(name, str(value)[:_LONGEST_PARAMETER]) for name, value in values.items()]
        for begin in range(0, len(items), _MOST_PARAMETERS):
            self._client.log_batch(self.run_id, params=items[begin : begin + _MOST_PARAMETERS])

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._last_sent = time.monotonic()
        if waiting:
            self._client.log_batch(self.run_id, metrics=waiting)

    def _close(self, status: str, reason: str | None) -> None:
        if self._client is None or self.run_id is None:
            return
        self._send()
        if reason is not None:
            self._client.set_tag(self.run_id, "stop_reason", reason)
        self._client.set_terminated(self.run_id, status)
        self._client = None


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested settings as one level: ``{"optimizer": {"lr": 1}}`` as ``("optimizer.lr", 1)``."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
