"""Exports fitted models: one file with a graph from raw history to forecasts, compared with ``predict``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
import torch
from torch import Tensor

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError, check_choice
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.manifest import digest_of
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.serving.dependency import load_package
from neuro_divergent.serving.description import KEY, Description
from neuro_divergent.serving.export.describe import describe
from neuro_divergent.serving.export.graph import trace_onnx
from neuro_divergent.serving.export.model_module import module_for, refuse_architecture, requested_quantiles
from neuro_divergent.serving.export.module import ExportModule
from neuro_divergent.serving.export.quantization import quantize
from neuro_divergent.serving.export.relaxed import relaxed
from neuro_divergent.serving.export.sample import Sample
from neuro_divergent.serving.export.torch_program import ProgramRunner, dump_program
from neuro_divergent.serving.export.verification import INT8_TOLERANCE, TOLERANCE, Verification, verify
from neuro_divergent.serving.export_file import export_path

if TYPE_CHECKING:
    from onnx import ModelProto

Format = Literal["onnx", "onnx-int8", "torch"]
SUFFIXES: dict[Format, str] = {"onnx": ".onnx", "onnx-int8": ".int8.onnx", "torch": ".pt2"}
"""What the name of a file of each format ends with, where none is given."""
_FOLDED = 2**28  # bytes of a constant that is computed
_EXAMPLES = 4  # windows that a graph is traced with


@dataclass(frozen=True)
class Export:
    """A file that was written.

    Attributes:
        path: The file.
        description: What its graph reads and returns.
        size: Bytes.
        verification: How far it is from ``predict``.
    """

    path: Path
    description: Description
    size: int
    verification: Verification


def export_model(
    model: ForecastModel,
    path: str | Path,
    *,
    format: Format = "onnx",  # noqa: A002 (the word for it)
    levels: Sequence[float] | None = None,
    quantiles: Sequence[float] | None = None,
    digest: str | None = None,
) -> Path:
    """Write a fitted model as one file; see ``write_export``."""
    return write_export(model, path, format=format, levels=levels, quantiles=quantiles, digest=digest).path


def write_export(
    model: ForecastModel,
    path: str | Path,
    *,
    format: Format = "onnx",  # noqa: A002 (the word for it)
    levels: Sequence[float] | None = None,
    quantiles: Sequence[float] | None = None,
    digest: str | None = None,
) -> Export:
    """Write a fitted model as one file that forecasts raw history, and compare it with ``predict`` before that.

    Args:
        model: The fitted model.
        path: The file; one that is there is replaced.
        format: ``onnx``; ``onnx-int8``, with weights of 8 bits; or ``torch``, a program of ``torch.export``.
        levels: Central intervals to give, in percent. If neither they nor quantiles are given, the quantiles of the
            loss, or the intervals of 80, 90 and 95 percent that the model can claim.
        quantiles: Quantiles to give, between 0 and 1.
        digest: SHA-256 of the manifest of the saved model; unset, that of what ``save`` would write now.

    Raises:
        ExportError: If the model cannot be exported, or the file would not forecast what ``predict`` does; then nothing
            is written.
        InputError: If the model does not forecast these quantiles, or the file has another ending.
        MissingDependencyError: If packages for it are not installed.
        StorageError: If the disk refuses.
    """
    check_choice("format", format, get_args(Format))
    path = Path(path)
    ending = ".pt2" if format == "torch" else ".onnx"
    if path.suffix != ending:
        raise InputError(f"{path}: the name of a file of format {format} ends with {ending}.")
    refuse_architecture(model)
    module, description = exportable(model, levels, quantiles, digest)
    example = _example(model, description)
    if format == "torch":
        content = dump_program(module, example, description)
        found = verify(model, description, ProgramRunner(content).run, tolerance=TOLERANCE)
    else:
        for name in ("onnx", "onnxscript", "onnxruntime"):
            load_package(name)
        graph, tolerance = trace_onnx(module, example), TOLERANCE
        _strip(graph)
        graph = _folded(graph)
        if format == "onnx-int8":
            graph, tolerance = quantize(graph), INT8_TOLERANCE
            description = msgspec.structs.replace(description, precision="int8")
        graph.metadata_props.add(key=KEY, value=description.to_json().decode())
        content = graph.SerializeToString()
        found = verify(model, description, _GraphRunner(content).run, tolerance=tolerance)
    write_file(path, content)
    return Export(path, description, len(content), found)


def exportable(
    model: ForecastModel,
    levels: Sequence[float] | None = None,
    quantiles: Sequence[float] | None = None,
    digest: str | None = None,
) -> tuple[ExportModule, Description]:
    """Return a fitted model as a module of raw windows, and its description; arguments are those of ``write_export``.

    Raises:
        ExportError: If there is no such module, with the reason.
        InputError: If the model does not forecast these quantiles.
    """
    wanted = requested_quantiles(model, levels, quantiles)
    module = module_for(model, wanted)
    if digest is None:
        digest = digest_of(dict(model.to_files()))
    return ExportModule(module), describe(model, module, wanted, digest)


def _example(model: ForecastModel, description: Description) -> dict[str, Tensor]:
    """Return windows to trace a module with; some of their values are missing."""
    inputs = Sample.draw(relaxed(model).fitted.context, description, _EXAMPLES, missing=(True,)).inputs()
    inputs["past_y"][0, 0] = inputs["past_mask"][0, 0] = 0.0  # of short windows nothing may be missing so far
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


def _folded(model: ModelProto) -> ModelProto:
    """Compute what does not depend on the inputs, such as parts of weights, unless the file becomes larger."""
    optimizer = load_package("onnxscript.optimizer")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folded: ModelProto = optimizer.optimize(model, input_size_limit=_FOLDED, output_size_limit=_FOLDED)
    return folded if folded.ByteSize() < model.ByteSize() else model


def _strip(model: ModelProto) -> None:
    """Remove what the exporter of torch notes about each node: lines of source code, with the paths of this machine."""
    del model.metadata_props[:]
    del model.graph.metadata_props[:]
    for item in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output):
        del item.metadata_props[:]
        item.doc_string = ""
    for function in model.functions:
        del function.metadata_props[:]
        for node in function.node:
            del node.metadata_props[:]
            node.doc_string = ""


class _GraphRunner:
    """Runs a graph with onnxruntime, on one thread."""

    def __init__(self, content: bytes) -> None:
        library: Any = load_package("onnxruntime")
        options = library.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = library.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(self, inputs: Mapping[str, Array]) -> Array:
        forecast: Array = self._session.run(["forecast"], dict(inputs))[0]
        return forecast


def beside(directory: Path, format: Format = "onnx") -> Path:  # noqa: A002
    """Return where an export of a saved model lies: ``runs/x/model.onnx`` for ``runs/x/model``."""
    return export_path(directory).with_suffix(SUFFIXES[format])
