"""A result as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from neuro_divergent import __version__
from neuro_divergent.core.formatting import format_number, format_p_value, format_time
from neuro_divergent.lifecycle.drift.drift_result import DriftResult
from neuro_divergent.lifecycle.drift.figures import drift_figures
from neuro_divergent.reporting.report.templates import template
from neuro_divergent.reporting.svg.inline import render_inline_svg, stylesheet

_MOST_ROWS = 200
_STYLES = {"no drift": "good", "drift": "bad", "incident": "bad", "not judged": "open"}
PANEL_TITLES = ("panel", "change", "standard error", "degrees of freedom", "p")
SERIES_TITLES = ("series", "level", "size", "p", "since", "stands out in")


def render_drift(results: Sequence[DriftResult], *, title: str) -> str:
    """Return the page of one or more results: words, figures and the series that stand out."""
    head = template("head.html").render(title=title, style=stylesheet())
    parts = [head, "<body><header>", f"<h1>{escape(title)}</h1>"]
    parts.append(f'<p class="quiet">Drift, made with Neuro-Divergent {escape(__version__)}</p></header>')
    for result in results:
        parts += _section(result, heading=len(results) > 1)
    return "\n".join([*parts, "</body></html>", ""])


def series_rows(result: DriftResult) -> list[list[str]]:
    """Return a row of text for each series that stands out: name, level, size, p, since and tests."""
    return [
        [
            str(named.id),
            f"{named.level:+.2f} sd",
            f"x{format_number(named.size)}",
            format_p_value(named.p_value),
            "" if named.since is None else format_time(named.since),
            ", ".join(named.reasons),
        ]
        for named in result.series
    ]


def panel_rows(result: DriftResult) -> list[list[str]]:
    """Return a row of text for each test of the panel."""
    return [
        [
            test.name,
            f"{test.effect:+.3f} sd" if test.name == "level" else f"x{format_number(test.effect)}",
            format_number(test.standard_error),
            str(test.degrees),
            format_p_value(test.p_value),
        ]
        for test in result.tests
    ]


def _section(result: DriftResult, *, heading: bool) -> list[str]:
    parts = [f"<h2>{escape(result.what)}</h2>"] if heading else []
    parts.append(f'<p class="verdict {_STYLES[result.verdict]}">{escape(result.sentence)}</p>')
    parts += [render_inline_svg(figure) for figure in drift_figures(result).values()]
    if result.tests:
        parts += ["<h2>Tests of the panel</h2>", *_table(PANEL_TITLES, panel_rows(result))]
    if result.series:
        shown = series_rows(result)[:_MOST_ROWS]
        parts += ["<h2>Series that stand out</h2>", *_table(SERIES_TITLES, shown)]
    if result.left_out:
        facts = ", ".join(f"{reason}: {count:,}" for reason, count in result.left_out.items())
        parts.append(f'<p class="quiet">Series that were not compared. {escape(facts)}.</p>')
    return parts


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return [f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>']
