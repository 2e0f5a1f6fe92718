"""A module as a file of ``torch.export``, for programs that have torch."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import ExportError
from neuro_divergent.serving.description import KEY, Description
from neuro_divergent.serving.export.graph import trace_program

EXTRA = f"{KEY}.json"
"""Name of the description among the extra files."""


def dump_program(module: nn.Module, inputs: Mapping[str, Tensor], description: Description) -> bytes:
    """Return a module as the content of a ``.pt2`` file, with the size of the batch left open.

    ``torch.export.load(path, extra_files={"neuro_divergent.json": ""})`` reads it. The graph is JSON and the weights
    are plain bytes; example inputs, which torch would pickle, are left out. But ``torch.export.load`` unpickles
    whatever a file says is a pickle, so such files must only be loaded from those one trusts. This package writes them
    and never loads those of others; for untrusted places export to ONNX.

    Args:
        module: In evaluation mode; ``forward`` takes the inputs by name.
        inputs: An example of at least 2 rows.
        description: Stored with it.

    Raises:
        ExportError: If torch cannot represent the module.
    """
    program = trace_program(module, inputs)
    program.example_inputs = None
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.export.save(program, buffer, extra_files={EXTRA: description.to_json().decode()})
    except Exception as error:  # torch raises errors of many kinds, some of them private
        raise ExportError(f"this model cannot be saved with torch.export: {error}") from error
    return buffer.getvalue()


class ProgramRunner:
    """Runs a program that ``dump_program`` has returned in this process."""

    def __init__(self, content: bytes) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._module = torch.export.load(io.BytesIO(content)).module()

    def run(self, inputs: Mapping[str, Array]) -> Array:
        """Return the forecast for arrays."""
        with torch.inference_mode():
            result: Tensor = self._module(**{name: torch.from_numpy(array) for name, array in inputs.items()})
        forecast: Array = result.numpy()
        return forecast
