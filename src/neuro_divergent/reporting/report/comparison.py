"""A comparison of models: as a sentence, as rows of text, and as one self-contained HTML page."""

from __future__ import annotations

import polars as pl

from neuro_divergent import __version__
from neuro_divergent.core.formatting import format_count, format_number, format_p_value, format_percent
from neuro_divergent.data.io.source import read_table
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.evaluation.comparison.comparison import Comparison
from neuro_divergent.reporting.report.templates import template
from neuro_divergent.reporting.text_summaries import Verdict

_TESTS = {
    "diebold_mariano": "Diebold and Mariano's test, Holm's correction",
    "nemenyi": "Nemenyi's test",
    "none": "no test",
}


def judge_comparison(comparison: Comparison) -> Verdict:
    """Say which model is best, and whether the difference is significant."""
    rows = read_table(comparison.table).frame.to_dicts()
    best = rows[0]
    if best["model"] in NAMES:
        return Verdict(False, f"No model is better than {best['model']}, which needs no training.")
    if best["model"] == comparison.reference:
        return Verdict(False, f"No model is better than {comparison.reference}.")
    text = f"{best['model']} is best: its {comparison.metric} is {format_number(best['score'])}, "
    text += f"{format_percent(best['skill'])} less than that of {comparison.reference}"
    if comparison.test == "none" or best["p_value"] is None:
        return Verdict(True, f"{text}; there are too few values for a significance test.")
    sure = "significant" if best["significant"] else "not significant"
    chance = format_p_value(best["p_value"])
    relation = chance if chance.startswith("<") else f"= {chance}"
    return Verdict(bool(best["significant"]), f"{text}; the difference is {sure} (p {relation}).")


def comparison_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return titles and rows of the table, as text."""
    titles = ["model", comparison.metric, "std", "skill", "rank", "p"]
    names = ("score", "std", "skill", "rank", "p_value")
    formats = (format_number, format_number, format_percent, format_number, format_p_value)
    rows = read_table(comparison.table).frame.to_dicts()
    return titles, [
        [row["model"], *(show(row[name]) for name, show in zip(names, formats, strict=True))] for row in rows
    ]


def render_comparison(comparison: Comparison, *, title: str, scores: pl.DataFrame | None = None) -> str:
    """Return the page, with other scores of the models, a row for each, if there are any."""
    values = f"{format_count(comparison.cutoffs, 'cut-off')}, {comparison.series:,} series that every model has"
    return template("comparison.html").render(
        title=title,
        version=__version__,
        version_line=f"Neuro-Divergent {__version__}",
        comparison=comparison,
        chance=format_p_value,
        verdict=judge_comparison(comparison),
        facts=[("Values", values), ("Test", _TESTS[comparison.test])],
        test=_TESTS[comparison.test],
        models=read_table(comparison.table).frame.to_dicts(),
        pairs=read_table(comparison.pairs).frame.to_dicts(),
        critical=comparison.critical_difference if comparison.critical_difference > 0 else None,
        scores=scores,
    )
