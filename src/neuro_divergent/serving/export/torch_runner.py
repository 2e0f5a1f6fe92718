"""Runs a model with torch, for architectures that cannot be exported."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.core.threads import using_threads
from neuro_divergent.serving.export.module import ExportModule


class TorchRunner:
    """A ``Runner`` of a module, as it is.

    Args:
        module: The model.
        threads: Threads of torch while it runs.
    """

    def __init__(self, module: ExportModule, *, threads: int = 1) -> None:
        self._module, self._threads = module, threads

    def run(self, inputs: Mapping[str, Array]) -> Floats32:
        """Return the output ``forecast`` for the inputs that ``Description`` lists."""
        tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in inputs.items()}
        with torch.inference_mode(), using_threads(self._threads):
            forecast: Floats32 = self._module(**tensors).numpy()
        return forecast
