from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.integration.distributed.processes import Processes


@pytest.fixture(scope="session")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of this test run, the same for all its workers."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def in_processes(shared_place: Path) -> Iterator[Callable[..., list[Any]]]:
    """Return a function that calls another in so many processes, and returns what each of them returned.

    Processes are kept for the next call, and results for the other workers of the test run.
    """
    started: dict[int, Processes] = {}

    def call(size: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        file = shared_place / f"{function.__module__}.{function.__name__}.{size}.json"
        with FileLock(f"{file}.lock"):
            if not file.exists():
                if size not in started:
                    started[size] = Processes(size)
                found = started[size].call(function.__module__, function.__name__, *arguments)
                file.write_text(json.dumps(found), "utf-8")
        results: list[Any] = json.loads(file.read_text("utf-8"))
        return results

    yield call
    for group in started.values():
        group.close()
