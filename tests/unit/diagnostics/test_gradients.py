"""Verdicts on layers: from norms made for the purpose, and from networks that really have the trouble."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.diagnostics.gradients import analyse_gradients, gradient_snapshot, is_small
from neuro_divergent.runs.events import layers_of, read_events
from neuro_divergent.training.objective import Example, Objective

TABLE = Synthetic(num_series=2, length=80, seed=2).frame()


def norms(steps: int = 20, **layers: Any) -> pl.DataFrame:
    """Return norms of layers, each ``(gradient, weight, update)`` or a function of the step that gives them."""
    rows = [
        (step, name.replace("__", "."), *(item(step) if callable(item) else item))
        for step in range(steps)
        for name, item in layers.items()
    ]
    schema = {"step": pl.Int64, "layer": pl.String, "gradient": pl.Float64, "weight": pl.Float64, "update": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


HEALTHY = {f"layers__{place}__weight": (0.5 + 0.1 * place, 10.0, 0.01) for place in range(5)}


def verdicts(**layers: Any) -> dict[str, str]:
    report = analyse_gradients(norms(**HEALTHY, **layers))
    found = dict(report.layers.select("layer", "verdict").iter_rows())
    assert {found.pop(name.replace("__", ".")) for name in HEALTHY} == {"fine"}
    assert report.is_fine == (set(found.values()) <= {"fine"})
    return found


@pytest.mark.parametrize(
    ("layer", "verdict"),
    [
        ((0.5, 10.0, 0.01), "fine"),
        ((0.01, 10.0, 0.01), "fine"),
        ((1e-5, 10.0, 0.01), "vanishing"),
        ((1e-5, 1e-5, 1e-8), "fine"),  # small weights have small gradients
        ((5e3, 10.0, 0.01), "exploding"),
        ((5e3, 1e6, 100.0), "fine"),  # large weights have large ones
        ((float("inf"), 10.0, 0.01), "exploding"),
        ((None, 10.0, None), "frozen"),
        ((0.0, 10.0, 0.0), "frozen"),
        ((0.5, 10.0, 2.0), "large updates"),
        ((0.5, 10.0, 1e-6), "small updates"),
        ((0.5, 10.0, None), "fine"),
        ((0.5, 0.0, 0.01), "fine"),
        (lambda step: (0.5 if step > 10 else None, 10.0, 0.01), "fine"),
        (lambda step: (0.1 * 10 ** (step / 3), 10.0, 0.01), "exploding"),
        (lambda step: (1e-4 * 10 ** (step / 5), 10.0, 0.01), "fine"),
    ],
)
def test_verdict_compares_a_layer_with_the_others_and_its_weights(layer: Any, verdict: str) -> None:
    assert verdicts(layers__9__weight=layer) == {"layers.9.weight": verdict}


@pytest.mark.parametrize("name", ["layers__9__bias", "norm__weight", "encoder__bias_ih_l0", "gain"])
def test_thresholds_of_biases_and_norms_are_more_lenient(name: str) -> None:
    shown = name.replace("__", ".")
    assert is_small(shown)
    assert verdicts(**{name: (1e-12, 10.0, 0.01)}) == {shown: "fine"}
    assert verdicts(**{name: (0.5, 10.0, 1e-8)}) == {shown: "fine"}
    assert verdicts(**{name: (0.5, 10.0, 3.0)}) == {shown: "fine"}
    assert verdicts(**{name: (0.5, 10.0, 30.0)}) == {shown: "large updates"}
    assert verdicts(**{name: (None, 10.0, None)}) == {shown: "frozen"}


def test_weights_of_layers_are_not_small_ones() -> None:
    assert not any(map(is_small, ("layers.0.weight", "encoder.weight_ih_l0", "coefficients", "blocks.1.key")))


def test_tiny_gradients_of_all_layers_vanish() -> None:
    report = analyse_gradients(norms(a__weight=(1e-11, 5.0, None), b__weight=(1e-10, 5.0, None)))
    assert report.with_verdict("vanishing") == ["a.weight", "b.weight"]


def test_report_has_medians_and_fractions() -> None:
    report = analyse_gradients(norms(4, layer=lambda step: (float(step), 2.0, 1.0 + step)))
    (row,) = report.layers.to_dicts()
    assert (row["gradient"], row["weight"], row["ratio"], row["silent_share"]) == (1.5, 2.0, 1.25, 0.25)
    assert report.to_dict() == {"steps": 4, "layers": [row]}


def test_nothing_measured_is_an_empty_report() -> None:
    report = analyse_gradients(layers_of([]))
    assert (report.steps, report.layers.height, report.is_fine) == (0, 0, True)


def test_a_table_without_norms_is_refused() -> None:
    with pytest.raises(InputError, match="'gradient' missing"):
        analyse_gradients(pl.DataFrame({"step": [1], "layer": ["a"], "weight": [1.0]}))


def test_a_snapshot_is_the_gradient_of_the_loss() -> None:
    training = nd.TrainingConfig(max_steps=3, threads=1, batch_size=10_000)
    forecaster = nd.Forecaster("nlinear", horizon=3, input_size=6, training=training).fit(TABLE)
    found = gradient_snapshot(forecaster, batches=1)
    assert forecaster.split is not None
    network, windows = forecaster.fitted.predictor.network, forecaster.split.train
    batcher = forecaster.fitted.batcher(windows.panel)
    example = Example.of(batcher.windows(*windows.locate(np.arange(len(windows)))))
    Objective(forecaster.task.loss).mean(network(example.inputs), example).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        row = found.filter(layer=name).row(0, named=True)
        assert row["gradient"] == pytest.approx(float(parameter.grad.norm()), rel=1e-5)
        assert row["weight"] == pytest.approx(float(parameter.detach().norm()), rel=1e-6)


def test_a_deep_network_of_sigmoids_has_vanishing_gradients_and_a_shallow_one_has_not() -> None:
    def report(num_layers: int, activation: str) -> Any:
        training = nd.TrainingConfig(max_steps=1, threads=1)
        architecture = nd.MLP(hidden_size=16, num_layers=num_layers, activation=activation)
        forecaster = nd.Forecaster(architecture, horizon=3, input_size=6, training=training).fit(TABLE)
        return analyse_gradients(gradient_snapshot(forecaster))

    assert "layers.0.weight" in report(10, "Sigmoid").with_verdict("vanishing")
    assert report(2, "Sigmoid").is_fine
    assert report(4, "ReLU").is_fine


def test_frozen_layers_are_found_in_recorded_norms(tmp_path: Path) -> None:
    training = nd.TrainingConfig(max_steps=40, log_every=5, threads=1, freeze=nd.training.Freeze("layers.0.*"))
    architecture = nd.MLP(hidden_size=16)
    nd.Forecaster(architecture, horizon=3, input_size=6, training=training).fit(TABLE, run=tmp_path / "run")
    report = analyse_gradients(layers_of(read_events(tmp_path / "run", "start", "layers")))
    assert report.steps == 8
    assert report.with_verdict("frozen") == ["layers.0.weight", "layers.0.bias"]
    assert report.layers.filter(verdict="fine").height == report.layers.height - 2


def test_updates_that_are_too_large_are_found(tmp_path: Path) -> None:
    training = nd.TrainingConfig(max_steps=12, log_every=1, threads=1, optimizer=nd.AdamW(lr=1.0), early_stopping=None)
    nd.Forecaster(nd.MLP(hidden_size=16), horizon=3, input_size=6, training=training).fit(TABLE, run=tmp_path / "run")
    report = analyse_gradients(layers_of(read_events(tmp_path / "run", "start", "layers")))
    assert report.with_verdict("large updates")


def test_a_snapshot_needs_a_batch() -> None:
    forecaster = nd.Forecaster("nlinear", horizon=3, training=nd.TrainingConfig(max_steps=1)).fit(TABLE)
    with pytest.raises(InputError, match="batches"):
        gradient_snapshot(forecaster, batches=0)


def test_gradients_of_parameters_are_left_alone() -> None:
    forecaster = nd.Forecaster("nlinear", horizon=3, training=nd.TrainingConfig(max_steps=1)).fit(TABLE)
    layer = next(part for part in forecaster.fitted.predictor.network.modules() if isinstance(part, nn.Linear))
    layer.weight.grad = torch.ones_like(layer.weight)
    gradient_snapshot(forecaster)
    assert bool((layer.weight.grad == 1).all())
