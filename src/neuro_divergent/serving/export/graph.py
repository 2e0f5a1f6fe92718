"""Traces a torch module to an ONNX graph for batches of any size."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ExportError
from neuro_divergent.forecasting.forecast_module import ForecastModule
from neuro_divergent.serving.dependency import load_package
from neuro_divergent.serving.export.translations import translations

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch.export import ExportedProgram

OPSET = 20
BATCH = "batch"
"""Name of dimension 0 of every input and output."""
_OUTPUT = "forecast"
_LARGEST_REASON = 300


def trace_onnx(module: nn.Module, inputs: Mapping[str, Tensor]) -> ModelProto:
    """Return the ONNX graph of a module, with its weights inside and the size of the batch left open.

    Args:
        module: In evaluation mode. ``forward`` takes the inputs by name and returns one tensor, the output
            ``forecast``.
        inputs: An example of at least 2 rows. A mask must be dense and have zeros in it: layers skip what they do for
            missing values where a mask shows that there are none, which would be traced.

    Raises:
        ExportError: If torch or ONNX cannot represent the module, or only for one size of the batch.
    """
    load_package("onnx")
    load_package("onnxscript")
    name = type(module).__name__
    program = trace_program(module, inputs)
    try:
        with torch.no_grad(), _quiet():
            exported = torch.onnx.export(
                program,
                opset_version=OPSET,
                input_names=list(inputs),
                output_names=[_OUTPUT],
                custom_translation_table=translations(),
                dynamo=True,
                verbose=False,
            )
            assert exported is not None, "only the older exporter returns nothing"
            model = exported.model_proto
    except Exception as error:  # torch raises errors of many kinds, some of them private
        raise ExportError(f"{name} cannot be exported to ONNX: {_reason(error)}.") from error
    _name_batch(model, name)
    _strip(model)
    return model


def trace_program(module: nn.Module, inputs: Mapping[str, Tensor]) -> ExportedProgram:
    """Return the graph of a module as ``torch.export`` traces it, for batches of any size.

    Takes the arguments of ``trace_onnx``.

    Raises:
        ExportError: If torch cannot represent the module.
    """
    _check_example(inputs)
    _check_losses(module)
    size = torch.export.Dim(BATCH, min=1, max=1 << 20)
    try:
        with torch.no_grad(), _quiet():
            return torch.export.export(
                module,
                (),
                dict(inputs),
                dynamic_shapes={key: {0: size} for key in inputs},
                strict=False,
                # Torch cannot prove all sizes of recurrent layers over several times the batch.
                prefer_deferred_runtime_asserts_over_guards=True,
            )
    except Exception as error:
        raise ExportError(f"{type(module).__name__} cannot be exported: {_reason(error)}.") from error


def _check_example(inputs: Mapping[str, Tensor]) -> None:
    """Check our own examples: what they lack would be missing from the graph without a word."""
    for key, value in inputs.items():
        assert value.shape[0] >= 2, f"{key}: an example needs at least 2 rows"
        assert value.is_contiguous(), f"{key}: an example must be dense"
    mask = inputs.get("past_mask")
    assert mask is None or bool((mask == 0).any()), "past_mask: an example needs missing values"


def _check_losses(module: nn.Module) -> None:
    """Refuse quantiles of which the loss says why they cannot be exported."""
    for part in module.modules():
        reason = part.loss.not_exported(part.quantiles) if isinstance(part, ForecastModule) else ""
        if reason:
            assert isinstance(part, ForecastModule)
            raise ExportError(
                f"quantiles of the loss {part.loss.name} cannot be exported: {reason}. Export without levels and "
                "quantiles, or train with another loss."
            )


def _name_batch(model: ModelProto, name: str) -> None:
    """Give dimension 0 of every input and output its name.

    Raises:
        ExportError: If one has a fixed size.
    """
    for value in (*model.graph.input, *model.graph.output):
        first = value.type.tensor_type.shape.dim[0]
        if not first.dim_param:
            raise ExportError(
                f"{name} cannot be exported to ONNX: the graph holds only for batches of {first.dim_value} windows "
                f"({value.name})."
            )
        first.dim_param = BATCH


def _strip(model: ModelProto) -> None:
    """Remove what the exporter notes for its developers: lines of source code with their paths, and inferred shapes.

    Runtimes infer shapes by themselves, and quantization refuses some of those that are noted.
    """
    del model.graph.value_info[:]
    noted = (model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer)
    for item in noted:
        del item.metadata_props[:]
        item.doc_string = ""


def _reason(error: Exception) -> str:
    """Return the innermost message of an error in one line."""
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text[:_LARGEST_REASON].rstrip(".")


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress what the exporter prints, logs and warns of, which is for its developers."""
    level = logging.root.manager.disable
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            logging.disable(logging.CRITICAL)
            yield
    finally:
        logging.disable(level)
