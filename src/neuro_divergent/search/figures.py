"""All figures of a study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.figures.search import (
    convergence_figure,
    parallel_coordinates_figure,
    parameter_importance_figure,
    pareto_figure,
    slice_figure,
)
from neuro_divergent.search.dependency import load_optuna, without_warnings

if TYPE_CHECKING:
    from neuro_divergent.search.study import Study

_SLICES = 4


def figures_of(study: Study) -> dict[str, Figure]:
    """Return the figures that a study has enough trials for, by name; those of the first objective."""
    return dict(_figures(study))


def importances(study: Study) -> dict[str, float]:
    """Return how much of the first objective each setting explains, the most important first (PED-ANOVA).

    Settings that do not exist in every trial are left out; without two different trials there are none.
    """
    optuna = load_optuna()
    sign = study.config.objectives[0].sign
    with without_warnings():
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        try:
            found = optuna.importance.get_param_importances(
                study.store.optuna_study(), evaluator=evaluator, target=lambda trial: sign * trial.values[0]
            )
        except (ValueError, RuntimeError):  # too few trials, or all alike
            return {}
    return {str(name): float(value) for name, value in found.items() if value == value}


def _figures(study: Study) -> Iterator[tuple[str, Figure]]:
    table, goals = study.table, study.config.objectives
    name, maximize = goals[0].name, goals[0].direction == "maximize"
    weights = importances(study)
    with suppress(InputError):  # none is complete yet
        yield "convergence", convergence_figure(table, name, maximize=maximize)
    with suppress(InputError):
        yield "importances", parameter_importance_figure(weights)
    varied = sorted(
        (item.setting for item in study.store.space if len(item.dimension.grid()) > 1),
        key=lambda setting: -weights.get(setting, 0.0),
    )
    for setting in list(dict.fromkeys(varied))[:_SLICES]:
        with suppress(InputError):
            yield f"slice-{setting}", slice_figure(table, name, setting)
    with suppress(InputError):
        yield "parallel-coordinates", parallel_coordinates_figure(table, name, maximize=maximize)
    if len(goals) > 1 and study.front:
        best, front = study.best, [trial.number for trial in study.front]
        number = None if best is None else best.number
        yield "pareto-front", pareto_figure(table, name, goals[1].name, front, number)
