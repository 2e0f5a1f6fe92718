"""``nd report``: a run as one self-contained page."""

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
"""


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory; the run need not be finished.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write (report.html in the run directory).")
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also print it to a PDF, through a browser.")] = False,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a run as one page: scores, curves, forecasts, findings."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.runs.status import describe_run, is_run

    if not is_run(run):
        what = "is not a run" if run.exists() else "not found"
        raise InputError(f"{run}: {what}; give a directory that 'nd train' wrote, such as runs/sales-nhits.")
    page = run / "report.html" if output is None else output
    if page.is_dir() or page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{page}: write the page to a .html file" + ("; --pdf prints it as well." if not pdf else "."))

    from neuro_divergent.core.formatting import format_bytes
    from neuro_divergent.core.storage.atomic import write_file
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.reporting.browser import print_page
    from neuro_divergent.reporting.report.run import render_run
    from neuro_divergent.workflow.results import complete_results

    screen = Screen(as_json=as_json)
    state = describe_run(run).state
    notes = complete_results(run)
    content = render_run(run, notes=notes).encode("utf-8")
    write_file(page, content)
    files = {"report": str(page)}
    if pdf:
        files["pdf"] = str(page.with_suffix(".pdf"))
        print_page(page, page.with_suffix(".pdf"))
    for note in notes:
        screen.say(note)
    if state != "finished":
        screen.say(f"This run is not finished ({state}); the page shows its state so far.")
    screen.facts([*files.items(), ("size", format_bytes(len(content)))])
    screen.result({"run": str(run), "state": state, "notes": notes, "files": files})
    if show:
        import webbrowser

        webbrowser.open(page.absolute().as_uri())
