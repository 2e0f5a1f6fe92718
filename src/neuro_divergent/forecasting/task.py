"""The task: what is forecast, from which history and with which loss and scaling."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config, knob
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.data.replay import Replay
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.data.scaling.window import StandardScaler
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.point import MAE
from neuro_divergent.losses.weighted import Weighting
from neuro_divergent.runs.renamed import present_names

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.splits import Split

Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[int, Field(ge=0)] | Annotated[float, Field(gt=0, lt=1)]


class Task(Config):
    """Horizon, history, loss, scaling and the parts of each series that are held out.

    Attributes:
        horizon: Steps to forecast.
        input_size: Steps of history a forecast is made from. Unset, it is three horizons, or a season and a horizon
            where that is more, but no more than half of the series have.
        loss: What training minimises; it decides what a forecast is: a point, quantiles or a distribution.
        weighting: Weight of each target in the loss, by its age, time or value; a weight column multiplies with it.
        scaler: Takes level and spread out of each window.
        series_scaler: Transforms each series, fitted on its training part.
        validation: Fraction or number of rows at the end of each series that training does not see; used for early
            stopping and to measure intervals.
        refit: Whether the network is trained again on all rows but the test part, for the number of steps that
            validation has chosen. Scores and intervals are those of the first training, which did not see them.
        test: Fraction or number of rows after those, which training does not use at all.
        stride: Rows between two training windows.
        balance: How far series that are longer than the median give fewer windows to an epoch of training, so that
            they do not decide everything: 0 for all of their windows, 1 for as many as the median series has.
        replay: New rows at the end of each series, all of whose windows an epoch of training has, and how many windows
            from before them; for a model that is trained further on new data. It takes the place of ``balance``.
        joint: Whether a window spans all series; unset, it does for architectures that mix channels.
        baseline: Forecast that the network is trained to correct: ``"seasonal_naive"``, or none.
        season_length: Rows in a season, for the baseline and the choice of the history; unset, it follows from the
            frequency, and where that has several, from the data.

    Examples:
        >>> import neuro_divergent as nd
        >>> task = nd.Task(horizon=24, loss="huber", validation=48)
        >>> task.loss
        Huber()
        >>> task.replace(horizon=48).horizon
        48
        >>> nd.Task(horizon=24, loss="hubber")
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: Task: loss: Unknown loss 'hubber'. Did you mean 'huber'? ...
    """

    horizon: Count
    input_size: Count | None = knob(None, low=1, high=5, unit="horizon")
    loss: Loss = knob(MAE(), choices=("mae", "mse", "huber"))
    weighting: Weighting | None = None
    scaler: WindowScaler = knob(StandardScaler(), choices=("standard", "robust", "mean_abs", "revin"))
    series_scaler: SeriesScaler | None = knob(None, choices=("none", "standard", "robust"))
    validation: Fraction = 0.2
    refit: bool = True
    test: Fraction = 0
    stride: Count = 1
    balance: Annotated[float, Field(ge=0, le=1)] = 0.5
    replay: Replay | None = None
    joint: bool | None = None
    baseline: Literal["seasonal_naive"] | None = None
    season_length: Count | None = None

    @model_validator(mode="before")
    @classmethod
    def _present_names(cls, values: Any) -> Any:
        """Accept the names of settings in files of earlier versions."""
        return present_names("task", values) if isinstance(values, Mapping) else values

    @model_validator(mode="after")
    def _takes_scaled(self) -> Task:
        if not self.loss.traits.accepts_scaled and (self.scaler.name != "identity" or self.series_scaler is not None):
            raise ValueError(
                f"loss: {self.loss.name} needs the target as it is; set scaler='identity' and no series_scaler"
            )
        original = self.loss.traits.requires_original_scale
        if original and self.series_scaler is not None and not self.series_scaler.affine:
            raise ValueError(
                f"loss: {self.loss.name} is a distribution in the units of the data, which series_scaler="
                f"{self.series_scaler.name!r} bends; leave it out, or choose 'standard', 'robust' or 'minmax'"
            )
        if not self.loss.traits.point_valued and self.scaler.reversible:
            raise ValueError(
                f"loss: {self.loss.name} has outputs that are not values of the target, so a network cannot rescale "
                f"them; choose another scaler than {self.scaler.name!r}, such as 'standard'"
            )
        if not self.loss.traits.point_valued and self.baseline is not None:
            raise ValueError(
                f"loss: {self.loss.name} has outputs that are not values of the target, to which no baseline can be "
                "added; leave baseline out, or choose a point or quantile loss"
            )
        if self.baseline is not None and (self.input_size or math.inf) < (self.season_length or 0):
            raise ValueError(
                f"baseline: {self.baseline} needs a season of {self.season_length} rows in the history; input_size "
                f"is {self.input_size}"
            )
        return self

    @property
    def history(self) -> int:
        """The input size of a task that has one."""
        assert self.input_size is not None
        return self.input_size

    def history_for(self, panel: Panel) -> int:
        """Return the input size for a panel: the one given, or what ``choose_history`` chooses."""
        from neuro_divergent.forecasting.history import choose_history

        return choose_history(self, panel).input_size

    def split(self, panel: Panel) -> Split:
        """Cut a panel into windows for training, validation and test."""
        from neuro_divergent.data.splits import split_by_time

        return split_by_time(
            panel,
            input_size=self.history_for(panel),
            horizon=self.horizon,
            validation=self.validation,
            test=self.test,
            step=self.stride,
            joint=bool(self.joint),
        )


def describe_task(task: Task) -> str:
    """Return horizon, history and loss of a task in a few words, as ``repr`` of a model shows them."""
    history = "auto" if task.input_size is None else task.input_size
    return f"horizon={task.horizon}, input_size={history}, loss={task.loss.name}"


def refuse_settings_of(other: Config, place: str, names: Iterable[str]) -> None:
    """Refuse what is no setting of a task but one of ``other``, such as ``max_steps``, and say where it belongs.

    Raises:
        ConfigError: If there is such a name.
    """
    kind = type(other)
    for name in names:
        if name in kind.model_fields and name not in Task.model_fields:
            label = kind.__name__
            raise ConfigError(f"{name} is a setting of {label}; pass it in {place}, as {label}({name}=...).")


def check_horizon(horizon: int | None) -> None:
    """Refuse a number of steps to forecast that is not a positive integer.

    Raises:
        InputError: If it is something else.
    """
    if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 1):
        raise InputError(f"horizon: {horizon!r} must be an integer of at least 1.")
