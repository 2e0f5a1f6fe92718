"""What weights of 8 bits cost: size, speed and OWA of an exported NHITS on the hourly series of M4.

NHITS at its default size is trained on windows of 240 -> 48, exported to ONNX with weights of 32 and of 8 bits, and
both files forecast the test part. One thread. Times are the 10 % quantile of many calls, of the graph alone.

    python benchmarks/export_int8.py --data ../shared/data
    python benchmarks/export_int8.py --steps 3000 --seeds 1 2 3
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

import neuro_divergent as nd
from competition.m4_series import Series
from neuro_divergent.serving.export.exporter import Export, write_export

_INPUT_SIZE, _ROWS = 240, 1240
_FORMATS = ("onnx", "onnx-int8")


def main() -> None:
    """Train, export, forecast and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument("--steps", type=int, default=1000, help="steps of training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one training for each")
    options = parser.parse_args()
    torch.set_num_threads(1)
    series = Series(options.data, "hourly")
    for seed in options.seeds:
        forecaster = _train(series, options.steps, seed)
        with tempfile.TemporaryDirectory() as place:
            _report(series, forecaster, Path(place), seed)


def _train(series: Series, steps: int, seed: int) -> nd.Forecaster:
    forecaster = nd.Forecaster(
        nd.NHITS(),
        horizon=series.horizon,
        input_size=_INPUT_SIZE,
        validation=0,
        training=nd.TrainingConfig(
            max_steps=steps,
            batch_size=256,
            optimizer=nd.AdamW(lr=1e-3),
            early_stopping=None,
            seed=seed,
            threads=1,
            device="cpu",
        ),
    )
    return forecaster.fit(series.table(_ROWS), short="pad")


def _report(series: Series, forecaster: nd.Forecaster, place: Path, seed: int) -> None:
    made: dict[str, Export] = {}
    owa = {"predict": series.scores(series.matrix(forecaster.predict(), "forecast"))["owa"]}
    for number, name in enumerate(_FORMATS):
        made[name] = write_export(forecaster, place / f"{number}.onnx", format=name)
        session = _open(made[name].path)
        owa[name] = series.scores(_forecast(session, forecaster))["owa"]
        one, hundred = (_milliseconds(session, forecaster, size) for size in (1, 100))
        print(
            f"seed {seed}  {name:9}  {made[name].size:>9,} bytes  OWA {owa[name]:.5f}  largest difference from predict "
            f"{made[name].verification.largest:.2g} of the spread  {one:.3f} ms for 1 window, {hundred:.2f} for 100"
        )
    plain, small = (made[name].size for name in _FORMATS)
    change = owa["onnx-int8"] / owa["onnx"] - 1
    print(
        f"seed {seed}  OWA of predict {owa['predict']:.5f}; int8 changes it by {change:+.3%} and has "
        f"{small / plain:.3f} of the size"
    )


def _open(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _inputs(forecaster: nd.Forecaster) -> dict[str, Any]:
    """Return the end of every series, as the graph reads it."""
    context = forecaster.fitted.context
    mask = np.ones(len(context), bool) if context.mask is None else context.mask
    return {
        "past_y": context.y.reshape(-1, _INPUT_SIZE, 1),
        "past_mask": mask.reshape(-1, _INPUT_SIZE, 1).astype(np.float32),
        "series": np.arange(context.num_series),
    }


def _forecast(session: Any, forecaster: nd.Forecaster) -> Any:
    return session.run(["forecast"], _inputs(forecaster))[0][:, :, 0, 0].astype(np.float64)


def _milliseconds(session: Any, forecaster: nd.Forecaster, size: int) -> float:
    inputs = {name: array[:size] for name, array in _inputs(forecaster).items()}
    times = []
    for _ in range(200):
        began = time.perf_counter()
        session.run(["forecast"], inputs)
        times.append(time.perf_counter() - began)
    return 1000 * float(np.quantile(times, 0.1))


if __name__ == "__main__":
    main()
