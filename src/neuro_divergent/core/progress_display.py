"""Where progress is shown: below the cell of a notebook, in a line of a terminal, or in a few lines of a log."""

from __future__ import annotations

import shutil
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from neuro_divergent.core import html
from neuro_divergent.core.formatting import format_count, format_duration

if TYPE_CHECKING:
    from neuro_divergent.core.progress import Display, Task

_PATIENCE = 0.5  # seconds after which a task is worth a line
_BETWEEN = {"terminal": 0.1, "notebook": 0.25, "log": 5.0}  # seconds between two updates
_BAR = 16  # characters of the bar
_LINES = 10  # of a task in a log
_FIRST_LINE = 10.0  # seconds until the first line of a task of unknown length in a log; then twice as many, and so on


class TerminalDisplay:
    """A line of a terminal that is written again and again, and stays as the result in the end."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._last = 0.0
        self._is_open = False

    def update(self, tasks: tuple[Task, ...]) -> None:
        """Show the tasks that are open."""
        now = time.perf_counter()
        if now - self._last >= _BETWEEN["terminal"] and tasks[0].seconds >= _PATIENCE:
            self._last = now
            self._write(describe(tasks, bar=True))
            self._is_open = True

    def close(self, task: Task, error: BaseException | None) -> None:
        """Leave a line about how the outermost task ended."""
        if self._is_open:
            self._write(describe_end(task, error), end="\n")
            self._is_open = False

    def _write(self, line: str, end: str = "") -> None:
        file = self._file or sys.stderr
        width = max(shutil.get_terminal_size().columns - 1, 20)
        file.write(f"\r\x1b[K{line if len(line) <= width else line[: width - 3] + '...'}{end}")
        file.flush()


class LogDisplay:
    """Lines of a file or a pipe: some while a task lasts, and one when it ends."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._task: Task | None = None
        self._next = self._last = 0.0

    def update(self, tasks: tuple[Task, ...]) -> None:
        """Show the tasks that are open."""
        task = tasks[0]
        if task is not self._task:
            self._task, self._last = task, time.perf_counter()
            self._next = 1 / _LINES if task.total else _FIRST_LINE
        place, now = task.seconds if task.fraction is None else task.fraction, time.perf_counter()
        if place < self._next or now - self._last < _BETWEEN["log"] or task.seconds < _PATIENCE:
            return
        self._last = now
        self._next = 2 * place if task.fraction is None else (int(place * _LINES) + 1) / _LINES
        if task.fraction != 1.0:  # then the end is near, which has a line of its own
            self._write(describe(tasks))

    def close(self, task: Task, error: BaseException | None) -> None:
        """Leave a line about how the outermost task ended."""
        self._task = None
        if task.seconds >= _PATIENCE:
            self._write(describe_end(task, error))

    def _write(self, line: str) -> None:
        file = self._file or sys.stderr
        file.write(f"{line}\n")
        file.flush()


class NotebookDisplay:
    """The output of a cell, which is replaced again and again, and stays as the result in the end."""

    def __init__(self) -> None:
        self._display = import_module("IPython.display").display
        self._handle: Any = None
        self._last = 0.0

    def update(self, tasks: tuple[Task, ...]) -> None:
        """Show the tasks that are open."""
        now = time.perf_counter()
        if now - self._last >= _BETWEEN["notebook"] and tasks[0].seconds >= _PATIENCE:
            self._last = now
            fraction = tasks[0].fraction
            value = "" if fraction is None else f' value="{fraction:.4f}"'
            self._show(describe(tasks), f'<progress max="1"{value} style="width: 12em"></progress> ')

    def close(self, task: Task, error: BaseException | None) -> None:
        """Leave a line about how the outermost task ended."""
        if self._handle is not None:
            self._show(describe_end(task, error))
            self._handle = None

    def _show(self, line: str, bar: str = "") -> None:
        bundle = {"text/plain": line, "text/html": f"<div>{bar}{html.text(line)}</div>"}
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def display_for(file: TextIO | None = None) -> Display:
    """Return what shows progress where this process runs, or in a file."""
    if file is None and _is_notebook():
        return NotebookDisplay()
    is_terminal = getattr(file or sys.stderr, "isatty", lambda: False)()
    return TerminalDisplay(file) if is_terminal else LogDisplay(file)


def describe(tasks: tuple[Task, ...], *, bar: bool = False) -> str:
    """Return how far tasks are in a line: the outermost with the time left, and the innermost."""
    outer, inner = tasks[0], tasks[-1]
    parts = [_progress(outer, bar=bar)]
    left = outer.estimate()
    parts += [] if left is None else [f"{format_duration(left)} left"]
    parts += [outer.note] if outer.note else []
    line = ", ".join(parts)
    if inner is outer:
        return line
    return f"{line} | {', '.join(part for part in (_progress(inner), inner.note) if part)}"


def describe_end(task: Task, error: BaseException | None) -> str:
    """Return in a line what a task did, and how long it took."""
    count = format_count(task.done, task.unit, _plural(task.unit))
    if error is not None:
        rest = f" of {task.total:,}" if task.total else ""
        return f"{task.name}: ended after {task.done:,}{rest} {_plural(task.unit)}: {type(error).__name__}"
    return f"{task.name}: {count} in {format_duration(task.seconds)}{', ' if task.note else ''}{task.note}"


def _progress(task: Task, *, bar: bool = False) -> str:
    fraction = task.fraction
    if fraction is None:
        count = format_count(task.done, task.unit, _plural(task.unit))
        return f"{task.name}: {count}" if task.done else f"{task.name}: {format_duration(task.seconds)}"
    filled = int(fraction * _BAR)
    shown = f" [{'#' * filled}{'.' * (_BAR - filled)}]" if bar else ":"
    return f"{task.name}{shown} {task.done:,}/{task.total:,} {_plural(task.unit)}"


def _plural(unit: str) -> str:
    return unit if unit.endswith("s") else f"{unit}s"


def _is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    running = sys.modules.get("IPython")
    shell = None if running is None else running.get_ipython()
    return getattr(shell, "kernel", None) is not None
