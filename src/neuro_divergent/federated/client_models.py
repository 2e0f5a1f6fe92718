"""The models of a client: the global one with its own intervals, a personal one, and one of its own alone."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

import polars as pl
from torch import Tensor

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.evaluation.evaluate import evaluate
from neuro_divergent.federated.client import Client
from neuro_divergent.federated.settings import Personalization
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.freezing import Freeze
from neuro_divergent.training.schedules.constant import Constant

ModelKind = Literal["global", "personal", "local"]
_METRICS = ("mae", "rmse", "mase", "skill")


def adapt(client: Client, weights: Tensor) -> Forecaster:
    """Return a forecaster with the shared weights, and scalers, intervals and context of the client."""
    training = _network_training(client, client.shared.config.run.training)
    client.give_weights(training.network, weights)
    training.network.float().eval()
    return _fitted(client, training)


def personalized(client: Client, weights: Tensor) -> Forecaster:
    """Return a forecaster whose shared weights were trained further on the data of the client.

    The validation part of the client decides how long.
    """
    how = client.shared.config.federation.personalization or Personalization()
    config = client.shared.config.run.training.replace(max_epochs=how.epochs, max_steps=None, schedule=Constant())
    config = config.replace(freeze=_frozen(client, how))
    training = _network_training(client, config)
    client.give_weights(training.network, weights)
    training.trainer.fit(training.train, training.validation)
    return _fitted(client, training)


def trained_alone(client: Client) -> Forecaster:
    """Return a forecaster that the client trains on its own data alone, as ``Forecaster.fit`` does."""
    shared = client.shared
    task = {**dict(shared.task), "refit": False}
    forecaster = Forecaster(shared.architecture, training=shared.config.run.training, **task)
    return forecaster.fit(client.prepared.panel)


def score_client(client: Client, weights: Tensor, *, local: bool = False) -> pl.DataFrame:
    """Return the scores of the models of a client on its test part, or its validation part where it has none.

    Args:
        client: The client.
        weights: The shared weights.
        local: Whether a model of its own alone is trained and scored as well.

    Returns:
        A row per model (``global``, ``personal`` if the settings ask for it, ``local``): ``client``, ``model``,
        ``part``, ``windows``, ``mae``, ``rmse``, ``mase`` and ``skill`` over the seasonal naive forecast.
    """
    models: dict[ModelKind, Forecaster] = {"global": adapt(client, weights)}
    if client.shared.config.federation.personalization is not None:
        models["personal"] = personalized(client, weights)
    if local:
        models["local"] = trained_alone(client)
    rows = []
    for kind, forecaster in models.items():
        found = evaluate(forecaster)
        scores = found.table.row(0, named=True)
        own = {name: scores[name] for name in _METRICS}
        rows.append({"client": client.name, "model": kind, "part": found.part, "windows": found.windows, **own})
    return pl.DataFrame(rows)


def _network_training(client: Client, config: TrainingConfig) -> NetworkTraining:
    return NetworkTraining(client.shared.architecture, config.replace(callbacks=()), client.prepared)


def _fitted(client: Client, training: NetworkTraining) -> Forecaster:
    shared = client.shared
    forecaster = Forecaster(shared.architecture, training=shared.config.run.training, **dict(shared.task))
    forecaster.panel, forecaster.split = client.prepared.panel, client.prepared.split
    forecaster._fitted = training.fitted_model()
    return forecaster


def _frozen(client: Client, how: Personalization) -> tuple[Freeze, ...]:
    """Return what is not trained further: all but the layers that are named."""
    if not how.layers:
        return ()
    names = [name for name, _ in client.shared.network.named_parameters()]
    for pattern in how.layers:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigError(f"personalization.layers: {pattern!r} matches no parameter; there are {names[:5]}.")
    return tuple(Freeze(name) for name in names if not any(fnmatchcase(name, pattern) for pattern in how.layers))
