"""``nd search show`` and ``nd search best``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson, option

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.study import Study

EXAMPLES = """\b
Examples:
  nd search show studies/sales-nhits-20260101-120000
  nd search show studies/sales-nhits-20260101-120000 --figure partial-dependence-training.optimizer.lr
  nd search best studies/sales-nhits-20260101-120000 > best.toml
  nd search best studies/sales-nhits-20260101-120000 --fit
"""
_ENOUGH = 10  # complete trials from which the importance of settings is more than chance
_LONGEST = 300  # letters of a reason
StudyPath = Annotated[Path, typer.Argument(metavar="STUDY", help="Directory of a study.")]


def show_command(
    study: StudyPath,
    most: Annotated[int, typer.Option("--best", help="How many of the best trials to show.", min=1)] = 10,
    figure: Annotated[
        str | None,
        option(
            "--figure", metavar="NAME", text="Write a figure as SVG, or to --output: convergence, slice-SETTING, ..."
        ),
    ] = None,
    output: Annotated[Path | None, option("--output", "-o", text="File of the figure (STUDY/plots/NAME.svg).")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the best trials, the importance of settings and the failures of a study, or write one of its figures."""
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.interfaces.cli.search.running import document_of
    from neuro_divergent.search.study import Study

    found, screen = Study.load(study), Screen(as_json=as_json)
    if figure is not None:
        path = _write_figure(found, figure, output)
        screen.facts([("figure", str(path))])
        screen.result({"figure": str(path)})
        return
    show_study(found, screen, most)
    screen.result({**document_of(found), "importances": found.importances})


def best_command(
    study: StudyPath,
    trial: Annotated[int | None, option("--trial", text="Another trial than the best one.")] = None,
    fit: Annotated[bool, option("--fit", text="Train it on all rows, with a report, in STUDY/best.")] = False,
    output: Annotated[Path | None, option("--output", "-o", text="Directory of that run.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the best settings as a run in TOML, for 'nd train', or train them."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.study import Study

    found, screen = Study.load(study), Screen(as_json=as_json)
    known = {item.number: item for item in found.trials}
    if trial is not None and trial not in known:
        raise InputError(f"{study}: there is no trial {trial}; there are 0 to {len(known) - 1}.")
    chosen = found.best if trial is None else known[trial]
    if chosen is None:
        raise InputError(found.why_no_best())
    if fit:
        with shown_progress(screen.messages):
            outcome = found.fit_best(run=output, trial=chosen)
        place = shlex.quote(str(Path(outcome.files["model"]).parent))
        facts = [("report", outcome.files["report"]), ("model", outcome.files["model"])]
        screen.facts([*facts, ("next", f"nd predict {place}")])
        screen.result({"trial": chosen.to_dict(), "files": outcome.files})
        return
    config = found.settings_of(chosen)
    if not as_json:
        typer.echo(config.to_toml(), nl=False)
    screen.result({"trial": chosen.to_dict(), "config": config.to_dict()})


def _write_figure(study: Study, name: str, output: Path | None) -> Path:
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.core.storage.atomic import write_file
    from neuro_divergent.reporting.svg.file import render_svg
    from neuro_divergent.search.figures import StudyFigures

    path = study.directory / "plots" / f"{name}.svg" if output is None else output
    if path.suffix.lower() != ".svg":
        raise InputError(f"{path}: figures are written as .svg.")
    content = render_svg(StudyFigures(study).figure(name)).encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)
    return path


def show_study(study: Study, screen: Screen, most: int = 10) -> None:
    """Show counts, the best trials or the Pareto front, what matters, and why trials failed."""
    from neuro_divergent.interfaces.cli.search.live import describe_settings, summary, trial_rows

    trials, config = study.trials, study.config
    plain = not (screen.output.encoding or "").lower().startswith("utf")
    screen.say(*summary(trials, config, plain=plain), "")
    best = study.best
    if len(config.objectives) > 1 and study.front:
        screen.say("Pareto front", trial_rows(study.front, config, most), "")
    elif best is not None:
        screen.say(trial_rows(trials, config, most), "")
    if best is not None:
        what = "recommended" if len(config.objectives) > 1 else "best"
        screen.facts([(what, f"trial {best.number}: {describe_settings(best.settings)}")])
        if sum(trial.state == "complete" for trial in trials) >= _ENOUGH:
            shown = list(study.importances.items())[:5]
            labels = study.space.labels()
            weights = [f"{labels[key]} {100 * value:.0f} %" for key, value in shown if value > 0]
            if weights:
                screen.facts([("matters", ", ".join(weights))])
    failed = [trial for trial in trials if trial.state in ("failed", "refused")]
    for trial in failed[-3:]:
        screen.say(f"trial {trial.number} {trial.state}: {trial.reason[:_LONGEST]}")
