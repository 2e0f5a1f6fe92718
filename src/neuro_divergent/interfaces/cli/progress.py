"""Progress of what takes long: one line with the time left on a terminal, a line now and then elsewhere.

Code below the command line opens tasks with ``core.progress.track``; a command says with ``shown_progress`` that they
are shown. Nothing is shown of what takes less than half a second, or less than ten seconds where nobody sits in front
of a terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from neuro_divergent.core.progress import track, use_display
from neuro_divergent.core.progress_display import describe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from neuro_divergent.core.progress import Task

_PATIENCE = 0.5  # seconds after which a task is worth a line of a terminal
_SECONDS_BETWEEN_LINES = 10.0
_LINES = 10  # of a task whose length is known


class LiveLine:
    """A line at the end of a terminal that is drawn again twice a second, and gone when the work is done.

    Args:
        console: The terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tasks: tuple[Task, ...] = ()
        self._live: Live | None = None

    def update(self, tasks: tuple[Task, ...]) -> None:
        """Show the tasks that are open."""
        self._tasks = tasks
        if self._live is None:
            self._open()

    def close(self, task: Task, error: BaseException | None) -> None:
        """Take the line away."""
        self._tasks = ()
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _open(self) -> None:
        from rich.live import Live

        self._live = Live(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=2,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # so that lines of results do not go into the middle of this one
            redirect_stderr=False,
        )
        self._live.start()

    def _render(self) -> Text:
        from rich.text import Text

        tasks = self._tasks
        is_long = bool(tasks) and tasks[0].seconds >= _PATIENCE
        return Text(describe(tasks, bar=True) if is_long else "", no_wrap=True, overflow="ellipsis")


class LinesNowAndThen:
    """Lines for a file or a pipe, about ten for a task that takes minutes and none for one of seconds.

    Args:
        console: Where they are written.
        seconds: Time until the first line, and at least between two.
    """

    def __init__(self, console: Console, seconds: float = _SECONDS_BETWEEN_LINES) -> None:
        self._console = console
        self._seconds = seconds
        self._task: Task | None = None
        self._next = self._next_fraction = 0.0

    def update(self, tasks: tuple[Task, ...]) -> None:
        """Write a line, if it is time for one."""
        task, now = tasks[0], time.monotonic()
        if task is not self._task:
            self._task, self._next, self._next_fraction = task, now + self._seconds, 0.0
        if now < self._next or (task.fraction is not None and task.fraction < self._next_fraction):
            return
        # A task whose length is not known is worth a line whenever it has taken twice as long.
        wait = self._seconds if task.fraction is not None else max(self._seconds, task.seconds)
        self._next = now + wait
        self._next_fraction = 0.0 if task.fraction is None else (int(task.fraction * _LINES) + 1) / _LINES
        self._console.print(describe(tasks), markup=False, soft_wrap=True)

    def close(self, task: Task, error: BaseException | None) -> None:
        """Forget the task."""
        self._task = None


@contextmanager
def shown_progress(console: Console, name: str | None = None) -> Iterator[None]:
    """Show the progress of what takes long inside the block; a console that is quiet shows nothing.

    Args:
        console: Where to show it.
        name: What is done, if that is to be shown even where nothing inside says how far it is.
    """
    if console.quiet:
        yield
        return
    display = LiveLine(console) if console.is_terminal and not console.is_dumb_terminal else LinesNowAndThen(console)
    with use_display(display):
        if name is None:
            yield
            return
        with track(name, unit="part"):
            yield
