"""``nd runs export``: runs as a table for other programs, or one run as a file to send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.core.formatting import format_count
from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.runs.naming import find_runs, labels_of
from neuro_divergent.interfaces.cli.runs.options import ROOT, Root

EXAMPLES = """\b
Examples:
  nd runs export -o runs.csv
  nd runs export first second --history -o losses.parquet
  nd runs export first -o first.zip
"""
_ARCHIVES = (".zip", ".tar.gz", ".tgz")
_TABLES = (".csv", ".parquet", ".json")


def export_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="File: .csv, .parquet, .json, .zip or .tar.gz.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Runs: paths, or names; all if none is given.")
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="Losses and rates of all runs below each other, not a row per run.")
    ] = False,
    root: Root = ROOT,
    as_json: AsJson = False,
) -> None:
    """Write runs to a table with settings and scores, or one to an archive without its checkpoints."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.runs.status import list_runs

    is_archive = output.name.lower().endswith(_ARCHIVES)
    if not is_archive and output.suffix.lower() not in _TABLES:
        raise InputError(f"{output}: give a file that ends in {', '.join((*_TABLES, *_ARCHIVES))}.")
    paths = find_runs(names, root) if names else [run.path for run in list_runs(root)]
    if not paths:
        raise InputError(f"{root}: no runs there; name some, or another directory with --runs.")
    screen = Screen(as_json=as_json)
    if is_archive:
        if len(paths) > 1 or history:
            raise InputError(f"{output}: an archive holds one whole run; name one, or write a table for several.")
        from neuro_divergent.runs.archive import write_archive

        count = write_archive(paths[0], output)
        screen.say(f"Wrote {paths[0]} to {output}: {count:,} files, without checkpoints.")
        screen.result({"path": str(output), "files": count})
        return
    from neuro_divergent.data.io.table_file import write_table
    from neuro_divergent.runs.export import table_of_histories, table_of_runs

    table = table_of_histories(labels_of(paths), paths) if history else table_of_runs(labels_of(paths), paths)
    write_table(output, table)
    screen.say(f"Wrote {format_count(len(table), 'row')} of {len(paths):,} runs to {output}.")
    screen.result({"path": str(output), "runs": len(paths), "rows": len(table)})
