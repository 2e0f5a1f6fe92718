"""The page of errors and warnings: the tree, exit codes, when each is raised, and what to do."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuro_divergent.core import errors
from neuro_divergent.core.errors import NeuroDivergentError
from tools.site.reference.docstring import read_docstring
from tools.site.reference.entry import Entry
from tools.site.reference.markdown import code, heading, table
from tools.site.reference.names import ERRORS, Links, PublicName
from tools.site.reference.texts import Texts

PAGE = ERRORS
MESSAGES = Path(__file__).with_name("messages.toml")

_INTRODUCTION = """\
# Errors

Every error that is raised on purpose, and every warning. A message says what arrived, what is accepted and what to do.
All errors are below `nd.errors.NeuroDivergentError`. Mistakes in what was given are also a `ValueError`, and the others
what Python has for them, such as `OSError`.

```python
try:
    forecaster.fit("sales.csv")
except nd.errors.DataError as error:
    print(error)  # sales.csv: row 12, column 'y': 'n/a' is not a number
```
"""
_CODES = {
    0: ("fine", "Nothing."),
    1: ("an error that is none of those below", "Read the message. If it says that it is a bug, please report it."),
    2: (
        "what was given cannot be used: a table, an option, a path, too much memory",
        "Read the message; it says what to change.",
    ),
    3: ("a stored file is damaged, altered or of a kind that is never loaded", "Write it again, or take a copy."),
    4: ("the disk refused: full, read-only or without permission", "Make room, or choose another place; then resume."),
    5: ("training diverged", "`nd doctor RUN` says which setting to change."),
    6: ("contact to another process of the same training was lost", "Look at what that process wrote."),
    7: ("a stage of a pipeline failed", "Mend what the message names; finished stages are not repeated."),
    130: ("interrupted, by Ctrl-C", "Go on with `--resume`."),
    143: ("terminated, by a signal", "Go on with `--resume`."),
}


_OTHER_CODES = """
Some commands also tell by their exit code what they found: {} with `--strict`, {} with `--fail`, {} and {}.
"""


def write_page(links: Links) -> str:
    """Return the page."""
    texts = Texts(links, PAGE)
    classes = all_errors()
    parts = [
        _INTRODUCTION,
        heading(2, "Exit codes", "exit-codes"),
        table(("code", "meaning", "what to do"), [(str(number), *words) for number, words in _CODES.items()]),
        _OTHER_CODES.format(
            *(texts.code(command) for command in ("nd doctor", "nd drift", "nd health", "nd privacy audit"))
        ),
        "## The tree\n",
        *_tree(BaseException, [*classes, *_others(links)], texts, 0),
        "\n## Messages about what was given\n",
        *_messages(texts),
        "## Errors one by one\n",
        *(_entry(cls, texts) for cls in classes if not issubclass(cls, Warning)),
        "## Warnings one by one\n",
        *(_entry(cls, texts) for cls in classes if issubclass(cls, Warning)),
    ]
    return "\n".join(parts)


def all_errors() -> list[type[BaseException]]:
    """Return the errors and warnings in the order of the source."""
    found = [value for value in vars(errors).values() if inspect.isclass(value) and value.__module__ == errors.__name__]
    return [cls for cls in found if issubclass(cls, BaseException)]


def _others(links: Links) -> list[type[BaseException]]:
    """Return the public errors and warnings that a namespace of their own has, where they are described."""
    found = [name.value for name in links.names if name.page != PAGE and inspect.isclass(name.value)]
    return [cls for cls in found if issubclass(cls, NeuroDivergentError | Warning)]


def read_messages() -> list[dict[str, Any]]:
    """Return the groups of messages: ``title``, and ``messages`` with ``case``, ``message`` and ``advice``."""
    return list(tomllib.loads(MESSAGES.read_text("utf-8"))["group"])


def _tree(parent: type, classes: list[type[BaseException]], texts: Texts, depth: int) -> Iterator[str]:
    """Yield the lines of nested lists; a class stands below its first parent that is one of ours, or Python's."""
    ours = [cls for cls in classes if _parent(cls, classes) is parent]
    if parent is BaseException:
        for base in dict.fromkeys(_parent(cls, classes) for cls in classes):
            if base not in classes:
                yield f"- {code(base.__name__)}"
                yield from _tree(base, classes, texts, 1)
        return
    for cls in ours:
        number = getattr(cls, "exit_code", None)
        shown = f", exit code {number}" if isinstance(number, int) else ""
        yield f"{'    ' * depth}- {_link(cls, texts)}{shown}"
        yield from _tree(cls, classes, texts, depth + 1)


def _parent(cls: type, classes: list[type[BaseException]]) -> type:
    return next((base for base in cls.__bases__ if base in classes), cls.__bases__[0])


def _anchor(cls: type, texts: Texts) -> str:
    public = texts.links.name_of(cls)
    return f"errors.{cls.__name__}" if public is None else public.path


def _link(cls: type, texts: Texts) -> str:
    public = texts.links.name_of(cls)
    return texts.to(PAGE if public is None else public.page, code(cls.__name__), _anchor(cls, texts))


def _entry(cls: type[BaseException], texts: Texts) -> str:
    public = texts.links.name_of(cls)
    if public is not None:
        return Entry(public, texts, level=3).write()
    name = PublicName((f"errors.{cls.__name__}",), cls, PAGE)
    where = f"It is in `{cls.__module__}`; catch one of its parents.\n"
    text = read_docstring(cls.__doc__)
    return "\n".join([
        heading(3, code(cls.__name__), name.path, cls.__name__),
        f"{texts.line(text.summary)}\n",
        texts.paragraphs(text.body),
        where,
    ])  # fmt: skip


def _messages(texts: Texts) -> Iterator[str]:
    """Yield a table for each group of messages; each message is one that the command line writes."""
    yield "What the command line writes after `error:` for common mistakes; in Python, the message of the error.\n"
    for group in read_messages():
        yield heading(3, group["title"], f"messages-{group['name']}")
        rows = [(f"{code(item['message'])}{{ .nd-message }}", texts.line(item["advice"])) for item in group["messages"]]
        yield table(("message", "what to do"), rows)
