"""A statistical model for each series of a table, with fit, predict, save and load."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from neuro_divergent.core.errors import ConfigError, DataError, NotFittedError, did_you_mean
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.splits import MIN_HISTORY, Split
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.history import choose_season, typical_length
from neuro_divergent.forecasting.predicting import PredictingModel
from neuro_divergent.forecasting.prepared_data import backend_for, read_panel
from neuro_divergent.forecasting.run_config import override, own_settings
from neuro_divergent.forecasting.statistical.artifact import pack_statistical, unpack_statistical
from neuro_divergent.forecasting.statistical.fitted import FittedStatistical
from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from neuro_divergent.forecasting.statistical.prediction import StatisticalPrediction
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.warm_start import InitialLike
from neuro_divergent.losses.distribution.normal import Normal
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.config import TrainingConfig

_TASK = ("horizon", "input_size", "season_length", "validation", "test")
_LEAST = 8  # rows of history from which a spread can be told


class Statistical(PredictingModel[FittedStatistical]):
    """Forecasts each series by a statistical model of its own; no network is trained.

    ``fit`` reads and checks the series. The model is fitted where a forecast is made, because each forecast has its own
    rows to be made from: ``predict`` fits one for each series, and ``forecast_windows`` one for each window, to the
    rows before its first target. A series that cannot be fitted, because it is too short or the optimiser fails, is
    forecast by seasonal naive if it is longer than a season and else by naive; ``fallbacks`` lists those.

    Args:
        method: Name of the model: ``naive``, ``seasonal_naive``, ``drift``, ``mean``; with the extra ``statistical``
            also ``auto_ets``, ``auto_theta``, ``auto_ces``, ``auto_arima``, and for demand that is often zero
            ``croston_sba``, ``tsb``, ``adida``, ``imapa``.
        horizon: Steps to forecast.
        season_length: Rows in a season; unset, it follows from the frequency, and where that has several, from the
            data.
        input_size: Rows that a window to score must have before its first target; forecasts are made from all rows.
            Unset, it is two seasons, at least 8, but no more than half of what the median series has.
        validation: Fraction or number of rows at the end of each series that ``evaluate`` scores, and that conformal
            intervals are calibrated on.
        test: Fraction or number of rows after those.
        jobs: Number of processes to fit models in; -1 for one per core. A script that uses several needs
            ``if __name__ == "__main__":``.
        settings: Settings of the model, such as ``max_history``; ``nd models NAME`` lists them.

    Attributes:
        method: The model and its settings.
        panel: The data that it was fitted to; ``None`` before, and in a model that was loaded.

    Raises:
        ConfigError: If a name or setting is not known.
        MissingDependencyError: If the model needs an extra that is not installed.

    Examples:
        >>> import neuro_divergent as nd
        >>> table = nd.datasets.air_passengers()
        >>> naive = nd.Statistical("seasonal_naive", horizon=12).fit(table)
        >>> naive.predict()["forecast"].to_list() == table["y"].tail(12).to_list()
        True
        >>> nd.evaluate(naive).table.filter(model="seasonal_naive")["skill"].item()
        0.0
    """

    training: ClassVar[TrainingConfig] = TrainingConfig(early_stopping=None)

    def __init__(
        self,
        method: StatisticalMethod | str,
        *,
        horizon: int,
        season_length: int | None = None,
        input_size: int | None = None,
        validation: int | float = 0.2,
        test: int | float = 0,
        jobs: int = 1,
        **settings: Any,
    ) -> None:
        if isinstance(method, str):
            method = StatisticalMethod.from_dict({"name": method, **settings})
        elif settings:
            raise ConfigError(f"{', '.join(settings)}: these are settings of {method.name}; change them there.")
        method.require()
        if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0 or jobs < -1:
            raise ConfigError(f"jobs: {jobs!r} must be a number of processes, or -1 for one per core.")
        self.method, self.jobs = method, jobs
        self._task = Task(
            horizon=horizon,
            season_length=season_length,
            input_size=input_size,
            validation=validation,
            test=test,
            loss=Normal(),  # says that quantiles of any level can be forecast
        )

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        initial: InitialLike | None = None,
        **schema: Any,
    ) -> Self:
        """Read and check the series, and choose what the task left open.

        Args:
            data: As for ``Forecaster.fit``. Missing values need the policy ``missing="mask"`` or one that fills them;
                masked ones lie on the line between their observed neighbours where a model needs a value.
            callbacks: Not used: there is no training.
            initial: Must be unset: there are no weights to start from.
            schema: Fields of ``Schema``, as for ``Forecaster.fit``; covariates and weights are refused.

        Raises:
            ConfigError: If there are covariates, weights or ``initial``.
            DataError: If the table cannot be used as it is.
        """
        del callbacks
        if initial is not None:
            raise ConfigError("initial: a statistical model has no weights to start from; leave it out.")
        panel = read_panel(data, schema)
        _refuse_columns(panel)
        task = self._task.replace(season_length=choose_season(self._task, panel))
        if task.input_size is None:
            task = task.replace(input_size=_choose_history(task, panel))
        panel = check_lengths(panel, input_size=task.history, horizon=task.horizon)
        empty = FittedStatistical(self.method, task, panel, backend_for(data), self.jobs)
        self._set_fitted(empty.with_context(panel))
        self.panel, self.split = panel, _split(task, panel)
        return self

    def prepare_prediction(
        self, data: Any = None, *, future: Any = None, horizon: int | None = None
    ) -> StatisticalPrediction:
        if future is not None:
            raise ConfigError("future: a statistical model takes no covariates; leave it out.")
        return StatisticalPrediction.of(self.fitted, data, horizon=horizon)

    def to_files(self, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
        return pack_statistical(self.fitted, context=context)

    @classmethod
    def from_files(cls, files: dict[str, bytes], place: str) -> Self:
        fitted = unpack_statistical(files, place)
        model = cls(fitted.method, jobs=fitted.jobs, **_task_settings(fitted.task))
        model._set_fitted(fitted)
        return model

    def clone(self) -> Self:
        """Return an unfitted copy with the same settings."""
        return self.with_settings({})

    def with_settings(self, changes: Mapping[str, Any]) -> Self:
        """Return an unfitted copy with some settings changed.

        Args:
            changes: Values by dotted name: ``model`` and its settings, such as ``model.max_history``; ``task.horizon``,
                ``task.season_length``, ``task.input_size``, ``task.validation`` and ``task.test``; and
                ``statistical.jobs``.

        Raises:
            ConfigError: If there is no such setting, with the closest that there is, or if a value is not valid.
        """
        own, rest = own_settings(changes, "statistical", ("jobs",))
        values: dict[str, Any] = {"model": self.method.to_dict(), "task": _task_settings(self._task)}
        for key, value in rest.items():
            _check_setting(key)
            override(values, key, value)
        task: dict[str, Any] = {name: None if value == "none" else value for name, value in values["task"].items()}
        return type(self)(StatisticalMethod.from_dict(values["model"]), jobs=own.get("jobs", self.jobs), **task)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that forecasts depend on, as plain values."""
        return {"method": self.method.to_dict(), "task": self._task.to_dict()}

    def __repr__(self) -> str:
        task, state = self.task, "not fitted"
        if self._fitted is not None:
            count = self._fitted.context.num_series
            state = f"fitted on {count:,} series" if count else "fitted, without context"
        season = "auto" if task.season_length is None else task.season_length
        return f"{type(self).__name__}({self.method.name}, horizon={task.horizon}, season_length={season}, {state})"

    def _repr_html_(self) -> str:
        from neuro_divergent.forecasting.display import statistical_html

        return statistical_html(self)

    @property
    def architecture(self) -> StatisticalMethod:
        """What tables call the model."""
        return self.method

    @property
    def task(self) -> Task:
        """The task; once fitted, with nothing left open."""
        return self._task if self._fitted is None else self._fitted.task

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""
        return self._fitted is not None

    @property
    def fitted(self) -> FittedStatistical:
        if self._fitted is None:
            raise NotFittedError("this model has not been fitted: call fit(data) first, or load a saved one.")
        return self._fitted

    @property
    def holds(self) -> dict[str, str]:
        """What a saved copy contains that comes from the data, by name; see ``save``."""
        return {} if self._fitted is None else self._fitted.holds

    @property
    def fallbacks(self) -> pl.DataFrame:
        """Those of the last forecasts that a simpler method made: series, ``cutoff``, ``method`` and ``reason``."""
        return self.fitted.fallbacks


def _task_settings(task: Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in _TASK}


def _check_setting(key: str) -> None:
    section, _, name = key.partition(".")
    known = ("model", "task", "statistical")
    if section not in known:
        hint = did_you_mean(section, known)
        raise ConfigError(f"unknown setting {key!r}.{hint} Settings are model, model.*, task.* and statistical.jobs.")
    if section == "task" and name not in _TASK:
        raise ConfigError(
            f"unknown setting {key!r}.{did_you_mean(name, _TASK)} Those of the task of a statistical model are "
            f"{', '.join(_TASK)}."
        )


def _refuse_columns(panel: Panel) -> None:
    schema = panel.schema
    names = [*schema.covariates, *schema.calendar]
    if names:
        raise ConfigError(
            f"a statistical model takes no covariates, and the data have {', '.join(map(repr, names))}. Leave them out "
            "of past, future, static and calendar, or choose a network."
        )
    if panel.weight is not None:
        raise ConfigError(f"a statistical model takes no weights of rows; leave out weight={schema.weight!r}.")


def _choose_history(task: Task, panel: Panel) -> int:
    """Return how many rows a window must have before its first target."""
    assert task.season_length is not None
    return max(1, min(max(2 * task.season_length, _LEAST), typical_length(panel) // 2))


def _split(task: Task, panel: Panel) -> Split:
    """Cut a panel by time as for training; where no series is long enough, nothing is held out."""
    try:
        return task.split(panel)
    except DataError:
        begins, ends = panel.first_observed + min(MIN_HISTORY, task.history), panel.offsets[1:]
        whole = Windows(panel, task.history, task.horizon, np.minimum(begins, ends), ends)
        nothing = dataclasses.replace(whole, begins=ends)
        return Split(whole, nothing, nothing)
