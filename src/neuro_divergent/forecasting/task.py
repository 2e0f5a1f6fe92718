"""The task: what is forecast, from which history and with which loss and scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import InputError
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
        input_size: Steps of history a forecast is made from. Unset, it is five horizons, or less where the series are
            too short for that.
        loss: What training minimises; it decides what a forecast is: a point, quantiles or a distribution.
        weighting: Weight of each target in the loss, by its age, time or value; a weight column multiplies with it.
        scaler: Takes level and spread out of each window.
        series_scaler: Transforms each series, fitted on its training part.
        validation: Fraction or number of rows at the end of each series that training does not see; used for early
            stopping and to measure intervals.
        test: Fraction or number of rows after those, which training does not use at all.
        stride: Rows between two training windows.
        joint: Whether a window spans all series; unset, it does for architectures that mix channels.
    """

    horizon: Count
    input_size: Count | None = None
    loss: Loss = MAE()
    weighting: Weighting | None = None
    scaler: WindowScaler = StandardScaler()
    series_scaler: SeriesScaler | None = None
    validation: Fraction = 0.2
    test: Fraction = 0
    stride: Count = 1
    joint: bool | None = None

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
        return self

    @property
    def history(self) -> int:
        """The input size of a task that has one."""
        assert self.input_size is not None
        return self.input_size

    def history_for(self, panel: Panel) -> int:
        """Return the input size for a panel.

        Without one given, at least half of the training part of the shortest series is left to make windows from.
        """
        if self.input_size is not None:
            return self.input_size
        held_out = sum(
            int(part * panel.lengths.min()) if part < 1 else int(part) for part in (self.validation, self.test)
        )
        room = (int(panel.lengths.min()) - held_out - self.horizon) // 2
        return max(1, min(5 * self.horizon, room))

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


def check_horizon(horizon: int | None) -> None:
    """Refuse a number of steps to forecast that is not a positive integer.

    Raises:
        InputError: If it is something else.
    """
    if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 1):
        raise InputError(f"horizon: {horizon!r} must be an integer of at least 1.")
