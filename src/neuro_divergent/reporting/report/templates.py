"""The Jinja templates of the reports."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from neuro_divergent.core.formatting import format_number, format_percent


@cache
def template(name: str) -> Template:
    """Return a template that escapes its values; a missing value is an error."""
    environment = Environment(
        loader=PackageLoader("neuro_divergent.reporting", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    environment.filters["percent"] = format_percent
    return environment.get_template(name)
