"""What a search makes as small or as large as possible."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError, did_you_mean
from neuro_divergent.evaluation.scoring.formulas import METRICS
from neuro_divergent.evaluation.scoring.requests import split_name

RESOURCES = {
    "seconds": "seconds of training",
    "latency": "milliseconds to forecast one window",
    "parameters": "trainable parameters",
}
_HIGHER_IS_BETTER = ("r2", "directional_accuracy", "skill")
_NO_DIRECTION = ("bias", "coverage", "calibration")
_NEED_REFERENCE = ("skill", "owa")
_USUAL_LEVEL = 80.0


class Objective(Config):
    """A metric of the forecasts, or what they cost.

    Attributes:
        name: Metric such as ``mase``, ``crps`` or ``winkler-80``, or ``seconds`` (of training), ``latency``
            (milliseconds to forecast a window) or ``parameters``.
        direction: Whether less is better, or more; unset, what is better for the metric.
        weight: How much it counts where one trial of a Pareto front is recommended; unset for all, the knee of the
            front is.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.search.Objective(name="mae").direction, nd.search.Objective(name="r2").direction
        ('minimize', 'maximize')
        >>> nd.search.Objective(name="coverage-80")
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: coverage is best at a value in between; use an error such as ...
    """

    name: str
    direction: Literal["minimize", "maximize"] = "minimize"
    weight: float | None = Field(default=None, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, values: Any) -> Any:
        """Accept a name alone, and choose the direction of a metric."""
        if isinstance(values, str):
            values = {"name": values}
        if not isinstance(values, dict) or not isinstance(values.get("name"), str):
            return values
        base = metric_of(values["name"])
        if base in _NEED_REFERENCE:
            raise ValueError(f"{base} compares with another model, which a trial has not; use mase or mae")
        if base in _NO_DIRECTION and "direction" not in values:
            raise ValueError(f"{base} is best at a value in between; use an error such as mae or winkler-80")
        default = "maximize" if base in _HIGHER_IS_BETTER else "minimize"
        return {"direction": default, **values}

    @property
    def sign(self) -> int:
        """1 where less is better, -1 where more is."""
        return 1 if self.direction == "minimize" else -1


def metric_of(name: str) -> str:
    """Return the metric or resource that a name such as ``winkler-80`` begins with.

    Raises:
        ConfigError: If there is no such metric.
    """
    if name in RESOURCES:
        return name
    try:
        return split_name(name)[0]
    except ConfigError:
        known = [*METRICS, *RESOURCES]
        raise ConfigError(f"Unknown metric {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}.") from None


def levels_for(names: list[str]) -> tuple[float, ...]:
    """Return the levels of the intervals, in percent, that some metrics need."""
    levels = set()
    for name in names:
        if name in RESOURCES or METRICS[metric_of(name)].needs == "point":
            continue
        number = split_name(name)[1]
        is_level = METRICS[metric_of(name)].needs == "intervals" and number is not None
        levels.add(float(number) if is_level and number is not None else _USUAL_LEVEL)
    return tuple(sorted(levels))
