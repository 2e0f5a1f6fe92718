"""The files of a saved forecaster: weights as safetensors, everything else as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import numpy as np
import polars as pl
import torch
from torch import Tensor, nn

from neuro_divergent import __version__
from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.data.scaling.spreads import Spreads
from neuro_divergent.forecasting.context_file import TENSORS, context_tensors, describe_context, rebuild_context
from neuro_divergent.forecasting.fitted import FittedModel, build_network, build_spec
from neuro_divergent.forecasting.inspection import (
    ROLES,
    building_within,
    check_context,
    check_errors,
    check_history,
    check_ranks,
    check_scaling,
    check_shapes,
    check_weights,
)
from neuro_divergent.forecasting.load import read_description, rebuilding
from neuro_divergent.forecasting.predictor import Predictor
from neuro_divergent.forecasting.size_limit import SizeLimit, SizeLimitError
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.trained_on import TrainedOn
from neuro_divergent.forecasting.uncertainty.copula import Copula
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.config import TrainingConfig

FORMAT = 4
_DESCRIPTION = "model.json"
_TENSORS = "model.safetensors"
_NETWORK = "network."
_SERIES = ("ids", "starts", "lengths")
_SMALL = 2**25  # numbers of a tensor that is made without a look at the shapes of the whole network before
_FLOAT = "$float"  # marks a JSON object that stands for a number that is not finite


def pack_model(
    fitted: FittedModel, architecture: Architecture, training: TrainingConfig, *, context: bool = True
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a model.

    Args:
        fitted: The fitted model.
        architecture: Its architecture.
        training: How it was trained.
        context: Whether the ends, ids and times of series and the parameters of their scalers are in them; see
            ``FittedModel.without_context``.
    """
    if not context:
        fitted = fitted.without_context()
    yield _TENSORS, dump_tensors(_tensors(fitted))
    # Names, times and lengths of a million series are text and integers: no copy of them is made.
    description = _describe(fitted, architecture, training).items()
    plain = {key: value if key == "context" else _spell(value) for key, value in description}
    yield _DESCRIPTION, strict_json.dumps(plain, indent=1)


def unpack_model(files: Mapping[str, bytes], place: str) -> tuple[Architecture, TrainingConfig, FittedModel]:
    """Return the model that files hold.

    Args:
        files: Contents by name, compared with their manifest.
        place: What they are called in messages.

    Raises:
        UntrustedFileError: If they do not describe a model that can be used, or were written by a newer version.
    """
    if set(files) != {_DESCRIPTION, _TENSORS}:
        raise UntrustedFileError(f"{place}: is not a model: holds {sorted(files)}.")
    description = read_description(files[_DESCRIPTION], f"{place}/{_DESCRIPTION}", FORMAT, kind="Forecaster")
    tensors = load_tensors(files[_TENSORS], f"{place}/{_TENSORS}")
    with rebuilding(place, "Forecaster"):
        return _rebuild(_present(description), tensors)


def _present(description: dict[str, Any]) -> dict[str, Any]:
    """Return a description as the present format has it."""
    version = description["format"]
    if version > 1:  # format 1 has numbers that are not finite as such
        description = _understand(description)
    if version < 3:  # which have no models without context
        description = {**description, "context": {name: description[name] for name in _SERIES}}
    return description


def _tensors(fitted: FittedModel) -> dict[str, Tensor]:
    """Return all arrays of a model by name."""
    tensors = {f"{_NETWORK}{name}": tensor for name, tensor in fitted.predictor.network.state_dict().items()}
    if fitted.predictor.intervals is not None:
        tensors["intervals.errors"] = fitted.predictor.intervals.errors
    if fitted.predictor.copula is not None:
        tensors["copula.ranks"] = fitted.predictor.copula.ranks
    arrays = {"scaler.numbers": fitted.scaler_params}
    if fitted.spreads is not None:
        arrays["spreads.usual"] = np.array([fitted.spreads.relative, fitted.spreads.absolute])
        arrays["spreads.series"] = fitted.spreads.series
    arrays |= {f"covariates.{role}": getattr(fitted.covariates, role) for role in ROLES}
    for name, array in arrays.items():
        if array is not None:
            tensors[name] = torch.from_numpy(np.ascontiguousarray(array))
    return tensors | context_tensors(fitted.context)


def _describe(fitted: FittedModel, architecture: Architecture, training: TrainingConfig) -> dict[str, Any]:
    """Return all of a model that is not an array."""
    return {
        "format": FORMAT,
        "version": __version__,
        "architecture": architecture.to_dict(),
        "task": fitted.task.to_dict(),
        "training": training.to_dict(),
        "channels": fitted.spec.channels,
        **describe_context(fitted.context),
        "backend": fitted.backend,
        "history": fitted.history.to_dicts(),
        "environment": fitted.environment,
        "trained_on": None if fitted.trained_on is None else fitted.trained_on.to_dict(),
        "target_range": None if fitted.trained_on is None else fitted.trained_on.target_range,
    }


def _rebuild(
    description: dict[str, Any], tensors: dict[str, Tensor]
) -> tuple[Architecture, TrainingConfig, FittedModel]:
    architecture = Architecture.from_dict(description["architecture"])
    training = TrainingConfig.from_dict(description["training"])
    task = Task.from_dict(description["task"])
    _check_names(tensors)
    context = rebuild_context(description, tensors)
    channels = description["channels"]
    if type(channels) is not int:
        raise TypeError(f"channels: {channels!r}")
    spec = build_spec(task, context, channels)
    check_context(context, task, spec)
    errors, numbers = tensors.get("intervals.errors"), tensors.get("scaler.numbers")
    check_errors(errors, task.horizon)
    ranks = tensors.get("copula.ranks")
    check_ranks(ranks, task.horizon)
    covariates = CovariateScaling(
        **{role: tensors[f"covariates.{role}"].numpy() for role in ROLES if f"covariates.{role}" in tensors}
    )
    fitted_numbers = None if numbers is None else numbers.numpy()
    check_scaling(context, task.series_scaler, fitted_numbers, covariates)
    check_history(description["history"])
    if description["backend"] not in get_args(Backend) or not isinstance(description["environment"], dict):
        raise ValueError("backend or environment")
    device = resolve_device(training.device)
    network = _network(architecture, task, spec, tensors).to(device).eval()
    fitted = FittedModel(
        task=task,
        spec=spec,
        context=context,
        predictor=Predictor(
            network,
            task.loss,
            None if errors is None else Intervals(errors),
            None if ranks is None else Copula(ranks),
        ),
        scaler_params=fitted_numbers,
        spreads=_spreads(tensors, context),
        covariates=covariates,
        device=device,
        backend=description["backend"],
        history=pl.DataFrame(description["history"], infer_schema_length=None),
        environment=description["environment"],
        trained_on=TrainedOn.from_dict(description.get("trained_on"), description.get("target_range")),
    )
    return architecture, training, fitted


def _spreads(tensors: Mapping[str, Tensor], context: Panel) -> Spreads | None:
    """Return the usual scales of windows; models of earlier versions have none."""
    usual, series = tensors.get("spreads.usual"), tensors.get("spreads.series")
    if usual is None:
        return None
    found = [item for item in (usual, series) if item is not None]
    is_sound = usual.shape == (2,) and (series is None or series.shape == (context.num_series,))
    if not is_sound or not all(bool((item.isfinite() & (item > 0)).all()) for item in found):
        raise ValueError("spreads")
    relative, absolute = usual.tolist()
    return Spreads(relative, absolute, None if series is None else series.numpy())


def _network(architecture: Architecture, task: Task, spec: TaskSpec, tensors: Mapping[str, Tensor]) -> nn.Module:
    """Build the network and give it its weights."""
    weights = {name[len(_NETWORK) :]: item for name, item in tensors.items() if name.startswith(_NETWORK)}
    # The weights are replaced at once, so what they are initialised with does not matter.
    with torch.random.fork_rng():
        try:
            with building_within(weights), SizeLimit(_SMALL):
                network = build_network(architecture, task, spec)
        except SizeLimitError:
            with building_within(weights):
                blank = _without_memory(architecture, task, spec)
                if blank is not None:
                    check_shapes(blank, weights)
                network = build_network(architecture, task, spec)
    check_shapes(network, weights)
    check_weights(network, weights)
    network.load_state_dict(weights)
    return network


def _without_memory(architecture: Architecture, task: Task, spec: TaskSpec) -> nn.Module | None:
    """Build a network on the meta device, so that one that is too large is refused before it takes memory.

    In a new process this takes a second: torch imports its compiler to compute shapes.

    Returns ``None`` for a network that needs real tensors while it is built.
    """
    try:
        with torch.device("meta"):
            return build_network(architecture, task, spec)
    except (NotImplementedError, RuntimeError):
        return None


def _check_names(tensors: Mapping[str, Tensor]) -> None:
    known = {"intervals.errors", "copula.ranks", "scaler.numbers", "spreads.usual", "spreads.series"}
    known |= {f"covariates.{role}" for role in ROLES}
    known |= set(TENSORS)
    unknown = [name for name in tensors if name not in known and not name.startswith(_NETWORK)]
    if unknown:
        raise ValueError(f"tensor {unknown[0]!r}")


def _spell(value: Any) -> Any:
    """Replace numbers that are not finite, which JSON does not have, by objects with their name."""
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(value)}
    if isinstance(value, (list, tuple)):
        return [_spell(item) for item in value]
    return {key: _spell(item) for key, item in value.items()} if isinstance(value, dict) else value


def _understand(value: Any) -> Any:
    """Undo ``_spell``."""
    if isinstance(value, list):
        return [_understand(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {_FLOAT} and value[_FLOAT] in ("inf", "-inf", "nan"):
        return float(value[_FLOAT])
    return {key: _understand(item) for key, item in value.items()}
