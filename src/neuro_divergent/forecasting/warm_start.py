"""Weights to start training from: those of a fitted model, or of pre-training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import polars as pl
from torch import nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.forecasting.load import load
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.forecasting.pretrain import DESCRIPTION, Pretrained
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.forecasting.wrapper import ModelWrapper
from neuro_divergent.models.base import Architecture

if TYPE_CHECKING:
    from neuro_divergent.forecasting.fitted import FittedModel
    from neuro_divergent.forecasting.forecaster import Forecaster

Initial: TypeAlias = "Forecaster | Pretrained"
InitialLike: TypeAlias = ForecastModel | Pretrained | str | Path


def load_initial(initial: InitialLike | None) -> Initial | None:
    """Return the one network that weights come from, read from a directory if it is given as one.

    Raises:
        ConfigError: If it has no weights, or those of several networks.
    """
    found = load_initials(initial, 1)
    return None if found is None else found[0]


def load_initials(initial: InitialLike | None, count: int) -> Sequence[Initial] | None:
    """Return what the weights of each of several networks come from.

    Args:
        initial: A fitted model, what ``pretrain`` returned, or a directory of either: of a model or of a run.
        count: Networks that will be trained. All start from the same model unless it is an ensemble of as many.

    Raises:
        ConfigError: If it has no weights, or those of another number of networks.
    """
    from neuro_divergent.forecasting.ensemble.ensemble import Ensemble
    from neuro_divergent.forecasting.forecaster import Forecaster

    if initial is None:
        return None
    if isinstance(initial, str | Path):
        path = Path(initial)
        initial = Pretrained.load(path) if (path / DESCRIPTION).is_file() else load(path)
    while isinstance(initial, ModelWrapper):
        initial = initial.forecaster
    if isinstance(initial, Forecaster | Pretrained):
        return [initial] * count
    if not isinstance(initial, Ensemble):
        raise ConfigError(
            f"initial: {type(initial).__name__} has no weights to start from; pass a fitted model, what pretrain "
            "returned, or the directory of either."
        )
    if len(initial.members) != count:
        raise ConfigError(
            f"initial: an ensemble of {len(initial.members)}, but {count} to train; pass one of its members."
        )
    return initial.members


def fitted_before(initial: Initial | None) -> FittedModel | None:
    """Return the fitted model of a warm start; ``None`` where there is no start, or one from pre-training."""
    return None if initial is None or isinstance(initial, Pretrained) else initial.fitted


def check_initial(initial: Initial | None, prepared: PreparedData) -> None:
    """Check that a network for these data can start from the weights of a fitted model.

    Raises:
        ConfigError: If the network reads or forecasts something else.
    """
    before = fitted_before(initial)
    if before is None:
        return
    if found := _differences(before.spec, prepared.spec):
        raise ConfigError(f"initial: the fitted model has another shape: {'; '.join(found)}.")
    if before.context.categories != prepared.panel.categories:
        raise ConfigError("initial: the categories of the data are not those of the fitted model; pass a table.")


def load_weights(initial: Initial, network: nn.Module, architecture: Architecture) -> None:
    """Load the weights into a new network.

    Raises:
        ConfigError: If they are those of another architecture.
    """
    if before := fitted_before(initial):
        initial = Pretrained(initial.architecture, before.predictor.network.state_dict(), pl.DataFrame())
    assert isinstance(initial, Pretrained)
    initial.give_to(network, architecture)


def _differences(before: TaskSpec, now: TaskSpec) -> list[str]:
    pairs = [("horizon", before.horizon, now.horizon), ("input_size", before.input_size, now.input_size)]
    pairs += [("number of series", before.channels, now.channels), ("outputs", before.outputs, now.outputs)]
    for role in ("past", "future", "static"):
        pairs.append((f"{role} covariates", *(_named(getattr(spec, role)) for spec in (before, now))))  # type: ignore[arg-type]
    return [f"{name} {old} there, {new} here" for name, old, new in pairs if old != new]


def _named(features: tuple[object, ...]) -> str:
    return ", ".join(repr(getattr(feature, "name", feature)) for feature in features) or "none"
