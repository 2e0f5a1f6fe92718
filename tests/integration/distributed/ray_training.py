"""Trains in the workers of Ray Train, each of which goes on with a run that was begun. A script of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import ray
import torch.distributed
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train(config: dict[str, Any]) -> None:
    import neuro_divergent as nd

    begun = [(Path(config["run"]) / "run.json").exists()]
    torch.distributed.broadcast_object_list(begun)  # one of them may look when another has just begun it
    if begun[0]:
        nd.Forecaster.resume(config["run"])
        return
    training = nd.TrainingConfig(max_steps=config["steps"], threads=1)
    forecaster = nd.Forecaster("mlp", horizon=4, input_size=12, training=training)
    checkpoints = nd.callbacks.Checkpointing(every_steps=5, every_epochs=None, keep=1000)
    forecaster.fit(config["data"], run=config["run"], checkpoints=checkpoints)


if __name__ == "__main__":
    address, data, run, steps = sys.argv[1:]
    ray.init(address, log_to_driver=False, logging_level="ERROR")
    trainer = TorchTrainer(
        train,
        train_loop_config={"data": data, "run": run, "steps": int(steps)},
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(storage_path=f"{run}-ray", failure_config=FailureConfig(max_failures=3)),
    )
    trainer.fit()
    sys.stdout.flush()
    os._exit(0)
