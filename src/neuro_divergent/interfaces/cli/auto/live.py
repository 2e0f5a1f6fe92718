"""What an automatic search shows while it runs: what is at work, the best so far, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from neuro_divergent.core.formatting import format_duration, format_number
from neuro_divergent.interfaces.cli.progress import shown_progress

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.auto.record import Progress


def describe(progress: Progress, passed: float = 0.0) -> str:
    """Return a line about a search, some seconds after it said where it is."""
    parts = [progress.phase]
    if progress.running:
        parts.append(f"at work: {', '.join(progress.running)}")
    parts.append(f"{progress.done} of {progress.total} candidates have a score")
    if progress.best is not None:
        name, score = progress.best
        parts.append(f"best {name} with {progress.metric.upper()} {format_number(score)}")
    parts.append(f"{format_duration(max(progress.left - passed, 0.0))} left")
    return "; ".join(parts)


@contextmanager
def watching(screen: Screen) -> Iterator[Callable[[Progress], None] | None]:
    """Show the progress of a search inside the block: a live line on a terminal, a line now and then elsewhere."""
    if screen.is_silent or not screen.messages.is_terminal:
        with shown_progress(screen.messages):
            yield None
        return
    from rich.live import Live
    from rich.text import Text

    latest: list[tuple[Progress, float]] = []

    def show(progress: Progress) -> None:
        latest[:] = [(progress, time.monotonic())]

    def render() -> Text:
        if not latest:
            return Text("starting")
        progress, moment = latest[0]
        return Text(describe(progress, time.monotonic() - moment))

    with Live(get_renderable=render, console=screen.messages, refresh_per_second=2, transient=True):
        yield show
