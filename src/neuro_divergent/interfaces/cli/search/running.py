"""A search on the command line, from its settings to what is shown at its end."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from neuro_divergent.interfaces.cli.interruption import interruptible

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.study import Study

_DEFAULT_TRIALS = 50


def run_study(
    study: Study,
    given: dict[str, Any],
    *,
    jobs: int,
    fit_best: bool,
    screen: Screen,
    data: Any = None,
    ray: str | None = None,
    vectorize: bool | None = None,
) -> None:
    """Run a study, showing the best trials, and show what came out.

    Args:
        study: New, or begun before.
        given: Fields of ``Limits``, ``None`` for those that were not given.
        jobs: Processes; -1 for one per core.
        fit_best: Whether to train the best settings on all rows at the end.
        screen: Where to show it.
        data: As for ``Study.run``.
        ray: Address of the Ray cluster that starts the processes; unset, this machine does.
        vectorize: As for ``Study.run``.
    """
    from neuro_divergent.core.threads import available_cores
    from neuro_divergent.distributed.ray_executor import RayExecutor
    from neuro_divergent.interfaces.cli.search.live import watching
    from neuro_divergent.search.limits import Limits

    limits = {key: value for key, value in given.items() if value is not None}
    if not limits and not study.is_begun:
        limits = {"trials": _DEFAULT_TRIALS}
    shown = Limits(**limits) if limits else study.limits
    watch = f"nd dashboard {shlex.quote(str(study.directory))}"
    screen.facts([("study", str(study.directory)), *_facts(study), ("watch", watch)])
    count = available_cores() if jobs == -1 else jobs
    with interruptible("nd search resume", study.directory), watching(study.directory, screen, shown, count):
        executor = None if ray is None else RayExecutor(ray)
        study.run(data, **limits, jobs=jobs, executor=executor, vectorize=vectorize)
    finish(study, screen, fit_best=fit_best, data=data)


def finish(study: Study, screen: Screen, *, fit_best: bool, data: Any = None) -> None:
    """Show the best trials, draw the figures, and train the best settings if that was asked for."""
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.search.showing import show_study

    plots = study.write_plots()
    show_study(study, screen)
    place = shlex.quote(str(study.directory))
    facts = [("figures", str(plots)), ("trials", f"nd runs {place}/trials")]
    report = None
    if fit_best and study.best is not None:
        with shown_progress(screen.messages):
            outcome = study.fit_best(data)
        report = outcome.files["report"]
        facts.append(("report", report))
    elif study.best is not None:
        facts.append(("next", f"nd search best {place} --fit"))
    screen.say("")
    screen.facts(facts)
    screen.result({**document_of(study), "plots": str(plots), "report": report})


def document_of(study: Study) -> dict[str, Any]:
    """Return what is known of a study as plain values."""
    best, trials = study.best, study.trials
    return {
        "study": str(study.directory),
        "objectives": [goal.to_dict() for goal in study.config.objectives],
        "trials": [trial.to_dict() for trial in trials],
        "best": None if best is None else best.to_dict(),
        "front": [trial.number for trial in study.front],
    }


def _facts(study: Study) -> list[tuple[str, str]]:
    config = study.config
    goals = ", ".join(f"{goal.direction} {goal.name}" for goal in config.objectives)
    pruner = "no pruner" if config.pruner is None else f"pruner {config.pruner.name}"
    return [("search", f"{goals}, by {config.method.name}, {pruner}, {len(config.space)} settings")]
