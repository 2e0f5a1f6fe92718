"""Settings of an automatic forecaster."""

from __future__ import annotations

from pydantic import Field, field_validator

from neuro_divergent.core.config import Config
from neuro_divergent.search.auto.budget import parse_budget
from neuro_divergent.search.auto.metric import check_metric
from neuro_divergent.search.auto.preset import Preset, find_preset


class AutoConfig(Config):
    """What to forecast, and how much time to spend on finding out how.

    Attributes:
        horizon: Steps to forecast.
        budget: Wall-clock time of ``fit`` in seconds, or as ``"90s"``, ``"10m"``, ``"1h"``; unset, that of the preset.
        preset: ``fast``, ``balanced`` or ``best``: candidates, cut-offs and usual budget.
        metric: Error to minimise on back-tests.
        models: Candidates to choose from, by name; unset, by what the series are like. Naive ones always take part.
        season_length: Rows in a season; unset, it follows from the frequency and the data.
        jobs: Processes side by side; unset, one per core, and none but this one for a short budget.
        seed: Seed of networks and samples.
    """

    horizon: int = Field(ge=1)
    budget: float | None = None
    preset: str = "balanced"
    metric: str = "mase"
    models: tuple[str, ...] | None = None
    season_length: int | None = Field(default=None, ge=1)
    jobs: int | None = Field(default=None, ge=1)
    seed: int = Field(default=1, ge=0)

    @field_validator("budget", mode="before")
    @classmethod
    def _seconds(cls, value: object) -> object:
        return value if value is None else parse_budget(value)  # type: ignore[arg-type]

    @field_validator("metric")
    @classmethod
    def _known_metric(cls, value: str) -> str:
        return check_metric(value)

    @field_validator("preset")
    @classmethod
    def _known_preset(cls, value: str) -> str:
        find_preset(value)
        return value

    @field_validator("models", mode="before")
    @classmethod
    def _one_name(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @property
    def details(self) -> Preset:
        """The preset."""
        return find_preset(self.preset)

    @property
    def seconds(self) -> float:
        """The budget in seconds."""
        return self.details.seconds if self.budget is None else self.budget
