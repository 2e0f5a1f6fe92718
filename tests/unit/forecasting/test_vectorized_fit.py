"""Forecasters that are fitted together are those that are fitted one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, DivergedError, InputError
from neuro_divergent.forecasting import vectorized_fit
from neuro_divergent.forecasting.vectorized_fit import fit_vectorized
from tests.unit.training.vectorized.together import waves

SMALL = nd.MLP(hidden_size=8, num_layers=1)
TRAINING = nd.TrainingConfig(
    max_steps=40,
    batch_size=16,
    validate_every=5,
    precision="float64",
    threads=1,
    early_stopping=nd.EarlyStopping(patience=1, min_delta=0.0),
    optimizer=nd.AdamW(lr=0.02),
)


def forecaster(model: Any = SMALL, training: nd.TrainingConfig = TRAINING, **task: Any) -> nd.Forecaster:
    return nd.Forecaster(model, horizon=4, input_size=12, training=training, **task)


def data(num_series: int = 3, length: int = 60) -> pl.DataFrame:
    return waves(num_series, length).drop("importance")


def weights(model: nd.Forecaster) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.fitted.predictor.network.parameters()])


def assert_same(one: nd.Forecaster, other: nd.Forecaster) -> None:
    """Weights, those before the training on all rows too, chosen steps and residuals agree up to rounding."""
    for mine, theirs in ((one, other), (one.validated, other.validated)):
        assert torch.allclose(weights(mine), weights(theirs), rtol=1e-6, atol=1e-7)  # float64, stored as float32
        assert mine.fitted.trained_on == theirs.fitted.trained_on
    assert other.predict(levels=[80]).select(pl.exclude("unique_id", "ds")).to_numpy() == pytest.approx(
        one.predict(levels=[80]).select(pl.exclude("unique_id", "ds")).to_numpy(), rel=1e-5
    )
    losses = [model.history["validation_loss"].drop_nulls().to_list() for model in (one, other)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-10)


def test_an_ensemble_of_seeds_is_the_same_vectorized_or_not() -> None:
    apart = nd.Ensemble.seeds(forecaster(), 4, weights="validation").fit(data(), vectorize=False)
    together = nd.Ensemble.seeds(forecaster(), 4, weights="validation").fit(data(), vectorize=True)
    for pair in zip(apart.members, together.members, strict=True):
        assert_same(*pair)
    assert len({member.validated.fitted.trained_on for member in apart.members}) > 1  # they stop at different steps
    assert all(member.fitted.trained_on.all_rows for member in together.members)
    assert together.weights == pytest.approx(apart.weights, rel=1e-6)
    assert together.history["step"].to_list() == apart.history["step"].to_list()


def test_members_of_several_kinds_are_vectorized_kind_by_kind_and_the_others_trained_alone() -> None:
    def members() -> list[nd.Forecaster]:
        seeds = [TRAINING.replace(seed=seed) for seed in (1, 2)]
        linear = [forecaster(nd.NLinear(), own) for own in seeds]
        alone = forecaster(nd.DLinear())
        return [linear[0], alone, *(forecaster(training=own) for own in seeds), linear[1]]

    apart = nd.Ensemble(members()).fit(data(), vectorize=False)
    fitted = members()
    left = fit_vectorized(fitted, [apart.panel] * 5, vectorize="auto")
    assert fitted[1] in left
    together = nd.Ensemble(members()).fit(data())
    for pair in zip(apart.members, together.members, strict=True):
        assert_same(*pair)


def test_a_network_that_cannot_be_vectorized_is_trained_alone_with_the_same_bits() -> None:
    model, training = nd.LSTM(hidden_size=4), TRAINING.replace(max_steps=4, precision="float32")
    apart = nd.Ensemble.seeds(forecaster(model, training), 2).fit(data(), vectorize=False)
    together = nd.Ensemble.seeds(forecaster(model, training), 2).fit(data())
    for mine, theirs in zip(apart.members, together.members, strict=True):
        assert torch.equal(weights(mine), weights(theirs))
    with pytest.raises(ConfigError, match="batching rule"):
        nd.Ensemble.seeds(forecaster(model, training), 2).fit(data(), vectorize=True)


def test_what_is_slower_is_not_vectorized_unless_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[int] = []
    fit = vectorized_fit.VectorizedTrainer.fit
    monkeypatch.setattr(vectorized_fit, "speedup", lambda members: 0.9)
    monkeypatch.setattr(
        vectorized_fit.VectorizedTrainer, "fit", lambda self: (trained.append(len(self._members)), fit(self))
    )
    nd.Ensemble.seeds(forecaster(refit=False), 3).fit(data())
    assert trained == []
    nd.Ensemble.seeds(forecaster(refit=False), 3).fit(data(), vectorize=True)
    assert trained == [3]


def test_a_warm_start_is_vectorized_from_the_weights_of_each_member() -> None:
    first = nd.Ensemble.seeds(forecaster(refit=False), 2).fit(data())
    apart, together = (
        nd.Ensemble.seeds(forecaster(refit=False), 2).fit(data(3, 70), initial=first, vectorize=vectorize)
        for vectorize in (False, True)
    )
    for pair in zip(apart.members, together.members, strict=True):
        assert_same(*pair)


def test_a_member_that_diverges_ends_the_fit_with_its_error() -> None:
    good, broken = (TRAINING.replace(optimizer=nd.optimizers.SGD(lr=rate), clip=None, seed=2) for rate in (1e-3, 1e200))
    with pytest.raises(DivergedError):
        nd.Ensemble([forecaster(training=good), forecaster(training=broken)]).fit(data(), vectorize=True)


def test_a_forecaster_that_is_a_member_twice_is_trained_once_at_a_time() -> None:
    one, other = forecaster(), forecaster(training=TRAINING.replace(seed=2))
    nd.Ensemble([one, other, one]).fit(data(), vectorize=True)
    apart = forecaster().fit(data())
    assert_same(apart, one)


def test_runs_callbacks_and_snapshots_are_not_vectorized(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run directory"):
        nd.Ensemble.seeds(forecaster(), 2).fit(data(), run=tmp_path / "run", vectorize=True)
    with pytest.raises(ConfigError, match="callbacks"):
        nd.Ensemble.seeds(forecaster(), 2).fit(data(), callbacks=[nd.callbacks.Callback()], vectorize=True)
    with pytest.raises(ConfigError, match="snapshots"):
        nd.Ensemble.snapshots(forecaster(), 2).fit(data(), vectorize=True)
    with pytest.raises(ConfigError, match="'sometimes' must be"):
        nd.Ensemble.seeds(forecaster(), 2).fit(data(), vectorize="sometimes")  # type: ignore[arg-type]


def test_a_learning_curve_is_the_same_vectorized_or_not() -> None:
    settings: dict[str, Any] = {"sizes": (0.4, 0.7, 1.0), "folds": 2, "repeats": 2, "season_length": 12}
    model = forecaster(training=TRAINING.replace(max_steps=15))
    apart, together = (
        nd.learning_curve(model, data(3, 120), **settings, vectorize=vectorize) for vectorize in (False, True)
    )
    assert apart.per_fold.height == together.per_fold.height == 12
    assert np.allclose(apart.per_fold.to_numpy(), together.per_fold.to_numpy(), rtol=1e-5)
    with pytest.raises(InputError, match="jobs=1"):
        nd.learning_curve(model, data(), **settings, jobs=2, vectorize=True)
