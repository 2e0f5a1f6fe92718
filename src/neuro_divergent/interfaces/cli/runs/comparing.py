"""``nd runs compare``: several runs side by side, and the settings in which they differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.formatting import format_duration, format_number
from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.runs.naming import find_runs, labels_of
from neuro_divergent.interfaces.cli.runs.options import ROOT, Names, Root, Stale

if TYPE_CHECKING:
    from rich.table import Table

    from neuro_divergent.runs.diff import RunDiff

EXAMPLES = """\b
Examples:
  nd runs compare first second
  nd runs compare runs/first elsewhere/second --json
"""
_MARK = "*"
_UNKNOWN = "-"
_LONGEST = 40


def compare_command(names: Names, root: Root = ROOT, stale: Stale = 300.0, as_json: AsJson = False) -> None:
    """Show runs side by side, and the settings in which they differ."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.runs.diff import diff_runs
    from neuro_divergent.runs.status import describe_run

    paths = find_runs(names, root)
    if len(paths) < 2:
        raise InputError("give at least two different runs to compare; 'nd runs' lists them.")
    comparison = diff_runs([describe_run(path, stale=stale) for path in paths])
    labels = labels_of(paths)
    screen = Screen(as_json=as_json)
    screen.say(_facts(comparison, labels), "")
    if comparison.differences:
        screen.say(_differences(comparison, labels))
    else:
        screen.say("Their settings are the same.")
    for note in comparison.notes:
        screen.say("", note)
    screen.result(
        {
            "runs": [{"name": label, "path": str(path)} for label, path in zip(labels, paths, strict=True)],
            "facts": [{"name": fact.name, "values": fact.values, "best": fact.best} for fact in comparison.facts],
            "differences": comparison.differences,
            "notes": comparison.notes,
        }
    )


def _facts(comparison: RunDiff, labels: list[str]) -> Table:
    table = _table("", labels)
    for fact in comparison.facts:
        if any(value is not None for value in fact.values):
            marks = [f" {_MARK}" if place in fact.best else "" for place in range(len(fact.values))]
            cells = [_show(value, fact.name) + mark for value, mark in zip(fact.values, marks, strict=True)]
            _add(table, fact.name, cells)
    if any(fact.best for fact in comparison.facts):
        table.caption = f"{_MARK} the best"
        table.caption_justify = "left"
    return table


def _differences(comparison: RunDiff, labels: list[str]) -> Table:
    table = _table("setting", labels)
    for item in comparison.differences:
        _add(table, item["setting"], [_show(value, "") for value in item["values"]])
    return table


def _table(title: str, labels: list[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(title, no_wrap=True)
    for label in labels:
        table.add_column(Text(label), justify="right", overflow="fold")
    return table


def _add(table: Table, name: str, cells: list[str]) -> None:
    from rich.text import Text

    table.add_row(Text(name), *(Text(cell, style="bold" if cell.endswith(f" {_MARK}") else "") for cell in cells))


def _show(value: Any, name: str) -> str:
    if value is None:
        return _UNKNOWN
    if name == "seconds":
        return format_duration(value)
    if isinstance(value, (int, float)) and name:
        return f"{value:,}" if isinstance(value, int) else format_number(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
