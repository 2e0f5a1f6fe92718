"""A comparison of models: in words, as rows of text, and as one HTML page that needs nothing but itself."""

from __future__ import annotations

from typing import Any

import polars as pl

from neuro_divergent import __version__
from neuro_divergent.data.io.source import read_table
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.evaluation.comparison.comparison import Comparison
from neuro_divergent.reporting.report.templates import template
from neuro_divergent.reporting.svg.ticks import show_number
from neuro_divergent.reporting.text_summaries import Verdict, count, show_share

_TESTS = {
    "diebold_mariano": "Diebold and Mariano's test, Holm's correction",
    "nemenyi": "Nemenyi's test",
    "none": "no test",
}


def judge_comparison(comparison: Comparison) -> Verdict:
    """Say which model is best, and whether that is more than luck."""
    rows = read_table(comparison.table).frame.to_dicts()
    best = rows[0]
    if best["model"] in NAMES:
        return Verdict(False, f"No model is better than {best['model']}, which needs no training.")
    if best["model"] == comparison.reference:
        return Verdict(False, f"No model is better than {comparison.reference}.")
    saved = show_share(best["skill"])
    text = f"{best['model']} is best: its {comparison.metric} is {show_number(best['score'])}, "
    text += f"{saved} of that of {comparison.reference} is saved"
    if comparison.test == "none" or best["p_value"] is None:
        return Verdict(True, f"{text}; whether that is more than luck cannot be told from so few values.")
    sure = "more than luck" if best["significant"] else "not more than luck can explain"
    return Verdict(
        bool(best["significant"]), f"{text}, which is {sure} (p {show_chance(best['p_value'], equals='= ')})."
    )


def show_chance(chance: float | None, equals: str = "") -> str:
    """Write a p value; very small ones are no more than that."""
    if chance is None:
        return ""
    return "< 0.0001" if chance < 1e-4 else f"{equals}{chance:.2g}"


def comparison_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return titles and rows of the table, as text."""
    titles = ["model", comparison.metric, "std", "skill", "rank", "p"]
    rows = [
        [
            row["model"],
            show_number(row["score"]),
            show_number(row["std"]),
            show_share(row["skill"]),
            show_number(row["rank"]),
            show_chance(row["p_value"]),
        ]
        for row in read_table(comparison.table).frame.to_dicts()
    ]
    return titles, rows


def render_comparison(comparison: Comparison, *, title: str, scores: pl.DataFrame | None = None) -> str:
    """Return the page.

    Args:
        comparison: What to show.
        title: What it is about.
        scores: Other scores of the models, a row for each.
    """
    return template("comparison.html").render(
        title=title,
        version=__version__,
        version_line=f"Neuro-Divergent {__version__}",
        comparison=comparison,
        chance=show_chance,
        verdict=judge_comparison(comparison),
        facts=[
            ("Values", f"{count(comparison.cutoffs, 'cut-off')}, {comparison.series:,} series that every model has"),
            ("Test", _TESTS[comparison.test]),
        ],
        test=_TESTS[comparison.test],
        models=read_table(comparison.table).frame.to_dicts(),
        pairs=read_table(comparison.pairs).frame.to_dicts(),
        critical=comparison.critical_difference if comparison.critical_difference > 0 else None,
        scores=None if scores is None else _as_text(scores),
    )


def _as_text(scores: pl.DataFrame) -> dict[str, Any]:
    rows = [[value if isinstance(value, str) else show_number(value) for value in row] for row in scores.rows()]
    return {"columns": scores.columns, "rows": rows}
