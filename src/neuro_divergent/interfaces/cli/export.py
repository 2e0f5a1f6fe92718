"""``nd export``: a trained model as one file that other systems run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer

from neuro_divergent.interfaces.cli.options import AsJson, ModelPath, Quiet, parse_levels, parse_numbers

EXAMPLES = """\b
Examples:
  nd export runs/sales-nhits-20260101-120000
  nd export runs/sales-nhits-20260101-120000 --format onnx-int8 --levels 80,95
  nd export model/ --quantiles 0.1,0.5,0.9 --output forecaster.onnx --json
"""
Format = Literal["onnx", "onnx-int8", "torch"]


def export(
    model: ModelPath,
    file_format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORMAT", help="onnx, onnx-int8 or torch.")
    ] = "onnx",
    levels: Annotated[
        str | None, typer.Option("--levels", metavar="PERCENT,...", help="Intervals of the graph, as 80,95.")
    ] = None,
    quantiles: Annotated[
        str | None, typer.Option("--quantiles", metavar="QUANTILE,...", help="Quantiles of the graph, as 0.1,0.9.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; unset, beside the model.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a model as one file for other systems and for nd serve.

    It goes from raw history to forecasts, which are compared with those of nd predict.

    A file beside its model is found again: nd predict and neuro_divergent.serving.load then use it, without torch.
    """
    from neuro_divergent.core.errors import check_choice
    from neuro_divergent.interfaces.cli.run_directory import any_model_directory, model_directory

    check_choice("format", file_format, get_args(Format))
    chosen = cast("Format", file_format)
    percent = None if levels is None else parse_levels(levels)
    wanted = None if quantiles is None else parse_numbers(quantiles, "--quantiles")
    other = any_model_directory(model)
    path = model_directory(model) if other is None else other

    from neuro_divergent.forecasting.load import load
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.interfaces.cli.silence import silenced
    from neuro_divergent.serving.export.exporter import beside, write_export
    from neuro_divergent.serving.export_file import stored_digest

    screen = Screen(quiet=quiet, as_json=as_json)
    place = beside(path, chosen) if output is None else output
    digest, loaded = stored_digest(path), load(path)
    with ends_with("Interrupted; nothing was written."), shown_progress(screen.messages, "Exporting"), silenced():
        made = write_export(loaded, place, format=chosen, levels=percent, quantiles=wanted, digest=digest)
    described, check = made.description, made.verification
    screen.say(f"Written to {made.path}")
    screen.facts(
        [
            ("size", f"{made.size / 1024:,.0f} KB"),
            ("input", f"{described.input_size} steps of history"),
            ("output", _output(described.horizon, described.quantiles)),
            ("check", _check(check.largest, check.windows)),
            ("next", _next(file_format, path, made.path, is_beside=output is None)),
        ]
    )
    screen.result(
        {
            "path": str(made.path),
            "model": str(path),
            "format": file_format,
            "bytes": made.size,
            "digest": described.digest,
            "horizon": described.horizon,
            "input_size": described.input_size,
            "quantiles": list(described.quantiles),
            "largest_difference": check.largest,
            "windows_compared": check.windows,
        }
    )


def _output(horizon: int, quantiles: tuple[float, ...]) -> str:
    listed = f" and the quantiles {', '.join(f'{quantile:g}' for quantile in quantiles)}" if quantiles else ""
    return f"{horizon} steps: the point{listed}"


def _check(largest: float, windows: int) -> str:
    return f"differs from predict by {largest:.1g} of the spread of a window at most, in {windows} windows"


def _next(file_format: str, model: Path, path: Path, *, is_beside: bool) -> str:
    if file_format == "torch":
        return f'torch.export.load("{path}"); load only files from those you trust'
    if is_beside and file_format == "onnx":
        return f"nd predict {model}, which uses it from now on, or nd serve {model}"
    return f'neuro_divergent.serving.load("{path}"), or nd serve {path}'
