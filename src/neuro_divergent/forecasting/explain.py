"""Variable and attention weights of a forecast, as tables, for networks that have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.io.source import to_native
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.models.reversible import ReversibleNetwork


@dataclass(frozen=True, eq=False)
class Explanation:
    """Weights that a network gave to its variables and to the steps of its window, in forecasts of each series.

    The tables are of the same kind as the input, and begin with the id column if there is one.

    Attributes:
        variables: ``part`` (``static``, ``past`` or ``future``), ``variable`` and ``weight``, the mean over the steps
            of that part; the weights of a part sum to 1.
        attention: ``step`` of the horizon from 1 on, ``position`` of the step it looked at (0 is the last of the
            history, -1 the one before, 1 the first of the horizon) and ``weight``; the weights of a step sum to 1.
    """

    variables: Any
    attention: Any


def explain(context: PredictionContext, name: str) -> Explanation:
    """Forecast once and return the weights of the network.

    Args:
        context: The prepared forecast.
        name: Name of the architecture, for the message.

    Raises:
        ConfigError: If the network has no such weights.
    """
    network: Any = context.fitted.predictor.network
    outer = network if isinstance(network, ReversibleNetwork) else None
    network = network if outer is None else outer.network
    if not hasattr(network, "explain"):
        raise ConfigError(f"{name} has no weights that explain a forecast; tft does.")
    with torch.inference_mode():
        explained = [network.explain(batch if outer is None else outer.inside(batch)) for batch in context.batches]

    def all_of(field: str) -> Array:
        values: Tensor = torch.cat([getattr(part, field) for part in explained]).flatten(0, 1)
        return values.cpu().numpy()

    first, schema = explained[0], context.batcher.panel.schema
    ids = context.batcher.panel.ids
    parts = [
        ("past", all_of("past").mean(1), first.past_names),
        ("future", all_of("future").mean(1), first.future_names),
    ]
    if first.static is not None:
        parts.insert(0, ("static", all_of("static"), first.static_names))
    names = [(part, variable) for part, _, known in parts for variable in known]
    weights = np.concatenate([weights for _, weights, _ in parts], 1)
    attention = all_of("attention")
    count, horizon, steps = attention.shape
    positions = np.arange(steps) - (steps - horizon) + 1

    def table(rows: int, columns: dict[str, Any]) -> Any:
        repeated = ids.gather(np.repeat(np.arange(count, dtype=np.uint32), rows))
        return to_native({**({} if schema.id is None else {schema.id: repeated}), **columns}, context.backend)

    return Explanation(
        table(
            len(names),
            {
                "part": pl.Series([part for part, _ in names] * count),
                "variable": pl.Series([variable for _, variable in names] * count),
                "weight": weights.reshape(-1),
            },
        ),
        table(
            horizon * steps,
            {
                "step": np.tile(np.repeat(np.arange(1, horizon + 1), steps), count),
                "position": np.tile(positions, count * horizon),
                "weight": attention.reshape(-1),
            },
        ),
    )
