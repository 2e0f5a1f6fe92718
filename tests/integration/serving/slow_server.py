"""A server whose network takes long: ``python -m ...slow_server SECONDS --port 0 [LIMIT...]``."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

import numpy as np

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.server.server import serve
from neuro_divergent.serving.server.settings import ServerSettings
from neuro_divergent.serving.server.source_address import read_limits
from tests.integration.serving.small_graph import describe


class SlowRunner:
    """Takes some seconds for each batch."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def run(self, inputs: Mapping[str, Array]) -> Floats32:
        """Return zeros."""
        time.sleep(self._seconds)
        return np.zeros((len(inputs["past_y"]), 3, 1, 4), np.float32)


class SlowSource:
    """Always the same version."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def state(self) -> object:
        """Return nothing that changes."""
        return 0

    def load(self) -> ExportedModel:
        """Return the model."""
        return ExportedModel(describe(), SlowRunner(self._seconds), name=self.name)

    def cancel(self) -> None:
        """Do nothing."""


if __name__ == "__main__":
    serve(
        ServerSettings(port=0, limits=read_limits(sys.argv[4:]), drain_seconds=0.3),
        [SlowSource(float(sys.argv[1]))],
        ready=lambda settings: (sys.stdout.write(f"{settings.address}\n"), sys.stdout.flush()),
    )
