"""Weights to start training from: those of a fitted forecaster, or of pre-training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.forecasting.pretrain import DESCRIPTION, Pretrained
from neuro_divergent.runs.directory import MODEL

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster


def load_initial(initial: Forecaster | Pretrained | str | Path | None) -> Forecaster | Pretrained | None:
    """Return what weights come from, read from a directory if it is given as one: of a model, a run or pre-training."""
    from neuro_divergent.forecasting.forecaster import Forecaster

    if initial is None or isinstance(initial, Forecaster | Pretrained):
        return initial
    if not isinstance(initial, str | Path):
        raise ConfigError(
            f"initial: {type(initial).__name__} has no weights to start from; pass a fitted forecaster, what pretrain "
            "returned, or the directory of either."
        )
    path = Path(initial)
    if (path / DESCRIPTION).is_file():
        return Pretrained.load(path)
    return Forecaster.load(path / MODEL if (path / MODEL).is_dir() else path)


def initial_weights(initial: Forecaster | Pretrained | None, prepared: PreparedData) -> Pretrained | None:
    """Return the weights of a fitted forecaster, if a network for these data can start from them.

    Raises:
        ConfigError: If the network reads or forecasts something else.
    """
    if initial is None or isinstance(initial, Pretrained):
        return initial
    fitted = initial.fitted
    if found := list(_differences(fitted.spec, prepared.spec)):
        raise ConfigError(f"initial: the fitted model has another shape: {'; '.join(found)}.")
    if fitted.context.categories != prepared.panel.categories:
        raise ConfigError("initial: the categories of the data are not those of the fitted model; pass a table.")
    weights = fitted.predictor.network.state_dict()
    return Pretrained(
        initial.architecture, {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}, pl.DataFrame()
    )


def _differences(before: TaskSpec, now: TaskSpec) -> list[str]:
    pairs = [("horizon", before.horizon, now.horizon), ("input_size", before.input_size, now.input_size)]
    pairs += [("number of series", before.channels, now.channels), ("outputs", before.outputs, now.outputs)]
    for role in ("past", "future", "static"):
        pairs.append((f"{role} covariates", *(_named(getattr(spec, role)) for spec in (before, now))))  # type: ignore[arg-type]
    return [f"{name} {old} there, {new} here" for name, old, new in pairs if old != new]


def _named(features: tuple[object, ...]) -> str:
    return ", ".join(repr(getattr(feature, "name", feature)) for feature in features) or "none"
