"""The figures of a study, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.errors import InputError, MissingDependencyError, did_you_mean
from neuro_divergent.reporting.figures.dependence import contour_figure, partial_dependence_figure
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.figures.search import (
    convergence_figure,
    parallel_coordinates_figure,
    parameter_importance_figure,
    pareto_figure,
    slice_figure,
)
from neuro_divergent.search.dependency import load_optuna, without_warnings
from neuro_divergent.search.surrogate import Surrogate
from neuro_divergent.search.trial import Trial, best_of

if TYPE_CHECKING:
    from neuro_divergent.search.study import Study

_SETTINGS = 4  # that are drawn by themselves among all figures
SLICE, DEPENDENCE, CONTOUR = "slice", "partial-dependence", "contour"


class StudyFigures:
    """Figures of a study as it is now; what several of them need is computed once.

    Args:
        study: The study; its trials are read when this is made.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.goal = study.config.objectives[0]
        self.trials = study.trials
        self.table = study.table

    @property
    def names(self) -> list[str]:
        """Figures of the study as a whole."""
        several = len(self.study.config.objectives) > 1
        return [*_OF_STUDY] if several else [name for name in _OF_STUDY if name != "pareto-front"]

    @cached_property
    def settings(self) -> list[str]:
        """Settings that have several values to try, the most important first."""
        varied = [item.setting for item in self.study.space if len(item.dimension.grid()) > 1]
        return sorted(dict.fromkeys(varied), key=lambda setting: -self.importances.get(setting, 0.0))

    @cached_property
    def importances(self) -> dict[str, float]:
        """How much of the first objective each setting explains, the most important first; none without Optuna."""
        try:
            return importances(self.study)
        except MissingDependencyError:
            return {}

    def figure(self, name: str) -> Figure:
        """Return a figure.

        Args:
            name: One of ``names``, ``slice-SETTING``, ``partial-dependence-SETTING`` or ``contour-SETTING,SETTING``.

        Raises:
            InputError: If there is no such figure, or not enough trials for it.
        """
        if name in self.names:
            return _OF_STUDY[name](self)
        for kind, draw in _OF_SETTINGS.items():
            if name.startswith(f"{kind}-"):
                chosen = name.removeprefix(f"{kind}-").split(",")
                for setting in chosen:
                    if setting not in self.settings:
                        hint = did_you_mean(setting, self.settings)
                        raise InputError(f"{setting!r} is not searched.{hint} Known: {', '.join(self.settings)}.")
                return draw(self, *_right_number(kind, chosen))
        known = [*self.names, *(f"{kind}-SETTING" for kind in (SLICE, DEPENDENCE)), f"{CONTOUR}-SETTING,SETTING"]
        raise InputError(f"{name!r}: no such figure.{did_you_mean(name, known)} Known: {', '.join(known)}.")

    def all(self) -> Iterator[tuple[str, Figure]]:
        """Yield the figures that there are enough trials for: of settings, those of the most important ones."""
        some = self.settings[:_SETTINGS]
        names = [*self.names, *(f"{kind}-{setting}" for kind in (SLICE, DEPENDENCE) for setting in some)]
        if len(some) > 1:
            names.append(f"{CONTOUR}-{some[0]},{some[1]}")
        for name in names:
            with suppress(InputError):
                yield name, self.figure(name)

    @cached_property
    def _surrogate(self) -> Surrogate:
        return Surrogate(self.trials, self.goal.name, self.study.space)

    def _convergence(self) -> Figure:
        return convergence_figure(self.table, self.goal.name, maximize=self.goal.sign < 0)

    def _importances(self) -> Figure:
        labels = self.study.space.labels()
        return parameter_importance_figure({labels[key]: value for key, value in self.importances.items()})

    def _parallel_coordinates(self) -> Figure:
        return parallel_coordinates_figure(self.table, self.goal.name, maximize=self.goal.sign < 0)

    def _pareto_front(self) -> Figure:
        best, front = self.study.best, [trial.number for trial in self.study.front]
        if best is None:
            raise InputError("trials: none is complete yet.")
        return pareto_figure(self.table, self.goal.name, self.study.config.objectives[1].name, front, best.number)

    def _slice(self, setting: str) -> Figure:
        return slice_figure(self.table, self.goal.name, setting)

    def _dependence(self, setting: str) -> Figure:
        found = self._surrogate.dependence(setting)
        note = self._surrogate.note
        if self._surrogate.is_logarithmic:
            note += " Means are geometric, because values differ more than tenfold."
        if found.trials < len(self._surrogate.trials):
            note += f" {found.trials:,} trials have the setting."
        return partial_dependence_figure(
            self.goal.name, setting, found.values, found.mean, found.low, found.high, note=note
        )

    def _contour(self, first: str, second: str) -> Figure:
        model = Surrogate(self.trials, self.goal.name, self.study.space, (first, second))
        across, down = model.columns[first], model.columns[second]
        x = np.array([across.place_in_grid(trial.settings[first]) for trial in model.trials])
        y = np.array([down.place_in_grid(trial.settings[second]) for trial in model.trials])
        best = best_of(model.trials, self.goal.name, self.goal.sign)
        return contour_figure(
            self.goal.name,
            (first, second),
            (across.grid, down.grid),
            model.surface(first, second),
            (x, y),
            best=None if best is None else model.trials.index(best),
            note=f"{model.note} Other settings count as noise.",
        )


def figures_of(study: Study) -> dict[str, Figure]:
    """Return the figures that a study has enough trials for, by name; those of the first objective."""
    return dict(StudyFigures(study).all())


def importances(study: Study) -> dict[str, float]:
    """Return how much of the first objective each setting explains, the most important first (PED-ANOVA).

    They are named by their keys; without two different trials there are none.

    Raises:
        MissingDependencyError: If Optuna is not installed.
    """
    optuna, goal = load_optuna(), study.config.objectives[0]
    complete = [trial for trial in study.trials if trial.state == "complete" and goal.name in trial.values]
    with without_warnings():
        recorded = optuna.create_study()
        recorded.add_trials([_as_optuna(trial, study, goal.sign * trial.values[goal.name]) for trial in complete])
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        try:
            found = optuna.importance.get_param_importances(recorded, evaluator=evaluator)
        except (ValueError, RuntimeError):  # too few trials, or all alike
            return {}
    return {str(name): float(value) for name, value in found.items() if value == value}


def _as_optuna(trial: Trial, study: Study, value: float) -> object:
    active = [item for item in study.space if item.setting in trial.settings and item.is_active(trial.settings)]
    return load_optuna().trial.create_trial(
        value=value,
        params={item.key: item.dimension.encode(trial.settings[item.setting]) for item in active},
        distributions={item.key: item.dimension.distribution() for item in active},
    )


def _right_number(kind: str, settings: list[str]) -> list[str]:
    needed = 2 if kind == CONTOUR else 1
    if len(settings) != needed or len(set(settings)) != needed:
        raise InputError(f"{kind}: needs {needed} different setting{'s' if needed > 1 else ''}, got {settings!r}.")
    return settings


_OF_STUDY: dict[str, Callable[[StudyFigures], Figure]] = {
    "convergence": StudyFigures._convergence,
    "importances": StudyFigures._importances,
    "parallel-coordinates": StudyFigures._parallel_coordinates,
    "pareto-front": StudyFigures._pareto_front,
}
_OF_SETTINGS: dict[str, Callable[..., Figure]] = {
    SLICE: StudyFigures._slice,
    DEPENDENCE: StudyFigures._dependence,
    CONTOUR: StudyFigures._contour,
}
