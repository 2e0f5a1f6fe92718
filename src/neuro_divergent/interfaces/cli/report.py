"""``nd report``: a run, a study or a federation as one self-contained page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson

EXAMPLES = """\b
Examples:
  nd report runs/sales-nhits-20260101-120000
  nd report runs/sales-nhits-20260101-120000 --pdf
  nd report runs/sales-nhits-20260101-120000 -o for-the-boss.html --open
  nd report studies/sales-nhits-20260101-120000
"""


def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Directory of a run, study or federation; it need not be finished.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write (report.html in the directory).")
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also print it to a PDF, through a browser.")] = False,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a run, a study or a federation as one page. It has scores, curves, forecasts and findings."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.federated.reading import is_federation
    from neuro_divergent.runs.status import is_run
    from neuro_divergent.search.reading.recorded_study import is_study

    kinds = {
        "study": (is_study, _write_study),
        "federation": (is_federation, _write_federation),
        "run": (is_run, _write_run),
    }
    what = next((kind for kind, (is_it, _) in kinds.items() if is_it(run)), None)
    if what is None:
        problem = "is not a run, study or federation" if run.exists() else "not found"
        raise InputError(f"{run}: {problem}; give a directory that 'nd train', 'nd search' or 'nd federated' wrote.")
    page = run / "report.html" if output is None else output
    if page.is_dir() or page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{page}: write the page to a .html file" + ("; --pdf prints it as well." if not pdf else "."))

    from neuro_divergent.core.formatting import format_bytes
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.reporting.browser import print_page

    screen = Screen(as_json=as_json)
    with ends_with("Interrupted; the page was not written."), shown_progress(screen.messages, "Writing the page"):
        state, notes, size = kinds[what][1](run, page)
    files = {"report": str(page)}
    if pdf:
        files["pdf"] = str(page.with_suffix(".pdf"))
        print_page(page, page.with_suffix(".pdf"))
    for note in notes:
        screen.say(note)
    if state != "finished":
        screen.say(f"This {what} is not finished ({state}); the page shows its state so far.")
    screen.facts([*files.items(), ("size", format_bytes(size))])
    screen.result({what: str(run), "state": state, "notes": notes, "files": files})
    if show:
        import webbrowser

        webbrowser.open(page.absolute().as_uri())


def _write_federation(run: Path, page: Path) -> tuple[str, list[str], int]:
    """Write the page of a federation, and return its state, no notes and the size of the page."""
    from neuro_divergent.federated.reading import read_federation
    from neuro_divergent.federated.report import write_federation_report

    return read_federation(run).state, [], len(write_federation_report(run, page))


def _write_run(run: Path, page: Path) -> tuple[str, list[str], int]:
    """Write the page of a run, and return its state, notes and the size of the page."""
    from neuro_divergent.core.storage.atomic import write_file
    from neuro_divergent.reporting.report.run import render_run
    from neuro_divergent.runs.status import describe_run
    from neuro_divergent.search.report import search_section
    from neuro_divergent.workflow.results import complete_results

    state = describe_run(run).state
    notes = complete_results(run)
    content = render_run(run, notes=notes, search=search_section(run, page)).encode("utf-8")
    write_file(page, content)
    return state, notes, len(content)


def _write_study(study: Path, page: Path) -> tuple[str, list[str], int]:
    """Write the page of a study, and return its state, notes and the size of the page."""
    from neuro_divergent.search.reading.recorded_study import RecordedStudy
    from neuro_divergent.search.report import open_study, write_study_report

    opened = open_study(study)
    content = write_study_report(opened, page)
    recorded = RecordedStudy.load(study)
    return recorded.state, [opened.note] if isinstance(opened, RecordedStudy) and opened.note else [], len(content)
