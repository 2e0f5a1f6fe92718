"""The first page of the reference."""

from __future__ import annotations

from tools.site.reference import api
from tools.site.reference.markdown import table
from tools.site.reference.names import Links
from tools.site.reference.texts import Texts

PAGE = "index.md"

_INTRODUCTION = """\
# Reference

Every name, setting, command, file and error, looked up rather than read. To learn how things are done, begin with the
[tutorials](../tutorials/index.md) and the [guides](../guides/index.md).

```python
import neuro_divergent as nd

help(nd.Forecaster)  # the same texts in Python
```

## I am looking for

| what | where |
|---|---|
| a class or function of the package | [by namespace](#names), or the search above |
| a setting: its default, its range, what it means | [Settings](settings.md) |
| an architecture and its settings | [Architectures](architectures.md) |
| a command and its options | [Commands](commands.md) |
| a file that a training has written | [The run directory](run-directory.md) |
| an error, an exit code, a message about my table | [Errors](errors.md) |
"""

# What newcomers need first; the others follow in order of the alphabet.
_FIRST = ("forecasting", "data", "training", "models", "losses", "evaluation", "metrics", "plots")


def write_page(links: Links, spaces: list[str]) -> str:
    """Return the page; ``spaces`` are the pages of the namespaces."""
    texts = Texts(links, PAGE)
    names = [api.namespace_of(page) for page in spaces]
    ordered = [*(name for name in _FIRST if name in names), *(name for name in names if name not in _FIRST)]
    rows = [
        (texts.to(f"api/{name}.md", api.title_of_space(name)), texts.line(api.summary_of(name))) for name in ordered
    ]
    rows.insert(4, (texts.to("architectures.md", "architectures"), "Every network, with its paper and its settings."))
    rows.append((texts.to("errors.md", "`nd.errors`"), texts.line(api.summary_of("errors"))))
    return f"{_INTRODUCTION}\n## Names\n\n{table(('page', 'what is in it'), rows)}\n{_all_names(links, texts)}"


def _all_names(links: Links, texts: Texts) -> str:
    """List all names by their first letter."""
    found: dict[str, list[str]] = {}
    for name in links.names:
        link = texts.to(name.page, f"`{name.path.removeprefix('nd.')}`", name.path)
        found.setdefault(name.name[0].upper(), []).append(link)
    lines = [f"**{letter}** {', '.join(entries)}\n" for letter, entries in sorted(found.items())]
    return "\n".join(["## From A to Z\n", *lines])
