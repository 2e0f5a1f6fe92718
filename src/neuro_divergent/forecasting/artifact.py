"""A model on disk: weights as safetensors, everything else as JSON, a manifest with hashes over both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from neuro_divergent import __version__
from neuro_divergent.core.atomic import new_directory, read_json, verify_directory
from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.data.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.fitted import Fitted, build_network
from neuro_divergent.forecasting.intervals import Intervals
from neuro_divergent.forecasting.predictor import Predictor
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.config import TrainingConfig

FORMAT = 1
_ROLES = ("past", "future", "static")
_ARRAYS = ("y", "mask", "past_x", "future_x", "static_x")


def save_fitted(fitted: Fitted, path: Path, architecture: Architecture, training: TrainingConfig) -> None:
    """Write a model directory, complete or not at all."""
    tensors = {f"network.{name}": tensor for name, tensor in fitted.predictor.network.state_dict().items()}
    if fitted.predictor.intervals is not None:
        tensors["intervals.errors"] = fitted.predictor.intervals.errors
    if fitted.numbers is not None:
        tensors["scaler.numbers"] = torch.from_numpy(fitted.numbers)
    for role in _ROLES:
        scaling = getattr(fitted.covariates, role)
        if scaling is not None:
            tensors[f"covariates.{role}"] = torch.from_numpy(scaling)
    context = fitted.context
    for name in _ARRAYS:
        array = getattr(context, name)
        if array is not None:
            tensors[f"context.{name}"] = torch.from_numpy(np.ascontiguousarray(array))
    description = {
        "format": FORMAT,
        "version": __version__,
        "architecture": architecture.to_dict(),
        "task": fitted.task.to_dict(),
        "training": training.to_dict(),
        "schema": context.schema.to_dict(),
        "channels": fitted.spec.channels,
        "frequency": str(context.frequency),
        "ids": _encode(context.ids),
        "starts": _encode(context.starts),
        "lengths": context.lengths.tolist(),
        "features": {
            role: [[feature.name, feature.cardinality] for feature in getattr(context, role)] for role in _ROLES
        },
        "categories": context.categories,
        "backend": fitted.backend,
        "history": fitted.history.to_dicts(),
        "environment": fitted.environment,
    }
    with new_directory(path) as work:
        save_file({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, work / "model.safetensors")
        (work / "model.json").write_text(json.dumps(description, indent=1, default=str), "utf-8")


def load_fitted(path: Path) -> tuple[Architecture, TrainingConfig, Fitted]:
    """Read a model directory and check it.

    Raises:
        UntrustedFileError: If it is not a model, was altered, or was written by a newer version.
    """
    description, tensors = _read(path)
    try:
        return _rebuild(description, tensors)
    except (KeyError, TypeError, RuntimeError, IndexError) as error:
        raise UntrustedFileError(f"{path}: does not describe a model ({type(error).__name__}: {error}).") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    if path.suffix in {".pt", ".pth", ".ckpt", ".pkl"}:
        raise UntrustedFileError(f"{path}: pickle is never loaded; a model is a directory written by save().")
    if not (path / "model.json").is_file():
        raise UntrustedFileError(f"{path}: is not a model: a model is a directory with a model.json.")
    verify_directory(path)
    description = read_json(path / "model.json")
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise UntrustedFileError(f"{path / 'model.json'}: does not describe a model.")
    if description["format"] > FORMAT:
        raise UntrustedFileError(
            f"{path}: format {description['format']}, this version reads up to {FORMAT}. Upgrade neuro-divergent."
        )
    try:
        return description, load_file(path / "model.safetensors")
    except SafetensorError as error:
        raise UntrustedFileError(f"{path / 'model.safetensors'}: not a safetensors file ({error}).") from None


def _rebuild(description: dict[str, Any], tensors: dict[str, Tensor]) -> tuple[Architecture, TrainingConfig, Fitted]:
    architecture = Architecture.from_dict(description["architecture"])
    training = TrainingConfig.from_dict(description["training"])
    task = Task.from_dict(description["task"])
    context = _context(description, tensors)
    spec = TaskSpec(
        horizon=task.horizon,
        input_size=task.history,
        channels=description["channels"],
        outputs=task.loss.outputs,
        past=context.past,
        future=context.future,
        static=context.static,
    )
    device = resolve_device(training.device)
    # The weights are replaced at once, so what they are initialised with does not matter.
    with torch.random.fork_rng():
        network = build_network(architecture, task, spec)
    prefix = "network."
    network.load_state_dict({name[len(prefix) :]: item for name, item in tensors.items() if name.startswith(prefix)})
    network.to(device).eval()
    errors, numbers = tensors.get("intervals.errors"), tensors.get("scaler.numbers")
    fitted = Fitted(
        task=task,
        spec=spec,
        context=context,
        predictor=Predictor(network, task.loss, None if errors is None else Intervals(errors)),
        numbers=None if numbers is None else numbers.numpy(),
        covariates=CovariateScaling(
            **{role: tensors[f"covariates.{role}"].numpy() for role in _ROLES if f"covariates.{role}" in tensors}
        ),
        device=device,
        backend=description["backend"],
        history=pl.DataFrame(description["history"], infer_schema_length=None),
        environment=description["environment"],
    )
    return architecture, training, fitted


def _context(description: dict[str, Any], tensors: dict[str, Tensor]) -> Panel:
    arrays: dict[str, Any] = {
        name: tensors[f"context.{name}"].numpy() for name in _ARRAYS if f"context.{name}" in tensors
    }
    features: dict[str, Any] = {
        role: tuple(Feature(name, cardinality) for name, cardinality in items)
        for role, items in description["features"].items()
    }
    return Panel(
        schema=Schema.from_dict(description["schema"]),
        ids=_decode(description["ids"]),
        starts=_decode(description["starts"]),
        frequency=Frequency.parse(description["frequency"]),
        offsets=np.concatenate([[0], np.cumsum(description["lengths"])]).astype(np.int64),
        categories=description["categories"],
        **arrays,
        **features,
    )


def _encode(values: pl.Series) -> dict[str, Any]:
    """Turn ids or times into JSON, with their type."""
    kind = values.dtype
    if isinstance(kind, pl.Datetime):
        return {
            "type": "Datetime",
            "unit": kind.time_unit,
            "zone": kind.time_zone,
            "values": values.to_physical().to_list(),
        }
    if kind == pl.Date:
        return {"type": "Date", "values": values.to_physical().to_list()}
    if kind.is_integer():
        return {"type": str(kind), "values": values.to_list()}
    return {"type": "String", "values": values.cast(pl.String).to_list()}


def _decode(encoded: dict[str, Any]) -> pl.Series:
    kind, values = encoded["type"], encoded["values"]
    if kind == "Datetime":
        return pl.Series(values, dtype=pl.Int64).cast(pl.Datetime(encoded["unit"], encoded["zone"]))
    if kind == "Date":
        return pl.Series(values, dtype=pl.Int32).cast(pl.Date)
    return pl.Series(values, dtype=getattr(pl, kind))
