"""Reports of a search: the page of a study, and the section in the reports of its runs."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import InputError, MissingDependencyError, StorageError
from neuro_divergent.core.formatting import format_count, format_duration, format_number
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.reporting.figures.dependence import write_setting
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.report.run import render_run
from neuro_divergent.reporting.report.search import SearchSection, render_study
from neuro_divergent.search.figures import StudyFigures
from neuro_divergent.search.reading.recorded_study import RecordedStudy, study_of
from neuro_divergent.search.reading.run_directories import find_runs
from neuro_divergent.search.retention import TRIALS
from neuro_divergent.search.study import BEST, Study
from neuro_divergent.search.trial import Trial

_MOST_TRIALS = 10
_MOST_FAILURES = 20
_OF_STUDY = ("convergence", "pareto-front", "importances")


def open_study(directory: Path) -> Study:
    """Return a study to read: from its own files or, if its trials are elsewhere, from its database.

    If that cannot be reached, the trials are those that have a run here.
    """
    recorded = RecordedStudy.load(directory)
    if not recorded.note:
        return recorded
    study = Study.load(directory)
    try:
        study.store.trials()
    except (StorageError, MissingDependencyError):
        return recorded
    return study


def search_section(run: Path, page: Path) -> SearchSection | None:
    """Return what the report of a run says about the study that it belongs to; ``None`` if it belongs to none.

    Args:
        run: Directory of the run.
        page: Where the report is written.
    """
    place = study_of(run)
    if place is None:
        return None
    study = open_study(place)
    number = run.name.partition("-")[0]
    trial = next((item for item in study.trials if item.name == number), None) if number.isdecimal() else None
    return describe_search(study, page, trial=trial, is_best=run.name == BEST and run.parent == place)


def describe_search(
    study: Study, page: Path, *, trial: Trial | None = None, is_best: bool = False, figures: StudyFigures | None = None
) -> SearchSection:
    """Return how a study searched: on its own page, or in the report of a trial or of the run of the best settings."""
    figures = figures or StudyFigures(study)
    goals, trials = study.config.objectives, figures.trials
    ordered = sorted(
        (item for item in trials if item.is_candidate),
        key=lambda item: [goal.sign * item.values[goal.name] for goal in goals],
    )
    if len(goals) > 1:
        ordered = study.front
    shown = ordered[:_MOST_TRIALS]
    names = [name for name in dict.fromkeys(name for item in shown for name in item.settings) if _differs(name, shown)]
    runs = find_runs(study.directory / TRIALS)
    links = [_link(runs[item.number][0], page) if item.number in runs else None for item in shown]
    note = getattr(study, "note", "")
    return SearchSection(
        study=study.directory.resolve().name,
        role=_role(study, trial, ordered, is_best=is_best),
        text=_summary(study, trials),
        note=note if isinstance(note, str) else "",
        figures=list(_drawn(figures, [name for name in _OF_STUDY if name in figures.names])),
        columns=["trial", *(goal.name for goal in goals), "time", *names],
        rows=[_row(item, [goal.name for goal in goals], names) for item in shown],
        links=links,
        trials=_link(study.directory / TRIALS, page),
    )


def write_study_report(study: Study, page: Path) -> bytes:
    """Write the page of a study, and return its content."""
    figures = StudyFigures(study)
    section = describe_search(study, page, figures=figures)
    best, some = study.best, figures.settings[:4]
    names = [*(f"partial-dependence-{name}" for name in some), *([f"contour-{some[0]},{some[1]}"] if some[1:] else [])]
    names += ["parallel-coordinates"]
    without = [trial for trial in figures.trials if trial.state in ("failed", "refused")]
    state = study.state if isinstance(study, RecordedStudy) else _state(study, figures.trials)
    place = shlex.quote(str(study.directory))
    content = render_study(
        section,
        state=state,
        figures=list(_drawn(figures, names)),
        facts=_facts(study),
        space=[[item.setting, str(item.dimension), ", ".join(item.only) or "all"] for item in study.space],
        failures=[[str(trial.number), trial.state, trial.reason[:400]] for trial in without[-_MOST_FAILURES:]],
        best={}
        if best is None
        else {"command": f"nd search best {place} --fit", "toml": study.settings_of(best).to_toml().strip()},
    ).encode("utf-8")
    write_file(page, content)
    return content


def write_best_report(study: Study, page: Path, trial: Trial) -> None:
    """Write the report of the run that was trained with the settings of a trial, with the search in it."""
    section = describe_search(study, page, trial=trial, is_best=True)
    write_file(page, render_run(page.parent, search=section).encode("utf-8"))


def _role(study: Study, trial: Trial | None, ordered: Sequence[Trial], *, is_best: bool) -> str:
    if is_best:
        chosen = trial or study.best
        return "" if chosen is None else f"This run has the settings of trial {chosen.number}, trained again."
    if trial is None:
        return ""
    place = next((at for at, item in enumerate(ordered, 1) if item.number == trial.number), None)
    if len(study.config.objectives) > 1:
        where = "on the Pareto front" if place is not None else "not on the Pareto front"
    else:
        where = f"number {place} of {len(ordered):,} in the order of results" if place else f"{trial.state}"
    return f"This run is trial {trial.number} of a search: {where}."


def _summary(study: Study, trials: Sequence[Trial]) -> str:
    config = study.config
    goals = " and ".join(f"{goal.direction} {goal.name}" for goal in config.objectives)
    pruner = "no pruner" if config.pruner is None else f"the {config.pruner.name} pruner"
    counts = Counter(trial.state for trial in trials)
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(counts.items()))
    text = (
        f"{format_count(len(trials), 'trial')} by {config.method.name} with {pruner}, to {goals}: {states or 'none'}. "
    )
    best = study.best
    if best is None:
        return f"{text}No trial is complete and meets the constraints."
    values = ", ".join(f"{goal.name} {format_number(best.values[goal.name])}" for goal in config.objectives)
    what = "Recommended" if len(config.objectives) > 1 else "Best"
    first = next((trial for trial in trials if trial.number == 0 and trial.origin == "defaults"), None)
    name = config.objectives[0].name
    if first is not None and first.is_candidate and first.number != best.number:
        values += f"; the defaults had {name} {format_number(first.values[name])}"
    return f"{text}{what}: trial {best.number} with {values}."


def _facts(study: Study) -> list[tuple[str, str]]:
    config, limits = study.config, study.limits
    ends = {
        "trials": lambda value: f"{value:,} trials",
        "seconds": lambda value: format_duration(value),
        "target_value": lambda value: f"{config.objectives[0].name} of {format_number(value)}",
        "patience": lambda value: f"{value:,} trials without a better one",
    }
    given = {key: value for key, value in limits.to_dict().items() if value is not None}
    goals = [
        f"{goal.direction} {goal.name}" + ("" if goal.weight is None else f" ({goal.weight:g})")
        for goal in config.objectives
    ]
    scored = "the validation part" if config.splitter is None else f"folds ({config.splitter.name})"
    return [
        ("Objectives", ", ".join(goals)),
        (
            "Constraints",
            ", ".join(f"{name} ≤ {format_number(most)}" for name, most in config.constraints.items()) or "none",
        ),
        ("Method", f"{config.method.name}, seed {config.seed}"),
        ("Pruner", "none" if config.pruner is None else config.pruner.name),
        ("Scored on", scored + (f", mean of {config.seeds} seeds" if config.seeds > 1 else "")),
        ("Limits", ", or ".join(ends[key](value) for key, value in given.items() if key in ends)),
        ("Data", str(config.run.data.path or "a table in memory")),
        ("Storage", config.storage),
    ]


def _state(study: Study, trials: Sequence[Trial]) -> str:
    if any(trial.state == "running" for trial in trials):
        return "interrupted"
    # Time that is up leaves no other trace than that no trial runs.
    is_over = study.limits.seconds is not None or study.limits.reason(trials, study.config.objectives)
    return "finished" if is_over else "interrupted"


def _drawn(figures: StudyFigures, names: Sequence[str]) -> list[Figure]:
    found = []
    for name in names:
        with suppress(InputError):
            found.append(figures.figure(name))
    return found


def _row(trial: Trial, goals: Sequence[str], names: Sequence[str]) -> list[str]:
    time = "" if trial.seconds is None else format_duration(trial.seconds)
    settings = [write_setting(trial.settings[name]) if name in trial.settings else "" for name in names]
    return [str(trial.number), *(format_number(trial.values[name]) for name in goals), time, *settings]


def _differs(name: str, trials: Sequence[Trial]) -> bool:
    values: list[Any] = [trial.settings.get(name) for trial in trials]
    return any(value != values[0] for value in values)


def _link(place: Path, page: Path) -> str:
    return f"{Path(os.path.relpath(place, page.absolute().parent)).as_posix()}/"
