"""Settings of the loop: penalties, noise, methods, metrics, compiling, stopping, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.forecasting.validation import LEAST_WINDOWS, denser
from neuro_divergent.training.callbacks.early_stopping import EarlyStopper
from neuro_divergent.training.compilation import has_compiler
from tests.unit.training.callbacks.example import config, line


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))


def flat(module: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def test_penalties_add_the_gradient_of_their_formula_to_matrices_alone() -> None:
    module = nn.Linear(3, 2).double()
    parameters = list(module.parameters())
    penalty = 0.3 * module.weight.abs().sum() + 0.7 / 2 * module.weight.square().sum()
    expected = torch.autograd.grad(penalty, module.weight)[0]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    nd.training.Penalty(l1=0.3, l2=0.7).apply(parameters, nd.training.GradientContext())
    torch.testing.assert_close(module.weight.grad, 1 + expected)
    assert torch.equal(module.bias.grad, torch.ones_like(module.bias))


def test_l2_of_sgd_is_its_weight_decay() -> None:
    modules = [nn.Linear(3, 1), nn.Linear(3, 1)]
    modules[1].load_state_dict(modules[0].state_dict())
    nd.Trainer(modules[0], nd.losses.MSE(), config(l2=0.1, clip=None, optimizer=nd.optimizers.SGD(lr=0.1))).fit(line())
    nd.Trainer(
        modules[1], nd.losses.MSE(), config(clip=None, optimizer=nd.optimizers.SGD(lr=0.1, weight_decay=0.1))
    ).fit(line())
    torch.testing.assert_close(flat(modules[0]), flat(modules[1]))


def test_l1_drives_useless_weights_towards_zero() -> None:
    inputs, target = line()
    wide = torch.cat([inputs, torch.randn(64, 20, generator=torch.Generator().manual_seed(2))], 1)
    sizes = []
    for strength in (0.0, 0.05):
        torch.manual_seed(0)
        module = nn.Linear(23, 1)
        settings = config(max_steps=600, l1=strength, optimizer=nd.optimizers.Adam(lr=0.01))
        nd.Trainer(module, nd.losses.MSE(), settings).fit((wide, target))
        sizes.append(float(module.weight[:, 3:].detach().abs().mean()))
    assert sizes[1] < 0.5 * sizes[0] or sizes[1] < 2e-3


def test_noise_has_the_variance_of_the_paper() -> None:
    torch.manual_seed(0)
    parameter = nn.Parameter(torch.zeros(200_000))
    for step in (0, 9):
        parameter.grad = torch.zeros_like(parameter)
        nd.training.GradientNoise(eta=0.3, gamma=0.55).apply([parameter], nd.training.GradientContext(step=step))
        assert float(parameter.grad.var()) == pytest.approx(0.3 / (1 + step) ** 0.55, rel=0.02)
        assert abs(float(parameter.grad.mean())) < 0.01


def test_noise_is_the_same_for_the_same_seed() -> None:
    runs = []
    for noise in (None, nd.training.GradientNoise(), nd.training.GradientNoise()):
        module = network()
        nd.Trainer(module, nd.losses.MSE(), config(gradient_noise=noise)).fit(line())
        runs.append(flat(module))
    assert torch.equal(runs[1], runs[2])
    assert not torch.equal(runs[0], runs[1])


@pytest.mark.parametrize(("method", "passes", "closeness"), [("central", 2, 1e-6), ("forward", 1, 1e-3)])
def test_finite_differences_train_to_nearly_the_same_weights(method: Any, passes: int, closeness: float) -> None:
    exact, numerical = (network().double() for _ in range(2))
    data = tuple(item.double() for item in line())
    settings = {"max_steps": 5, "optimizer": nd.optimizers.SGD(lr=0.05)}
    nd.Trainer(exact, nd.losses.MSE(), config(**settings)).fit(data)
    with pytest.warns(UserWarning, match=f"{passes * 41 + 1} times"):
        nd.Trainer(numerical, nd.losses.MSE(), config(gradient=method, **settings)).fit(data)
    torch.testing.assert_close(flat(numerical), flat(exact), rtol=closeness, atol=closeness)


def test_named_metrics_are_measured_besides_the_loss() -> None:
    trainer = nd.Trainer(network(), nd.losses.MSE(), config(metrics=("mae", "rmse", "mse")))
    trainer.fit(line(), line())
    metrics = trainer.state.metrics
    assert metrics["validation_mse"] == pytest.approx(metrics["validation_loss"])
    assert metrics["validation_rmse"] == pytest.approx(metrics["validation_loss"] ** 0.5)
    assert 0 < metrics["validation_mae"] <= metrics["validation_rmse"]
    assert {"validation_mae", "validation_rmse"} <= set(trainer.history.frame().columns)


def test_accuracy_can_decide_about_stopping() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    target = torch.tensor([0, 1, 1, 0])
    stopping = nd.EarlyStopping(metric="validation_accuracy", mode="max", patience=5)
    settings = config(max_steps=500, metrics="accuracy", early_stopping=stopping, validate_every=20)
    trainer = nd.Trainer(module, nd.CrossEntropy(), settings)
    trainer.fit((inputs, target), (inputs, target))
    assert trainer.state.metrics["validation_accuracy"] == 1.0
    assert "validation_accuracy has not improved" in str(trainer.state.stop_reason)


@pytest.mark.parametrize("watching", ["early_stopping", "checkpointing"])
def test_an_accuracy_that_is_better_where_it_is_lower_is_refused(watching: str, tmp_path: Path) -> None:
    data = torch.ones(4, 2), torch.ones(4).long()
    metric = {"metric": "validation_accuracy"}
    early_stopping = nd.EarlyStopping(**metric) if watching == "early_stopping" else None
    keeping = [] if early_stopping else [nd.callbacks.Checkpointing(directory=tmp_path, **metric)]
    settings = config(metrics="accuracy", early_stopping=early_stopping)
    trainer = nd.Trainer(nn.Linear(2, 2), nd.CrossEntropy(), settings, callbacks=keeping)
    with pytest.raises(
        nd.errors.ConfigError, match=f'{watching}: .* is better where it is higher, not lower: set mode="max"'
    ):
        trainer.fit(data, data)


def test_epochs_beyond_the_default_limit_of_steps_are_told() -> None:
    data = torch.ones(6, 1), torch.ones(6, 1)
    settings = {"max_epochs": 600, "batch_size": 3, "log_every": 1000, "threads": 1}
    with pytest.warns(UserWarning, match="1,200 steps; training ends at max_steps=1,000, .* which is 500.0 epochs"):
        nd.Trainer(nn.Linear(1, 1), "mse", nd.TrainingConfig(**settings)).fit(data)
    for quiet in ({"max_steps": None}, {"max_steps": 20}, {"max_epochs": 500}):
        nd.Trainer(nn.Linear(1, 1), "mse", nd.TrainingConfig(**{**settings, **quiet})).fit(data)


def test_weights_of_items_make_some_count_more() -> None:
    inputs = torch.ones(4, 1)
    target = torch.tensor([[0.0], [0.0], [0.0], [8.0]])
    module = nn.Linear(1, 1, bias=False)
    data = (inputs, target, torch.tensor([1.0, 0.0, 0.0, 3.0]))
    nd.Trainer(module, nd.losses.MSE(), config(max_steps=400, early_stopping=None)).fit(data)
    assert float(module.weight.detach()) == pytest.approx(6.0, abs=0.05)


def test_weights_of_a_wrong_shape_are_refused() -> None:
    inputs, target = line(8)
    with pytest.raises(nd.errors.DataError, match="one for each item or one for each target"):
        nd.Trainer(network(), nd.losses.MSE(), config()).fit([(inputs, target, torch.ones(7))])


@pytest.mark.parametrize("average", ["ema", "swa"])
def test_averaged_weights_are_validated_and_left_in_the_end(average: str) -> None:
    class Watch(nd.callbacks.Callback):
        def validation_end(self, trainer: nd.Trainer) -> None:
            self.validated = flat(trainer.module)

        def step_end(self, trainer: nd.Trainer) -> None:
            self.trained = flat(trainer.module)

    watch = Watch()
    module = network()
    settings = config(average=average, early_stopping=None)
    nd.Trainer(module, nd.losses.MSE(), settings, callbacks=[watch]).fit(line(), line())
    assert torch.equal(flat(module), watch.validated)
    assert not torch.equal(flat(module), watch.trained)


@pytest.mark.parametrize(
    "settings",
    [
        {"average": "ema"},
        {"average": "swa"},
        {"optimizer": nd.optimizers.ScheduleFreeAdamW(lr=0.05), "schedule": "constant"},
        {"optimizer": nd.optimizers.Lookahead(lr=0.05)},
    ],
    ids=["ema", "swa", "schedule_free", "lookahead"],
)
def test_the_best_averaged_weights_come_back(settings: dict[str, Any]) -> None:
    module = network()
    trainer = nd.Trainer(module, nd.losses.MSE(), config(**{"max_steps": 100, "validate_every": 5, **settings}))
    trainer.fit(line(), line())
    stopper = next(item for item in trainer._callback_list.callbacks if isinstance(item, EarlyStopper))
    inputs, target = line()
    assert float((module(inputs) - target).square().mean().detach()) == pytest.approx(stopper.best, rel=1e-5)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # torch's compiler uses what torch deprecates
@pytest.mark.skipif(not has_compiler(), reason="torch compiles with a C++ compiler, and there is none")
def test_compiled_steps_give_the_same_weights() -> None:
    plain, other = (network().eval() for _ in range(2))
    for module in (plain, other):
        module[2].p = 0.0
    nd.Trainer(plain, nd.losses.MSE(), config(max_steps=8)).fit(line())
    nd.Trainer(other, nd.losses.MSE(), config(max_steps=8, compile=True)).fit(line())
    torch.testing.assert_close(flat(plain), flat(other), rtol=1e-4, atol=1e-5)


def test_averaging_twice_is_refused() -> None:
    with pytest.raises(nd.errors.ConfigError, match="schedule_free_adamw averages weights itself"):
        config(average="ema", optimizer=nd.optimizers.ScheduleFreeAdamW())


def test_averages_reach_layers_that_keep_products_of_weights() -> None:
    """Networks of NBEATS's kind keep the product of two layers while nothing is trained."""
    frame = pl.DataFrame({"ds": range(90), "y": torch.arange(90.0).mul(0.5).sin().tolist()})
    training = nd.TrainingConfig(
        max_steps=40, threads=1, average="ema", early_stopping=None, optimizer=nd.optimizers.Adam(lr=0.01)
    )
    task = {"horizon": 4, "input_size": 8, "refit": False, "training": training}
    forecaster = nd.Forecaster(nd.NHITS(hidden_size=16), **task).fit(frame)
    assert forecaster.split is not None
    found = forecaster.forecast_windows(denser(forecaster.split.validation, LEAST_WINDOWS))
    assert forecaster.history["validation_mae"].drop_nulls()[-1] == pytest.approx(
        float(abs(found.point - found.actual).mean()), rel=1e-4
    )


def test_compiling_without_a_compiler_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(nd.errors.ConfigError, match="C\\+\\+ compiler"):
        nd.Trainer(network(), nd.losses.MSE(), config(compile=True)).fit(line())


def test_recomputing_changes_no_bit() -> None:
    runs = []
    for recompute in (0, 1, "auto"):
        module = network()
        nd.Trainer(module, nd.losses.MSE(), config(recompute=recompute)).fit(line())
        runs.append(flat(module))
    assert torch.equal(runs[0], runs[1])
    assert torch.equal(runs[0], runs[2])


def test_time_is_a_limit() -> None:
    trainer = nd.Trainer(network(), nd.losses.MSE(), config(max_steps=1_000_000, max_seconds=0.3))
    trainer.fit(line())
    assert trainer.history.rows[-1]["seconds"] > 0.2
    assert trainer.state.step < 1_000_000


@pytest.mark.parametrize("settings", [{}, {"average": "ema", "precision": "fp16"}, {"accumulate": 2}])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(settings: dict[str, Any]) -> None:
    class Keep(nd.callbacks.Callback):
        state: dict[str, Any]

        def step_end(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 11:
                import copy

                self.state = copy.deepcopy(trainer.state_dict())

    whole, keep = network(), Keep()
    again = network()
    runs = [
        nd.Trainer(module, nd.losses.MSE(), config(**settings), callbacks=[callback])
        for module, callback in ((whole, keep), (again, Keep()))
    ]
    runs[0].fit(line(), line())
    runs[1].fit(line(), line(), resume=keep.state)
    assert torch.equal(flat(whole), flat(again))
    first, second = (run.history.frame().drop("seconds", "samples_per_second", "waiting_share") for run in runs)
    assert first.equals(second)
    nd.Trainer(network(), nd.losses.MSE(), config(**settings)).fit(
        line(), line(), resume=keep.state
    )  # Keep has no memory
    keep.state["callbacks"].append({"kind": "Other", "state": {"memory": 1}})
    with pytest.raises(nd.errors.ConfigError, match=r"callbacks that are missing now .*: Other"):
        nd.Trainer(network(), nd.losses.MSE(), config(**settings)).fit(line(), line(), resume=keep.state)


def test_presets_are_configs_that_can_be_changed() -> None:
    best = nd.TrainingConfig.preset("best", max_steps=70)
    assert best.max_steps == 70
    assert best.average == nd.callbacks.EMA()
    assert nd.TrainingConfig.from_dict({"preset": "best", "max_steps": 70}) == best
    assert nd.TrainingConfig.from_toml(best.to_toml()) == best
    quick = nd.TrainingConfig.from_dict({"preset": "quick", "optimizer": {"weight_decay": 0.0}})
    assert quick.optimizer == nd.AdamW(lr=2e-3, weight_decay=0.0)
    assert nd.TrainingConfig.preset("quick", optimizer={"name": "sgd"}).optimizer == nd.optimizers.SGD()
    with pytest.raises(nd.errors.ConfigError, match="Did you mean 'quick'"):
        nd.TrainingConfig.preset("quik")
