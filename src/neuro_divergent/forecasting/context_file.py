"""The series that a saved model forecasts from, as plain values and tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.io.table import IN_MEMORY
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.inspection import ROLES

_ARRAYS = ("y", "mask", "past_x", "future_x", "static_x")
_IDS = ("String", *(f"{sign}Int{size}" for sign in ("", "U") for size in (8, 16, 32, 64)))

TENSORS = tuple(f"context.{name}" for name in _ARRAYS)
"""Names of all tensors that a context may have."""


def without_series(context: Panel) -> Panel:
    """Return a panel without values, ids and times, which keeps the roles of the columns and the frequency."""
    nothing = {name: array[:0] for name in ("weight", *_ARRAYS) if (array := getattr(context, name)) is not None}
    return dataclasses.replace(
        context,
        ids=context.ids[:0],
        starts=context.starts[:0],
        offsets=np.zeros(1, np.int64),
        source=IN_MEMORY,
        **nothing,
    )


def context_tensors(context: Panel) -> dict[str, Tensor]:
    """Return the values of series by name; none for a model without context."""
    if not context.num_series:
        return {}
    arrays = {f"context.{name}": getattr(context, name) for name in _ARRAYS}
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items() if array is not None}


def describe_context(context: Panel) -> dict[str, Any]:
    """Return all of a panel that is not an array, as the fields of a description."""
    series = {
        "ids": _encode(context.ids),
        "starts": _encode(context.starts),
        "lengths": context.lengths.tolist(),
    }
    return {
        "schema": context.schema.to_dict(),
        "frequency": str(context.frequency),
        "context": series if context.num_series else None,
        "features": {
            role: [[feature.name, feature.cardinality] for feature in getattr(context, role)] for role in ROLES
        },
        "categories": context.categories,
    }


def rebuild_context(description: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Panel:
    """Return the series that a description and tensors of a model hold, or a panel without any for a model without.

    Raises:
        Exception: Of any kind, if they do not describe a panel; ``inspection`` checks whether its parts agree.
    """
    categories, series = description["categories"], description["context"]
    if not isinstance(categories, dict) or not all(isinstance(values, list) for values in categories.values()):
        raise TypeError("categories")
    features: dict[str, Any] = {
        role: tuple(_feature(*item) for item in description["features"][role]) for role in ROLES
    }
    arrays: dict[str, Any] = {
        name: tensors[f"context.{name}"].numpy() for name in _ARRAYS if f"context.{name}" in tensors
    }
    if series is None:
        if arrays:
            raise ValueError("values of series in a model without context")
        series = {"ids": _encode(pl.Series([], dtype=pl.String)), "starts": _encode(pl.Series([], dtype=pl.Date))}
        series["lengths"] = []
        arrays["y"] = np.zeros(0, np.float32)
        arrays |= {f"{role}_x": np.zeros((0, len(found)), np.float32) for role, found in features.items() if found}
    elif not series["lengths"]:
        raise ValueError("a context without series")
    lengths = series["lengths"]
    if not isinstance(lengths, list) or not all(type(length) is int and 0 < length < 2**40 for length in lengths):
        raise TypeError("lengths")
    return Panel(
        schema=Schema.from_dict(description["schema"]),
        ids=_decode(series["ids"]),
        starts=_decode(series["starts"]),
        frequency=Frequency.parse(description["frequency"]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        categories=categories,
        **arrays,
        **features,
    )


def _feature(name: Any, cardinality: Any) -> Feature:
    if not isinstance(name, str) or not (cardinality is None or (type(cardinality) is int and cardinality > 0)):
        raise TypeError(f"covariate {name!r} {cardinality!r}")
    return Feature(name, cardinality)


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
    if not isinstance(values, list) or not all(type(value) is (str if kind == "String" else int) for value in values):
        raise TypeError(f"values of type {kind!r}")
    if kind == "Datetime":
        return pl.Series(values, dtype=pl.Int64).cast(pl.Datetime(encoded["unit"], encoded["zone"]))
    if kind == "Date":
        return pl.Series(values, dtype=pl.Int32).cast(pl.Date)
    if kind not in _IDS:
        raise ValueError(f"unknown type {kind!r}")
    return pl.Series(values, dtype=getattr(pl, kind))
