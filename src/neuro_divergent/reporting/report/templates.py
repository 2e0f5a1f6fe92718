"""The templates of the pages, ready to be filled in."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from neuro_divergent.reporting.svg.ticks import show_number
from neuro_divergent.reporting.text_summaries import show_share


@cache
def template(name: str) -> Template:
    """Return a template; whatever is put into it is escaped, and a word that is missing is an error."""
    environment = Environment(
        loader=PackageLoader("neuro_divergent.reporting", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = show_number
    environment.filters["share"] = show_share
    return environment.get_template(name)
