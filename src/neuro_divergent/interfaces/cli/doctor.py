"""``nd doctor``: diagnoses a run: findings, evidence, and settings to change."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson

if TYPE_CHECKING:
    from rich.text import Text

    from neuro_divergent.diagnostics.finding import Diagnosis, Finding
    from neuro_divergent.interfaces.cli.screen import Screen

EXAMPLES = """\b
Examples:
  nd doctor runs/sales-nhits-20260101-120000
  nd doctor runs/sales-nhits-20260101-120000 --json
  nd doctor runs/sales-nhits-20260101-120000 --strict
"""
_STYLES = {"problem": "bold red", "warning": "yellow", "hint": "cyan"}
_FAILED = 1


def doctor(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory; the run may still be training.")],
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there is a problem or a warning.")] = False,
    as_json: AsJson = False,
) -> None:
    """Diagnose a run: findings with evidence and settings to change."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.diagnostics.doctor import diagnose
    from neuro_divergent.interfaces.cli.found_runs import latest_run
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    if not run.is_dir():
        what = "is not a directory" if run.exists() else "not found"
        raise InputError(
            f"{run}: {what}; give a directory of 'nd train', such as {latest_run() or 'runs/sales-nhits'}."
        )
    screen = Screen(as_json=as_json)
    with shown_progress(screen.messages, "Diagnosing"):
        diagnosis = diagnose(run)
    command = suggested_command(run, diagnosis)
    _show(diagnosis, command, screen)
    screen.result({"run": str(run), **diagnosis.to_dict(), "command": command})
    if strict and diagnosis.of("problem", "warning"):
        raise typer.Exit(_FAILED)


def suggested_command(run: Path, diagnosis: Diagnosis) -> str | None:
    """Return the command that trains again with the changes of problems and warnings, or else of hints; or ``None``.

    Where several findings ask for another value of a setting, the worst one decides.
    """
    from neuro_divergent.diagnostics.finding import Diagnosis as Wanted

    serious = Wanted(diagnosis.of("problem", "warning"))
    changes = (serious if serious.findings else diagnosis).changes
    if not changes or not (run / "config.toml").is_file():
        return None
    settings = " ".join(f"--set {shlex.quote(str(change))}" for change in changes)
    return f"nd train {shlex.quote(str(run / 'config.toml'))} {settings}"


def _show(diagnosis: Diagnosis, command: str | None, screen: Screen) -> None:
    from rich.text import Text

    for finding in diagnosis.findings:
        screen.say(*_lines(finding), "")
    screen.say(diagnosis.summary)
    if command is not None:
        screen.say("", "To try all of it:", f"  {command}")
    if diagnosis.not_checked:
        screen.say("", "Not checked:")
        reasons: dict[str, list[str]] = {}
        for name, why in diagnosis.not_checked.items():
            reasons.setdefault(why, []).append(name.replace("_", " "))
        for why, names in reasons.items():
            screen.say(Text(f"  {', '.join(names)}: {why}", style="dim"))


def _lines(finding: Finding) -> list[Text]:
    from rich.text import Text

    head = Text.assemble((finding.severity, _STYLES[finding.severity]), f": {finding.title}")
    changes = (Text.assemble(f"  {change}  ", (change.why, "dim")) for change in finding.changes)
    return [head, Text(f"  {finding.evidence}"), *changes]
