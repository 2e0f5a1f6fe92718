"""A line that shows how many bytes are done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from neuro_divergent.data.panel_store.progress import ByteProgress


@contextmanager
def byte_progress(console: Console, what: str) -> Iterator[ByteProgress | None]:
    """Yield a function that redraws the line; ``None`` where nobody looks."""
    if not console.is_terminal or console.quiet:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(bar_width=20), DownloadColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
