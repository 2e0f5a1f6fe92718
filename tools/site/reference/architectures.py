"""The page of all architectures and their settings."""

from __future__ import annotations

from collections.abc import Iterator

from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from neuro_divergent.reporting import catalogue
from tools.site.reference.docstring import read_docstring
from tools.site.reference.entry import Entry
from tools.site.reference.fields import settings_table
from tools.site.reference.markdown import code, heading, table
from tools.site.reference.names import ARCHITECTURES, Links, PublicName
from tools.site.reference.texts import Texts

PAGE = ARCHITECTURES
_INTRODUCTION = """\
# Architectures

Every network that can be trained, and every statistical model, with all settings. {guide} says which to take;
`nd models` shows the same in a terminal.

*Series*: whether a model forecasts one series by itself, or all together. *Covariates*: known only in the past, known
ahead (future) or static. *Decoding*: all steps at once (direct), or each from the one before. *Parameters*: at the
defaults, {horizon} steps ahead from {history}, one series.
"""


def write_page(links: Links) -> str:
    """Return the page."""
    texts = Texts(links, PAGE)
    guide = texts.guide("guides/models.md")
    parts = [_INTRODUCTION.format(guide=guide, horizon=catalogue.HORIZON, history=catalogue.HISTORY)]
    rows = catalogue.describe_all()
    public = {name.value.name: name for name in links.names if name.page == PAGE}
    columns: list[str] = []
    cells = []
    for row in rows:
        shown = catalogue.columns(row)
        columns = list(shown)
        name = public[row["name"]]
        shown |= {"model": f"[{code(name.path)}](#{name.path})", "paper": f"[{shown['paper']}]({row['paper']})"}
        cells.append(list(shown.values()))
    parts.append(table(columns, cells))
    for family in catalogue.FAMILIES:
        parts.append(f"## {_TITLES[family]}\n")
        parts += [_architecture(public[row["name"]], texts) for row in rows if row["family"] == family]
    parts += _statistical(texts)
    return "\n".join(parts)


_TITLES = {
    "linear": "Linear models",
    "mlp": "Perceptrons",
    "recurrent": "Recurrent networks",
    "convolutional": "Convolutional networks",
    "transformer": "Transformers",
    "graph": "Graph networks",
}


def _architecture(name: PublicName, texts: Texts) -> str:
    traits = name.value.traits
    not_exported = f" It cannot be exported: {traits.not_exported}." if traits.not_exported else ""
    registered = (
        f'Name: `"{name.value.name}"`. Paper: [{catalogue.cite(traits.paper)}]({traits.paper}).{not_exported}\n'
    )
    return f"{Entry(name, texts, level=3).write()}\n{registered}"


def _statistical(texts: Texts) -> Iterator[str]:
    yield heading(2, "Statistical models", "statistical-models")
    yield (
        f"A model for each series, without a network and without training: {texts.code('nd.Statistical')}. "
        f"See {texts.guide('guides/statistical.md')}.\n"
    )
    rows = catalogue.describe_all_statistical()
    cells = []
    for row in rows:
        shown = catalogue.statistical_columns(row)
        anchor = f"#statistical.{row['name']}"
        name = f'[`"{row["name"]}"`]({anchor})'
        cells.append(
            [name, texts.line(row["summary"]), shown["extra"], shown["series"], f"[{shown['paper']}]({row['paper']})"]
        )
    yield table(("model", "what it is", "extra", "series", "paper"), cells)
    for row in rows:
        cls = StatisticalMethod.registry.get(row["name"])
        text = read_docstring(cls.__doc__)
        yield heading(3, code(f'"{row["name"]}"'), f"statistical.{row['name']}", row["name"])
        yield f"{texts.line(text.summary)}\n"
        yield texts.paragraphs(text.body)
        yield settings_table(cls, texts, f"statistical.{row['name']}")
