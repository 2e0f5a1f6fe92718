"""Pages of the commands, read from the command line itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import typer.main

from neuro_divergent.interfaces.cli.main import app
from tools.site.reference.markdown import code, code_block, heading, table
from tools.site.reference.names import Links
from tools.site.reference.texts import Texts

INDEX = "commands.md"
_WIDTH = 110
_INTRODUCTION = """\
# Commands

What the program `nd` does; `nd COMMAND --help` shows the same in a terminal, and `nd` alone lists the commands.

A command that fails writes one line that begins with `error:` to standard error, and ends with an
{exit_codes}. `nd --debug COMMAND`, or `ND_TRACEBACK=1`, shows where in the source an error came from.
"""


@dataclass
class Help:
    """The parts of the help of a command.

    Attributes:
        path: The words of the command, such as ``nd runs delete``.
        usage: How it is called.
        text: What it does.
        panels: Options and arguments by title, each with what it means.
        epilog: Examples.
        commands: Its commands, where it is a group.
    """

    path: str
    usage: str = ""
    text: str = ""
    panels: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    epilog: str = ""
    commands: list[Help] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The anchor of the command on its page."""
        return self.path.replace(" ", "-")

    @property
    def all(self) -> Iterator[Help]:
        """The command and those below it."""
        yield self
        for command in self.commands:
            yield from command.all


class _Recorder:
    """Stands in for what formats help, and keeps the lists of options."""

    width = _WIDTH

    def __init__(self) -> None:
        self.panels: dict[str, list[tuple[str, str]]] = {}
        self._title = ""

    @contextmanager
    def section(self, title: str) -> Iterator[None]:
        self._title = title
        yield

    def write_dl(self, rows: Any, *_: Any, **__: Any) -> None:
        self.panels.setdefault(self._title, []).extend(rows)


def read_commands() -> Help:
    """Return the help of ``nd`` and of everything below it."""
    return _read(typer.main.get_command(app), "nd", None)


def _read(command: Any, path: str, parent: Any) -> Help:
    settings = {**(command.context_settings or {}), "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = command.context_class(command, info_name=path.rpartition(" ")[2], parent=parent, **settings)
    recorder = _Recorder()
    command.format_options(context, recorder)
    recorder.panels.pop("Commands", None)
    return Help(
        path,
        usage=" ".join(command.get_usage(context).split()).removeprefix("Usage: "),
        text=inspect.cleandoc(command.help or "").partition("\f")[0],
        panels=recorder.panels,
        epilog=inspect.cleandoc(command.epilog or ""),
        commands=[
            _read(inner, f"{path} {name}", context)
            for name, inner in getattr(command, "commands", {}).items()
            if not inner.hidden
        ],
    )


def write_pages(links: Links) -> dict[str, str]:
    """Return the pages by name: an index, and one for each command or group of commands."""
    root = read_commands()
    pages = {INDEX: _index(root, Texts(links, INDEX))}
    for command in root.commands:
        page = page_of(command)
        texts = Texts(links, page)
        pages[page] = "\n".join(part for item in command.all for part in _command(item, texts, first=item is command))
    return pages


def page_of(command: Help) -> str:
    """Return the page of a command right below ``nd``."""
    return f"commands/{command.path.split()[1]}.md"


def place_of(command: Help) -> tuple[str, str]:
    """Return page and anchor of a command."""
    words = command.path.split()
    return (INDEX, "") if len(words) == 1 else (page_of(command), command.anchor if len(words) > 2 else "")


def _index(root: Help, texts: Texts) -> str:
    codes = texts.to("errors.md", "exit code", "exit-codes")
    parts = [_INTRODUCTION.format(exit_codes=codes)]
    rows = []
    for command in root.commands:
        for item in command.all:
            link = texts.to(page_of(command), code(item.path), "" if item is command else item.anchor)
            rows.append((link, _first(item, texts)))
    parts.append(table(("command", "what it does"), rows))
    parts.append("## Options of `nd` itself\n")
    parts += [_panel("", options, root, texts) for options in root.panels.values()]
    return "\n".join(parts)


def _command(item: Help, texts: Texts, *, first: bool) -> Iterator[str]:
    yield f"# {code(item.path)}\n" if first else heading(2, code(item.path), item.anchor, item.path.rpartition(" ")[2])
    yield f"{_paragraphs(item.text, texts)}\n"
    yield code_block(item.usage, "sh")
    if examples := _examples(item.epilog):
        yield code_block(examples, "sh")
    if item.commands and first:
        listed = [(f"[{code(one.path)}](#{one.anchor})", _first(one, texts)) for one in item.commands]
        yield table(("command", "what it does"), listed)
    for title, rows in item.panels.items():
        yield _panel(title, rows, item, texts)


def _panel(title: str, rows: list[tuple[str, str]], item: Help, texts: Texts) -> str:
    """Return a table of options; each has an anchor such as ``nd-train--horizon``."""
    cells = []
    for names, meaning in rows:
        long = re.search(r"--[\w-]+", names)
        anchor = f"{{ #{item.anchor}{long[0]} }}" if long else ""
        cells.append((f"{code(names)}{anchor}", texts.line(meaning)))
    named = f"**{title}**\n\n" if title and title != "Options" else ""
    return f"{named}{table(('option' if title != 'Arguments' else 'argument', 'meaning'), cells)}"


def _paragraphs(text: str, texts: Texts) -> str:
    """Return a text of the help, without the marks that keep a terminal from wrapping it."""
    parts = (" ".join(part.replace("\b", "").split()) for part in re.split(r"\n\s*\n", text))
    return "\n\n".join(map(texts.line, parts))


def _first(item: Help, texts: Texts) -> str:
    return _paragraphs(item.text.partition("\n\n")[0], texts)


def _examples(epilog: str) -> str:
    """Return the lines of the examples."""
    lines = epilog.replace("\b", "").strip("\n").splitlines()
    return "\n".join(line.strip() for line in lines if line.strip() and not line.strip().startswith("Examples:"))
