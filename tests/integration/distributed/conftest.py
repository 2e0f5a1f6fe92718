from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.integration.distributed.processes import Processes


@pytest.fixture(scope="session")
def processes() -> Iterator[Callable[[int], Processes]]:
    """Return a function that starts as many processes, or returns those that were started before."""
    started: dict[int, Processes] = {}

    def find(size: int) -> Processes:
        if size not in started:
            started[size] = Processes(size)
        return started[size]

    yield find
    for group in started.values():
        group.close()
