"""``nd panel append``: new rows, without writing again what is there."""

from __future__ import annotations

from typing import Annotated

import typer

from neuro_divergent.core.errors import check_choice
from neuro_divergent.interfaces.cli.options import AsJson, Quiet
from neuro_divergent.interfaces.cli.panel.options import PanelPath

EXAMPLES = """\b
Examples:
  nd panel append panel/ today.parquet
  nd panel append panel/ 'new/*.csv' --skip-known
  nd panel append panel/ today.csv --gaps forward --missing mask
"""
_POLICIES = ("error", "interpolate", "forward", "zero", "mask")


def append(
    panel: PanelPath,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Table with the new rows, CSV or Parquet; or a pattern.")],
    skip_known: Annotated[
        bool, typer.Option("--skip-known", help="Leave out rows up to the last known time of their series.")
    ] = False,
    missing: Annotated[
        str | None, typer.Option("--missing", help=f"Policy for missing values: {', '.join(_POLICIES)} (the panel's).")
    ] = None,
    gaps: Annotated[
        str | None, typer.Option("--gaps", help="Policy for missing rows, with the same values (the panel's).")
    ] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="How CSV files are written (the panel's).")] = None,
    date_format: Annotated[
        str | None, typer.Option("--date-format", help="How times are written, as for strptime (the panel's).")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Add later rows of known series and new series to a panel. Nothing that is there is written again."""
    for name, policy in (("missing", missing), ("gaps", gaps)):
        if policy is not None:
            check_choice(f"policy --{name}", policy, _POLICIES)
    from neuro_divergent.core.formatting import format_count
    from neuro_divergent.data.panel_store.appending import append_rows
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    screen = Screen(quiet=quiet, as_json=as_json)
    with ends_with(f"Interrupted; {panel} is as it was."), shown_progress(screen.messages, "Adding rows"):
        done = append_rows(
            panel,
            data,
            skip_known=skip_known,
            missing=missing,  # type: ignore[arg-type]
            gaps=gaps,  # type: ignore[arg-type]
            encoding=encoding,
            date_format=date_format,
        )
    skipped = f"; {format_count(done.skipped, 'row')} known before left out" if done.skipped else ""
    if done.part is None:
        screen.say(f"{panel}: no new rows{skipped}.")
    else:
        new = f", {done.new_series:,} of them new" if done.new_series else ""
        screen.say(f"{panel}: {format_count(done.rows, 'row')} of {done.series:,} series{new}{skipped}.")
    screen.result(
        {
            "panel": str(panel),
            "part": done.part,
            "rows": done.rows,
            "series": done.series,
            "new_series": done.new_series,
            "skipped": done.skipped,
        }
    )
