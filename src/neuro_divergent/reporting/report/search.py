"""How settings were searched: a section in the report of a run, and the page of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from neuro_divergent import __version__
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.report.templates import template
from neuro_divergent.reporting.svg.inline import render_inline_svg, stylesheet


@dataclass(frozen=True)
class SearchSection:
    """What a report says about a search.

    Attributes:
        study: Name of the study.
        role: What the run is in it, in a sentence; empty on the page of the study.
        text: How was searched and what came of it, in sentences.
        note: What is missing; empty if nothing is.
        figures: Convergence, importances and, of several objectives, the Pareto front.
        columns: Titles of the table of the best trials.
        rows: Its cells; the first one of a row is the number of the trial.
        links: Where the run of each row is, relative to the page; ``None`` where there is none.
        trials: Where the runs of all trials are, relative to the page.
    """

    study: str
    role: str
    text: str
    note: str
    figures: Sequence[Figure]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    links: Sequence[str | None]
    trials: str

    def to_template(self) -> dict[str, Any]:
        """Return the values by their names in the template."""
        return {**vars(self), "figures": draw_all(self.figures), "table": list(zip(self.rows, self.links, strict=True))}


def render_study(
    section: SearchSection,
    *,
    state: str,
    figures: Sequence[Figure],
    facts: Sequence[tuple[str, str]],
    space: Sequence[Sequence[str]],
    failures: Sequence[Sequence[str]],
    best: Mapping[str, str],
) -> str:
    """Return the page of a study.

    Args:
        section: What is said about it in the reports of its runs as well.
        state: ``running``, ``finished`` or ``interrupted``.
        figures: Those of single settings.
        facts: Pairs of a word and its meaning.
        space: Setting, values, and what it exists for.
        failures: Trial, state and reason.
        best: ``toml`` with the best settings and ``command`` that trains them; empty if there are none.
    """
    return template("study.html").render(
        title=section.study,
        version=__version__,
        style=Markup(stylesheet()),
        search=section.to_template(),
        state=state,
        setting_figures=draw_all(figures),
        study_facts=list(facts),
        space=list(space),
        failures=list(failures),
        best=dict(best),
    )


def draw_all(figures: Sequence[Figure]) -> list[Markup]:
    """Return figures as markup; their text is escaped."""
    return [Markup(render_inline_svg(figure)) for figure in figures]
