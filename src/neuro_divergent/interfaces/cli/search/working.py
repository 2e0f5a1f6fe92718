"""``nd search resume`` and ``nd search worker``."""

from __future__ import annotations

from typing import Annotated

from neuro_divergent.interfaces.cli.options import AsJson, Quiet, RayAddress, check_ray, option
from neuro_divergent.interfaces.cli.search.showing import StudyPath
from neuro_divergent.interfaces.cli.search.starting import (
    Jobs,
    Patience,
    Target,
    Time,
    Trials,
    Vectorized,
    parse_duration,
)

EXAMPLES = """\b
Examples:
  nd search resume studies/sales-nhits-20260101-120000
  nd search resume studies/sales-nhits-20260101-120000 --trials 100 --jobs 2
  nd search worker studies/sales-nhits-20260101-120000
"""
Data = Annotated[str | None, option("--data", metavar="FILE", text="The table, if it has moved.")]


def resume_command(
    study: StudyPath,
    trials: Trials = None,
    seconds: Time = None,
    target: Target = None,
    patience: Patience = None,
    jobs: Jobs = 1,
    ray: RayAddress = None,
    vectorize: Vectorized = None,
    data: Data = None,
    fit_best: Annotated[bool, option("--fit-best", text="Train the best one on all rows at the end.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a study that was interrupted or killed, or with more trials."""
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.interfaces.cli.search.running import run_study
    from neuro_divergent.search.study import Study

    if ray is not None:
        check_ray(ray)
    limits = {"trials": trials, "seconds": parse_duration(seconds), "target_value": target, "patience": patience}
    screen = Screen(quiet=quiet, as_json=as_json)
    found = Study.load(study)
    run_study(found, limits, jobs=jobs, fit_best=fit_best, screen=screen, data=data, ray=ray, vectorize=vectorize)


def worker_command(study: StudyPath, data: Data = None, quiet: Quiet = False) -> None:
    """Work on a study that another process has begun, here or on another machine, until it ends."""
    from neuro_divergent.interfaces.cli.interruption import interruptible
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.study import Study

    found, screen = Study.load(study), Screen(quiet=quiet)
    with interruptible("nd search resume", study):
        reason = found.join(data)
    screen.facts([("study", str(study)), ("ended", reason)])
