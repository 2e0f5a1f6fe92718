"""Fits a model for the registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.evaluation.evaluate import Evaluation, evaluate
from neuro_divergent.forecasting.prepared_data import read_panel
from neuro_divergent.lifecycle.registry.evidence import Evidence, describe_panel

if TYPE_CHECKING:
    from neuro_divergent.forecasting.protocol import ForecastModel


def train(
    model: ForecastModel, data: Any, *, run: str | Path | None, initial: Any, schema: Mapping[str, Any]
) -> tuple[Evaluation | None, dict[str, Any] | None]:
    """Fit a model in place, and return its scores on what was held out and a description of the data.

    Either is ``None`` where the model or its run has it.
    """
    options: dict[str, Any] = dict(schema)
    options |= {} if run is None else {"run": run}
    options |= {} if initial is None else {"initial": initial}
    model.fit(data, **options)
    if run is not None:
        return None, None
    split = model.split
    has_windows = split is not None and (len(split.test) or len(split.validation))
    scores = evaluate(model) if has_windows else None  # type: ignore[arg-type]  # it uses what every kind has
    return scores, None if Evidence.of_model(model).data else describe_panel(read_panel(data, dict(schema)))
