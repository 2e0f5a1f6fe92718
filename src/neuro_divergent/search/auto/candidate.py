"""Candidates: what a search may try, by name and settings, and the models they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal

from pydantic import Field

from neuro_divergent.core.config import Config
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.statistical.statistical import Statistical
from neuro_divergent.models.base import Architecture
from neuro_divergent.search.auto.metric import SQUARED

Kind = Literal["naive", "statistical", "network"]


class Candidate(Config):
    """A model with its settings.

    Attributes:
        name: What tables call it; unique in a search.
        kind: A naive forecast, a statistical model of each series, or a network for all.
        model: Name of the naive forecast, of the statistical model or of the architecture.
        settings: Settings of a network by dotted name, as for ``Forecaster.with_settings``.
    """

    name: str
    kind: Kind
    model: str
    settings: dict[str, Any] = Field(default_factory=dict)


class Setting(Config):
    """What all candidates of a search share.

    Attributes:
        horizon: Steps to forecast.
        season: Rows in a season.
        metric: The metric that is minimised.
        seed: Seed of networks.
    """

    horizon: int = Field(ge=1)
    season: int = Field(ge=1)
    metric: str = "mase"
    seed: int = Field(default=1, ge=0)


def build_network(
    candidate: Candidate, setting: Setting, *, steps: int, validated: bool, changes: Mapping[str, Any] | None = None
) -> Forecaster:
    """Return the unfitted forecaster of a network.

    It uses one thread: candidates run side by side, and its weights do not depend on the machine's cores then.

    Args:
        candidate: The network.
        setting: What all candidates share.
        steps: Steps of training, at most if ``validated``.
        validated: Whether a validation part decides how many steps are best; else all rows are trained on.
        changes: Further settings, of more weight than those of the candidate.
    """
    loss = "mse" if setting.metric in SQUARED else "mae"
    forecaster = Forecaster(candidate.model, horizon=setting.horizon, loss=loss, season_length=setting.season)
    usual = {"training.threads": 1, "training.seed": setting.seed}
    forecaster = forecaster.with_settings({**usual, **candidate.settings, **(changes or {})})
    limits: dict[str, Any] = {"training.max_steps": steps, "training.max_epochs": None}
    if not validated:
        limits |= {"task.validation": 0, "task.refit": False, "training.early_stopping": None}
    return forecaster.with_settings(limits)


def build_statistical(candidate: Candidate, setting: Setting) -> Statistical:
    """Return the unfitted statistical model.

    Raises:
        MissingDependencyError: If the extra ``statistical`` is not installed.
    """
    # Which rows are held out does not matter: only given windows are forecast.
    rest: dict[str, Any] = {"season_length": setting.season, "input_size": 1, "validation": 0}
    return Statistical(candidate.model, horizon=setting.horizon, **rest, **candidate.settings)


def has_statistical() -> bool:
    """Whether the extra for statistical models is installed."""
    return find_spec("statsforecast") is not None


def visible(candidate: Candidate, panel: Panel) -> Panel:
    """Return a panel with the covariates that a candidate can use."""
    if candidate.kind != "network":
        return panel.without_covariates("past", "future", "static")
    traits = Architecture.registry.get(candidate.model).traits
    return panel.without_covariates(
        *(role for role in ("past", "future", "static") if not getattr(traits, f"{role}_x"))
    )
