"""A run that is killed and goes on: the model is the one of a run that nobody killed, to the last bit."""

import multiprocessing
import tempfile
import time
from pathlib import Path

import torch

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic

DATA = Synthetic(num_series=4, length=300, frequency="1h", seasonalities=(24,), noise=1.0).frame()
TRAINING = nd.TrainingConfig(max_steps=1500, early_stopping=None, threads=1)


def train(run: Path) -> nd.Forecaster:
    """Train in a run directory, with a checkpoint every 50 steps."""
    torch.set_num_threads(1)
    forecaster = nd.Forecaster("nlinear", horizon=12, input_size=48, training=TRAINING)
    return forecaster.fit(DATA, run=run, checkpoints=nd.callbacks.Checkpointing(every_epochs=None, every_steps=50))


def weights(forecaster: nd.Forecaster) -> list[torch.Tensor]:
    """Return what training learned."""
    return list(forecaster.fitted.predictor.network.state_dict().values())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "run"
        process = multiprocessing.get_context("spawn").Process(target=train, args=(run,))
        process.start()
        while not list(run.glob("checkpoints/step-*")):
            time.sleep(0.01)
        process.kill()  # SIGKILL: no handler can run, nothing is said goodbye to
        process.join()
        summary = nd.runs.describe_run(run)
        print(f"{summary.state}, with {len(summary.checkpoints)} checkpoints")

        resumed = nd.Forecaster.resume(run, DATA)
        untouched = train(Path(directory) / "untouched")
        same = all(torch.equal(one, other) for one, other in zip(weights(resumed), weights(untouched), strict=True))
        print("the same weights" if same else "other weights")
