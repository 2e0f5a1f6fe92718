"""Models and servers that the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.serving.server_process import TOKEN, ServerProcess, running
from tests.integration.serving.small_graph import write_graph


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the exported model of version 0."""
    return write_graph(tmp_path_factory.mktemp("graph") / "mean.onnx")


@pytest.fixture(scope="session")
def server(graph: Path) -> Iterator[ServerProcess]:
    """Serve it with a token, at this machine only."""
    with running(graph, options=["--token", TOKEN, "--poll", "0", "--limit", "read_seconds=1"]) as process:
        yield process
