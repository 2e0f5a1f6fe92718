"""What runs the graph of an exported model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from neuro_divergent.core.arrays import Array, Floats32


class Runner(Protocol):
    """Runs a graph on arrays: onnxruntime on a file, or torch where a model cannot be exported."""

    def run(self, inputs: Mapping[str, Array]) -> Floats32:
        """Return the output ``forecast`` for the inputs that ``Description`` lists.

        May be called from several threads at once.
        """
