"""The doctor finds nothing serious in trainings that went well, whatever the architecture."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.diagnostics.doctor import examine
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.models.base import Architecture

# Sizes that take seconds, and what differs from a rate of 0.001 for 400 steps.
RUNS: dict[str, dict[str, Any]] = {
    "autoformer": {"hidden_size": 32, "steps": 300},
    "bitcn": {},
    "deepar": {"hidden_size": 32, "lr": 1e-2, "steps": 600, "loss": "normal"},
    "dlinear": {},
    "fedformer": {"hidden_size": 32, "lr": 2e-3},
    "gru": {"hidden_size": 32, "lr": 5e-3},
    "informer": {"hidden_size": 32, "lr": 2e-3, "steps": 600},
    "itransformer": {"hidden_size": 32},
    "kan": {"hidden_size": 32},
    "lstm": {"hidden_size": 32, "lr": 5e-3},
    "mlp": {"hidden_size": 64},
    "nbeats": {"hidden_size": 64},
    "nhits": {"hidden_size": 64},
    "nlinear": {},
    "patchtst": {"hidden_size": 32, "steps": 300},
    "rnn": {"hidden_size": 32},
    "tcn": {"hidden_size": 32},
    "tide": {"hidden_size": 64},
    "timesnet": {"hidden_size": 16, "conv_hidden_size": 16, "steps": 150},
    "tsmixer": {"hidden_size": 32},
}
MOST_LEFT_OUT = 2  # a linear network has no units that could die, and one that stopped early few validations


def evidence_of(name: str, seed: int, place: Path) -> Evidence:
    """Train on daily series with a week and noise, and return all that is known of it."""
    settings = dict(RUNS[name])
    lr, steps, loss = settings.pop("lr", 1e-3), settings.pop("steps", 400), settings.pop("loss", "mae")
    frame = Synthetic(num_series=8, length=400, seasonalities=(7,), noise=3.0, seed=seed).frame()
    training = nd.TrainingConfig(
        max_steps=steps, optimizer=nd.AdamW(lr=lr), batch_size=32, seed=seed + 1, threads=1, log_every=5,
        validate_every=steps // 20,  # so often that every rule can judge
    )  # fmt: skip
    model = Architecture.from_dict({"name": name, **settings})
    forecaster = nd.Forecaster(model, training=training, horizon=7, input_size=28, test=0.2, loss=loss)
    forecaster.fit(frame, run=place / "run")
    measured = Evidence.of_run(place / "run")
    return dataclasses.replace(Evidence.of(forecaster), layers=measured.layers, state=measured.state)


def test_there_are_twenty_architectures() -> None:
    assert len(RUNS) == 20


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_healthy_training_has_no_problem_and_no_warning(name: str, tmp_path: Path) -> None:
    evidence = evidence_of(name, 0, tmp_path)
    assert evidence.scores is not None
    assert evidence.scores["scores"][0]["skill"] > 0.05, "not a training that went well"
    diagnosis = examine(evidence)
    assert not diagnosis.of("problem", "warning"), str(diagnosis)
    assert diagnosis.is_healthy
    assert len(diagnosis.not_checked) <= MOST_LEFT_OUT, diagnosis.not_checked
