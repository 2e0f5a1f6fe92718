"""Which models of a study are kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from neuro_divergent.core.errors import StorageError
from neuro_divergent.runs.directory import MODEL
from neuro_divergent.runs.remove import delete_model
from neuro_divergent.search.objective import Objective
from neuro_divergent.search.pareto import pareto_front
from neuro_divergent.search.trial import Trial

TRIALS = "trials"
Keep = Literal["all", "best"] | int


def run_directories(study: Path, trial: Trial) -> list[Path]:
    """Return the directories of the runs of a trial: one, or one for each fold and seed."""
    return [path for path in (study / TRIALS / trial.name, *(study / TRIALS).glob(f"{trial.name}-*")) if path.is_dir()]


def kept_trials(trials: Sequence[Trial], objectives: Sequence[Objective], keep: Keep) -> set[int]:
    """Return the numbers of the trials whose models are kept: all that have not ended, and the best of the others.

    More trials never bring back one that is not among them, so that it does not matter which trials a process knows.

    Args:
        trials: All trials.
        objectives: What is best; of several, the Pareto front is kept.
        keep: How many of the best, ``"best"`` for one, or ``"all"``.
    """
    if keep == "all":
        return {trial.number for trial in trials}
    goal = objectives[0]
    if len(objectives) > 1:
        best = pareto_front(trials, objectives)
    else:
        done = (trial for trial in trials if trial.is_candidate)
        best = sorted(done, key=lambda trial: (goal.sign * trial.values[goal.name], trial.number))
        best = best[: 1 if keep == "best" else keep]
    return {trial.number for trial in (*best, *(trial for trial in trials if not trial.is_done))}


class Retention:
    """Removes the models of trials that are not kept; their settings, histories and scores stay.

    Args:
        directory: Directory of the study.
        objectives: Objectives of the study.
        keep: As for ``kept_trials``.
    """

    def __init__(self, directory: Path, objectives: Sequence[Objective], keep: Keep) -> None:
        self._directory, self._objectives, self._keep = directory, objectives, keep
        self._removed: set[int] = set()

    def apply(self, trials: Sequence[Trial]) -> None:
        """Remove the models that are no longer needed, now that there are these trials."""
        kept = kept_trials(trials, self._objectives, self._keep)
        for trial in trials:
            if trial.number in kept or trial.number in self._removed:
                continue
            # Another worker may remove it as well, and one model too many is no reason to end a search.
            with suppress(StorageError, OSError):
                for run in run_directories(self._directory, trial):
                    if (run / MODEL).is_dir() or any(run.glob(f".{MODEL}.*")):  # or half removed by one that died
                        delete_model(run)
                self._removed.add(trial.number)
