"""How many bytes of a panel are done, as a task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from neuro_divergent.data.panel_store.progress import ByteProgress

_MEGABYTE = 1_000_000


@contextmanager
def byte_progress(console: Console, what: str) -> Iterator[ByteProgress]:
    """Yield a function that shows on a console how many bytes are done."""
    from neuro_divergent.core.progress import track
    from neuro_divergent.interfaces.cli.progress import shown_progress

    with shown_progress(console), track(what, unit="MB") as shown:

        def show(done: int, total: int) -> None:
            shown.total = total // _MEGABYTE
            shown.update(done // _MEGABYTE)

        yield show
