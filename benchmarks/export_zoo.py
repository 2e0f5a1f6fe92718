"""Measure exported graphs of architectures at their default sizes: eager against onnxruntime, one thread.

A graph holds the window scaler with its mask, the network and the inverse scaling, for windows of 96 to 24 steps;
models of all series get 4 channels. Weights are untrained. A number of milliseconds is the 10 % quantile of many calls,
which a busy machine changes least, and both sides are measured in turns of 20 calls. The difference is the largest one
from eager, in units of the spread of the windows. Prints a Markdown table.

    python benchmarks/export_zoo.py nlinear nhits patchtst
    python benchmarks/export_zoo.py --int8
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

HORIZON, HISTORY, CHANNELS = 24, 96, 4
COUNTS = (1, 100)
LEVEL, SPREAD = 10.0, 3.0
CALLS = 20  # of a side in turn: caches are then those of a server, which runs one graph


def main() -> None:
    """Print a line for each architecture."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
    import torch

    from neuro_divergent.models.base import Architecture

    torch.set_num_threads(1)
    arguments = _parse()
    names = arguments.names or Architecture.registry.names()
    titles = [
        "model",
        "difference",
        "KB",
        "export s",
        *(f"{side} {count}" for count in COUNTS for side in ("eager", "ort")),
    ]
    titles += ["KB int8", *(f"int8 {count}" for count in COUNTS), "int8 difference"] if arguments.int8 else []
    print("| " + " | ".join(titles) + " |\n|---" + "|---:" * (len(titles) - 1) + "|")
    for name in names:
        print("| " + " | ".join(row(name, seconds=arguments.seconds, int8=arguments.int8)) + " |", flush=True)


def row(name: str, *, seconds: float, int8: bool) -> list[str]:
    """Return the cells of an architecture."""
    from neuro_divergent.models.base import Architecture
    from neuro_divergent.serving.export.graph import ExportError, trace_onnx
    from neuro_divergent.serving.export.quantization import quantize

    reason = Architecture.registry.get(name).traits.not_exported
    if reason:
        return [name, f"not exported: {reason}"]
    module, channels = _module(name)
    began = time.process_time()
    try:
        model = trace_onnx(module, _windows(5, channels))
    except ExportError as error:
        return [name, str(error)]
    cells = [f"{model.ByteSize() / 1024:.0f}", f"{time.process_time() - began:.1f}"]
    graphs = [model, quantize(model)] if int8 else [model]
    times, differences = [], []
    for count in COUNTS:
        found, worst = _compare(module, [_session(graph) for graph in graphs], _windows(count, channels), seconds)
        times.append([f"{item:.3f}" for item in found])
        differences.append(worst)
    worst = [f"{max(found):.0e}" for found in zip(*differences, strict=True)]
    cells = [name, worst[0], *cells, *(item for found in times for item in found[:2])]
    if int8:
        cells += [f"{graphs[1].ByteSize() / 1024:.0f}", *(found[2] for found in times), worst[1]]
    return cells


def _compare(
    module: Any, sessions: list[Any], inputs: dict[str, Any], seconds: float
) -> tuple[list[float], list[float]]:
    """Return the milliseconds of eager and of each session, and how far each session is from eager."""
    arrays = {key: value.numpy() for key, value in inputs.items()}
    expected = _eager(module, inputs)
    differences = [float(abs(session.run(None, arrays)[0] - expected).max()) / SPREAD for session in sessions]
    sides: list[Callable[[], Any]] = [partial(_eager, module, inputs)]
    sides += [partial(session.run, None, arrays) for session in sessions]
    return _milliseconds(sides, seconds), differences


def _module(name: str) -> tuple[Any, int]:
    """Return a network of default size with scaling, and its number of channels."""
    import torch
    from torch import Tensor, nn

    from neuro_divergent.core.spec import TaskSpec
    from neuro_divergent.data.scaling.base import WindowScaler
    from neuro_divergent.data.scaling.pipeline import ScalingPipeline
    from neuro_divergent.forecasting.fitted import build_network
    from neuro_divergent.forecasting.forecast_module import ForecastModule
    from neuro_divergent.forecasting.task import Task
    from neuro_divergent.losses.point import MAE
    from neuro_divergent.models.base import Architecture

    class Points(nn.Module):
        def __init__(self, inside: ForecastModule) -> None:
            super().__init__()
            self.inside = inside
            self.eval()

        def forward(self, past_y: Tensor, past_mask: Tensor) -> Tensor:
            point: Tensor = self.inside(past_y, past_mask)[0]
            return point

    kind = Architecture.registry.get(name)
    channels = CHANNELS if kind.traits.mixes_channels else 1
    torch.manual_seed(0)
    network = build_network(kind(), Task(horizon=HORIZON, loss=MAE()), TaskSpec(HORIZON, HISTORY, channels=channels))
    for part in network.eval().modules():  # as before every forecast
        if hasattr(part, "prepare_to_forecast"):
            part.prepare_to_forecast()
    scaling = ScalingPipeline(WindowScaler.from_dict("standard"))
    return Points(ForecastModule(network, MAE(), scaling)), channels


def _windows(count: int, channels: int) -> dict[str, Any]:
    import torch

    random = torch.Generator().manual_seed(count)
    shape = (count, HISTORY, channels)
    mask = (torch.rand(shape, generator=random) > 0.1).float()
    return {"past_y": (LEVEL + SPREAD * torch.randn(shape, generator=random)) * mask, "past_mask": mask}


def _eager(module: Any, inputs: dict[str, Any]) -> Any:
    import torch

    with torch.inference_mode():
        return module(**inputs).numpy()


def _session(model: Any) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _milliseconds(sides: list[Callable[[], Any]], seconds: float) -> list[float]:
    """Return the 10 % quantile of the time of a call of each side, measured in turns."""
    import numpy as np

    spent: list[list[float]] = [[] for _ in sides]
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends or len(spent[0]) < 5:
        for side, times in zip(sides, spent, strict=True):
            turn = time.perf_counter() + seconds / 4
            for _ in range(CALLS):
                began = time.perf_counter()
                side()
                times.append(1000 * (time.perf_counter() - began))
                if time.perf_counter() > turn:
                    break
    return [float(np.quantile(times, 0.1)) for times in spent]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="architectures; all by default")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each architecture and number of windows")
    parser.add_argument("--int8", action="store_true", help="also with 8-bit weights")
    return parser.parse_args()


if __name__ == "__main__":
    main()
