"""Runs the graph of an ONNX file with onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.serving.dependency import load_package
from neuro_divergent.serving.description import KEY, Description

_LARGEST_FILE = 2**31 - 1  # Protocol buffers end there.
_ERRORS_ONLY = 3
_OUTPUT = "forecast"
_FLOAT = "tensor(float)"


class OnnxRunner:
    """A session of onnxruntime; several threads may use it at once.

    Args:
        content: An ONNX file.
        place: Name of the file in messages.
        threads: Processor threads of a call. One is the fastest for small batches.

    Attributes:
        description: What the metadata of the file say about the model.

    Raises:
        UntrustedFileError: If it is not an exported model, or its graph does not match its description.
        MissingDependencyError: If onnxruntime is not installed.
    """

    def __init__(self, content: bytes, *, place: str, threads: int = 1) -> None:
        if threads < 1:
            raise InputError(f"threads: {threads} must be at least 1.")
        self._session = _open_session(content, place, threads)
        text = self._session.get_modelmeta().custom_metadata_map.get(KEY)
        if text is None:
            raise UntrustedFileError(f"{place}: is an ONNX file, but not of this package; it has no {KEY!r} metadata.")
        self.description = Description.from_json(text, place)
        _check_graph(self._session, self.description, place)
        self._names = [node.name for node in self._session.get_inputs()]

    @classmethod
    def open(cls, path: Path, *, threads: int = 1) -> OnnxRunner:
        """Read a file; weights in other files beside it are never read."""
        return cls(read_file(path, limit=_LARGEST_FILE), place=str(path), threads=threads)

    def run(self, inputs: Mapping[str, Array]) -> Floats32:
        """Return the output ``forecast`` for the inputs that ``Description`` lists."""
        feed = {name: inputs[name] for name in self._names}  # A graph does not have the inputs that it does not use.
        output: Floats32 = self._session.run([_OUTPUT], feed)[0]
        return output


def _open_session(content: bytes, place: str, threads: int) -> Any:
    onnxruntime = load_package("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # Threads that wait by spinning take processor time from everything else on the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Weights may lie in other files, which would be looked for where the process runs. Exported models have none.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - onnxruntime raises classes of its own that share no base
        reason = " ".join(str(error).split())[:160]
        raise UntrustedFileError(f"{place}: cannot be read as an ONNX file ({reason}).") from None


def expected_inputs(description: Description) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return type and shape, without the batch axis, of the inputs that a graph may have."""
    length, channels = description.input_size, description.channels
    inputs: dict[str, tuple[str, tuple[int, ...]]] = {
        "past_y": (_FLOAT, (length, channels)),
        "past_mask": (_FLOAT, (length, channels)),
    }
    if description.past:
        inputs["past_x"] = (_FLOAT, (length, len(description.past)))
    ahead = len(description.future) + len(description.calendar)
    if ahead:
        inputs["future_x"] = (_FLOAT, (length + description.horizon, ahead))
    if description.static:
        inputs["static_x"] = (_FLOAT, (len(description.static),))
    if description.takes_series:
        inputs["series"] = ("tensor(int64)", ())
    return inputs


def _check_graph(session: Any, description: Description, place: str) -> None:
    expected = expected_inputs(description)
    nodes = session.get_inputs()
    fits = all(node.name in expected and _matches(node, *expected[node.name]) for node in nodes)
    wanted = (description.horizon, description.channels, 1 + len(description.quantiles))
    outputs = session.get_outputs()
    fits = fits and [node.name for node in outputs] == [_OUTPUT] and _matches(outputs[0], _FLOAT, wanted)
    if not fits or "past_y" not in [node.name for node in nodes]:
        raise UntrustedFileError(f"{place}: its graph does not match its description; export the model again.")


def _matches(node: Any, kind: str, shape: tuple[int, ...]) -> bool:
    """Whether an input or output has a type and shape after an axis of any length; names stand for any length."""
    found = node.shape
    if node.type != kind or len(found) != len(shape) + 1 or isinstance(found[0], int):
        return False
    return all(not isinstance(size, int) or size == wanted for size, wanted in zip(found[1:], shape, strict=True))
