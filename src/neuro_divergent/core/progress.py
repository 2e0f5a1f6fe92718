"""Progress of what takes long, shown where somebody asked for it with ``show_progress`` and nowhere else.

Code that takes long opens a task with ``track`` and says how far it is. Tasks may be inside of each other: a training
in a fold of a cross-validation. They are shown in one line that changes in place.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Protocol, Self, TextIO, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_UNWRITABLE = (OSError, ValueError)  # the latter of a file that is closed


class Display(Protocol):
    """Shows tasks."""

    def update(self, tasks: tuple[Task, ...]) -> None:
        """Show the tasks that are open, the outermost first; called often, so that it must leave out most calls."""

    def close(self, task: Task, error: BaseException | None) -> None:
        """Show how the outermost task ended."""


class Task:
    """Work whose progress is shown while a ``with`` block lasts.

    Args:
        name: What is done, such as ``Training``.
        total: How many units there are; ``None`` if that is not known.
        unit: What is counted.

    Attributes:
        done: How many units are done.
        note: Results so far, in a few words.
        seconds_left: Time that is left, where that is known; otherwise it follows from what is done.
    """

    def __init__(self, name: str, total: int | None = None, unit: str = "step") -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = self._done_before = 0
        self.note = ""
        self.seconds_left: float | None = None
        self._began = 0.0
        self._shown: _Shown | None = None

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self._done_before = self.done
        self._shown = _current()
        if self._shown is not None:
            self._shown.open(self)
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if self._shown is not None:
            self._shown.close(self, error)

    def update(self, done: int | None = None, note: str | None = None) -> None:
        """Say how many units are done, at most all, and the results so far."""
        if done is not None:
            self.done = done if self.total is None else min(done, self.total)
        self.note = self.note if note is None else note
        if self._shown is not None:
            self._shown.update()

    @property
    def is_shown(self) -> bool:
        """Whether somebody asked for progress."""
        return self._shown is not None

    @property
    def seconds(self) -> float:
        """Time since it began."""
        return time.perf_counter() - self._began

    @property
    def fraction(self) -> float | None:
        """How much of it is done, from 0 to 1; ``None`` if that is not known."""
        return min(self.done / self.total, 1.0) if self.total else None

    def estimate(self) -> float | None:
        """Return the seconds that are left, at the pace so far; ``None`` if that is not known."""
        if self.seconds_left is not None:
            return self.seconds_left
        new = self.done - self._done_before  # what was done before, in a training that is resumed, took no time now
        return (self.total - self.done) * self.seconds / new if self.total and new > 0 else None


class _Shown:
    """The tasks that are open on a display, in the process and for all threads that asked for it."""

    def __init__(self, display: Display) -> None:
        self.display = display
        self.process = os.getpid()
        self._tasks: list[Task] = []
        self._is_lost = False  # a terminal that was closed, a pipe that nobody reads; work goes on without it
        self._lock = threading.RLock()

    def open(self, task: Task) -> None:
        with self._lock:
            self._tasks.append(task)
            self._draw()

    def update(self) -> None:
        with self._lock:
            if self._tasks:
                self._draw()

    def close(self, task: Task, error: BaseException | None) -> None:
        with self._lock:
            self._tasks = [other for other in self._tasks if other is not task]
            if not self._tasks:
                with suppress(*_UNWRITABLE):
                    self.display.close(task, error)

    def _draw(self) -> None:
        if not self._is_lost:
            try:
                self.display.update(tuple(self._tasks))
            except _UNWRITABLE:
                self._is_lost = True


_asked: _Shown | None = None


def track(name: str, total: int | None = None, unit: str = "step") -> Task:
    """Return a task to be opened with ``with``; without ``show_progress`` it shows nothing and costs nothing."""
    return Task(name, total, unit)


def show_progress(show: bool = True, *, file: TextIO | None = None) -> AbstractContextManager[None]:
    """Show the progress of all that takes long from now on, or only inside a ``with`` block.

    Training, cross-validation, search and forecasts of many series then show one line that changes in place, with what
    is done, the loss and the time left: in a notebook below the cell, in a terminal on standard error. Elsewhere, as
    in a log, at most ten lines are written for each of them. What ends within half a second shows nothing.

    Args:
        show: Whether it is shown; ``False`` ends it.
        file: Where the lines are written; unset, as described.

    Returns:
        A context manager that restores what was before.

    Examples:
        >>> import neuro_divergent as nd
        >>> import io
        >>> log = io.StringIO()
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=20))
        >>> with nd.show_progress(file=log):
        ...     _ = forecaster.fit(nd.datasets.air_passengers())
        >>> len(log.getvalue().splitlines()) <= 20  # none if it took less than half a second
        True
    """
    from neuro_divergent.core.progress_display import display_for

    return use_display(display_for(file) if show else None)


def use_display(display: Display | None) -> AbstractContextManager[None]:
    """Show progress on a display from now on, or inside a ``with`` block; ``None`` for none."""
    global _asked
    before, _asked = _asked, None if display is None else _Shown(display)
    return _Restoring(before)


@contextmanager
def following(progress: F | bool | None) -> Iterator[F | None]:
    """Show progress inside the block if ``progress`` is true; give the function to call besides, if it is one."""
    with show_progress() if progress is True else nullcontext():
        yield None if progress is None or isinstance(progress, bool) else progress


class _Restoring(AbstractContextManager[None]):
    def __init__(self, before: _Shown | None) -> None:
        self._before = before

    def __repr__(self) -> str:  # what a notebook shows below a cell that ends with show_progress()
        return f"<progress is {'not ' if _asked is None else ''}shown>"

    def __exit__(self, *exception: object) -> None:
        global _asked
        _asked = self._before


def is_asked_for() -> bool:
    """Whether somebody in this process asked for progress."""
    return _current() is not None


def _current() -> _Shown | None:
    """Return what shows progress in this process; one that was forked off does not write to the same line."""
    return _asked if _asked is not None and _asked.process == os.getpid() else None
