"""Shows a comparison of models and writes it to files; for ``nd compare`` and ``nd benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.evaluation.comparison.comparison import Comparison
    from neuro_divergent.interfaces.cli.screen import Screen

FILES = ("forecasts.parquet", "scores.parquet", "comparison.json", "comparison.html")


def check_place(directory: Path | None) -> None:
    """Refuse a place to write to that is a file or holds something else, before any work is done."""
    if directory is None or not directory.exists():
        return
    strangers = [item.name for item in directory.iterdir() if item.name not in FILES] if directory.is_dir() else [""]
    if strangers:
        raise InputError(f"--output: {directory} is there and is not a comparison; name a new directory.")


def kept_folds(store: Path | None) -> str:
    """Return what remains of an interrupted comparison, and how to go on."""
    if store is None:
        return "Interrupted; nothing is kept. With --store DIRECTORY, finished folds are kept and not trained again."
    return f"Interrupted; finished folds are in {store}. Run the same command again to go on."


def show_comparison(
    screen: Screen, comparison: Comparison, scores: pl.DataFrame | None = None, *, verdict: bool = True
) -> None:
    """Show the models, best first, and a sentence on significance if there is to be a verdict."""
    from rich.text import Text

    from neuro_divergent.core.formatting import format_number
    from neuro_divergent.interfaces.cli.screen import new_table
    from neuro_divergent.reporting.report.comparison import comparison_rows, judge_comparison

    titles, rows = comparison_rows(comparison)
    more: dict[str, list[str]] = {}
    if scores is not None:
        extra = [name for name in scores.columns if name not in ("model", "values", comparison.metric)]
        extra = [name for name in extra if not name.endswith("_std")]
        more = {row["model"]: [format_number(row[name]) for name in extra] for row in scores.to_dicts()}
        titles += extra
    table = new_table(*titles, right=titles[1:])
    for row in rows:
        table.add_row(Text(row[0]), *row[1:], *more.get(row[0], ()))
    screen.say("", table)
    if verdict:
        found = judge_comparison(comparison)
        screen.say("", Text(found.text, style="green" if found.is_better else "red"))


def write_comparison(
    directory: Path, comparison: Comparison, *, title: str, forecasts: pl.DataFrame, scores: pl.DataFrame
) -> None:
    """Write tables, JSON and a page to a directory."""
    from neuro_divergent.core.storage import strict_json
    from neuro_divergent.core.storage.atomic import write_file
    from neuro_divergent.data.io.table_file import write_table
    from neuro_divergent.reporting.report.comparison import render_comparison

    directory.mkdir(parents=True, exist_ok=True)
    places = [directory / name for name in FILES]
    write_table(places[0], forecasts)
    write_table(places[1], scores)
    write_file(places[2], strict_json.dumps({"title": title, **comparison.to_dict()}, indent=1))
    write_file(places[3], render_comparison(comparison, title=title, scores=scores).encode())
