"""A number that is not finite is found in its step wherever it comes from, and never where there is none."""

from __future__ import annotations

import itertools
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.core.errors import DivergenceWarning, Interrupted
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.loader import TensorLoader, WindowLoader
from neuro_divergent.training.checkpointing.checkpoint import read_checkpoint
from neuro_divergent.training.checkpointing.snapshot import snapshot, tensors_of
from tests.integration.test_command_line import nd as command
from tests.reliability.trained import lost_numbers

SOAK = bool(os.environ.get("ND_SOAK"))
STEPS, VALIDATE_EVERY, LOG_EVERY, SAVE_EVERY = 26, 6, 4, 5
PATIENCE = nd.training.Divergence().patience
PLACES = ("input", "target", "loss", "gradient", "weight", "validation")
POLICIES = ("stop", "skip", "rollback")
MEMORY = Path("/dev/shm")

Property = Callable[[str, object], None]


@dataclass(frozen=True)
class Case:
    """A number that is lost.

    Attributes:
        place: Where.
        policy: What is to be done about it.
        value: What it becomes.
        clip: How gradients are bounded.
        is_forecaster: Whether a forecaster is trained on a panel, or else a network on tensors.
        step: In which step.
        always: Whether it is lost again in that step and all after it, or once.
    """

    place: str
    policy: str
    value: float
    clip: nd.Clip | None
    is_forecaster: bool
    step: int
    always: bool


def cases(place: str) -> list[Case]:
    """Return what is tried: all combinations and some more in the long form, each pair of choices in the short one."""
    draw = Random(place)
    values, clips = (math.nan, math.inf, -math.inf), (None, nd.ClipNorm(), nd.training.ClipValue(0.5))
    chosen = list(itertools.product(POLICIES, values, clips, (False, True)))
    if not SOAK:
        chosen = [(policy, draw.choice(values), draw.choice(clips), kind) for policy, _, _, kind in chosen[::9]]
    chosen += draw.choices(chosen, k=13 if SOAK else 2)
    found = []
    for item in chosen:
        always = item[0] != "stop" and draw.random() < 0.3
        last = STEPS - PATIENCE if always else STEPS
        last += place == "weight"  # one that is lost after the last step is found, too
        steps = [*range(VALIDATE_EVERY, STEPS, VALIDATE_EVERY), STEPS] if place == "validation" else range(2, last + 1)
        found.append(Case(place, *item, draw.choice(steps), always))
    return found


class Sabotage(nd.callbacks.Callback):
    """Loses the number, and remembers what it was called."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.has_struck = False
        self.is_spent = False
        self.who = ""
        self.trainer: nd.Trainer | None = None

    def fit_start(self, trainer: nd.Trainer) -> None:
        """Choose the parameter."""
        self.trainer = trainer
        self.name, self.parameter = [item for item in trainer.module.named_parameters() if item[1].ndim > 1][-1]
        if self.case.place == "gradient":
            self.parameter.register_hook(lambda gradient: self._spoilt(gradient) if self.strikes() else None)

    def step_end(self, trainer: nd.Trainer) -> None:
        """Lose a weight, which the next step is the first to use."""
        if self.case.place == "weight" and self.strikes():
            self.parameter.data.copy_(self._spoilt(self.parameter.data))

    def rolled_back(self, trainer: nd.Trainer) -> None:
        """Let it be."""
        self.is_spent = True

    def strikes(self) -> bool:
        """Return whether it is time, and then remember that."""
        assert self.trainer is not None
        now = self.trainer.state.step + (0 if self.case.place == "validation" else 1)
        if self.case.always:
            is_time = now >= self.case.step
        else:  # a validation is looked through once more for what was lost in it
            is_time = now == self.case.step and (not self.has_struck or self.case.place == "validation")
            is_time = is_time and not self.is_spent
        self.has_struck = self.has_struck or is_time
        return is_time

    def batch(self, batch: Any, *, is_training: bool) -> Any:
        """Return a batch, in which a number may be lost."""
        wanted = ("input", "target") if is_training else ("validation",)
        if self.trainer is None or self.case.place not in wanted or not self.strikes():
            return batch
        parts = batch._asdict() if isinstance(batch, Batch) else dict(zip(("inputs", "targets"), batch, strict=True))
        first, second = ("past_y", "future_y") if isinstance(batch, Batch) else ("inputs", "targets")
        name = second if self.case.place == "target" else first
        row = len(parts[name]) // 2
        parts[name] = parts[name].clone()
        parts[name][row].view(-1)[0] = self.case.value
        if isinstance(batch, Batch):
            assert batch.series is not None
            self.who = f"series '{SERIES[int(batch.series[row])]}': {self.case.value} in {name}"
            return Batch(**parts)
        self.who = f"row {row} of the batch: {self.case.value} in the {name}"
        return tuple(parts.values())

    def _spoilt(self, tensor: Tensor) -> Tensor:
        tensor = tensor.clone()
        tensor.view(-1)[0] = self.case.value
        return tensor

    @property
    def message(self) -> str:
        """What a message must say, as an expression; weights that are lost may be found before the next step begins."""
        step = self.case.step
        return {
            "input": f"^{self.who} at step {step}",
            "target": f"^{self.who} at step {step}",
            "loss": f"^the loss became {self.case.value} at step {step}",
            "gradient": f"^the gradient of '{re.escape(self.name)}' is not finite at step {step} ",
            "weight": f"weights '?{re.escape(self.name)}'? are not finite",
            "validation": f"^{self.who} in validation at step {step}",
        }[self.case.place]


class Watch(nd.callbacks.Callback):
    """Remembers the state after each step and of the last validation."""

    def __init__(self) -> None:
        self.after: dict[int, dict[str, Any]] = {}
        self.good: dict[str, Any] = {}
        self.back: dict[str, Any] = {}
        self.rates: dict[int, list[float]] = {}

    def fit_start(self, trainer: nd.Trainer) -> None:
        """Remember the first state."""
        self.good = self.after[0] = _state(trainer)

    def step_end(self, trainer: nd.Trainer) -> None:
        """Remember the state, and the rate the next step will have."""
        self.after[trainer.state.step] = _state(trainer)
        rate = trainer.optimizer.param_groups[0]["lr"]
        self.rates.setdefault(trainer.state.step, []).append(rate)

    def checkpoint_safe(self, trainer: nd.Trainer) -> None:
        """Remember the state that can be gone back to."""
        if trainer.state.step % VALIDATE_EVERY == 0:
            self.good = _state(trainer)

    def rolled_back(self, trainer: nd.Trainer) -> None:
        """Remember where training is now."""
        self.back = _state(trainer)


def _state(trainer: nd.Trainer) -> dict[str, Any]:
    """Return weights, statistics and moments."""
    return snapshot(
        {
            "step": trainer.state.step,
            "module": trainer.module.state_dict(),
            "optimizer": trainer.optimizer.state_dict()["state"],
        }
    )


def assert_same(one: dict[str, Any], other: dict[str, Any], part: str = "") -> None:
    """Compare two states bit by bit."""
    first, second = (dict(tensors_of(state[part] if part else state)) for state in (one, other))
    assert first.keys() == second.keys()
    different = [name for name, tensor in first.items() if tensor.numpy().tobytes() != second[name].numpy().tobytes()]
    assert not different


FRAME = Synthetic(num_series=4, length=60).frame()
SERIES = FRAME["unique_id"].unique(maintain_order=True).to_list()


def settings(**changes: Any) -> nd.TrainingConfig:
    fixed = {
        "max_steps": STEPS,
        "batch_size": 8,
        "validate_every": VALIDATE_EVERY,
        "log_every": LOG_EVERY,
        "early_stopping": None,
        "optimizer": nd.AdamW(lr=1e-2),
        "threads": 1,
    }
    return nd.TrainingConfig(**{**fixed, **changes})


def train(case: Case, callbacks: list[nd.callbacks.Callback]) -> None:
    config = settings(divergence=case.policy, clip=case.clip)
    if case.is_forecaster:
        model = nd.MLP(hidden_size=8, num_layers=2, norm="batch")
        nd.Forecaster(model, horizon=3, input_size=6, loss=nd.losses.MSE(), training=config).fit(
            FRAME, callbacks=callbacks
        )
        return
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))
    inputs = torch.linspace(0, 40, 120).reshape(40, 3).sin()
    data = (inputs, inputs.sum(1, keepdim=True))
    nd.Trainer(network, nd.losses.MSE(), config, callbacks=callbacks).fit(data, data)


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a directory, in memory where there is such a thing: syncing takes no time there."""
    with TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as made:
        yield Path(made)


def arm(patch: pytest.MonkeyPatch, sabotage: Sabotage) -> None:
    """Let a sabotage reach the batches and the loss."""
    for loader in (TensorLoader, WindowLoader):

        def epoch(self: Any, number: int, start: int = 0, original: Any = loader.epoch) -> Iterator[Any]:
            order = self._order if isinstance(self, TensorLoader) else self.order
            for batch in original(self, number, start):
                yield sabotage.batch(batch, is_training=order.shuffle)

        patch.setattr(loader, "epoch", epoch)

    def elementwise(*arguments: Any, original: Any = nd.losses.MSE.elementwise) -> Tensor:
        cost: Tensor = original(*arguments)
        return cost + sabotage.case.value if cost.requires_grad and sabotage.strikes() else cost

    if sabotage.case.place == "loss":
        patch.setattr(nd.losses.MSE, "elementwise", elementwise)


def check(case: Case, place: Path, patch: pytest.MonkeyPatch) -> int:
    """Lose a number, see what becomes of it, and return how many checkpoints were read."""
    sabotage, watch = Sabotage(case), Watch()
    arm(patch, sabotage)
    saving = nd.callbacks.Checkpointing(directory=place, every_epochs=None, every_steps=SAVE_EVERY, keep=100).build()
    error: nd.errors.DivergedError | None = None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            train(case, [sabotage, watch, saving])
        except nd.errors.DivergedError as raised:
            error = raised
    assert sabotage.has_struck
    assert {item.category for item in told} <= {DivergenceWarning}
    messages = [str(item.message) for item in told]
    assert sabotage.trainer is not None
    state = sabotage.trainer.state
    can_help = not case.always and (case.policy == "rollback" or case.place not in ("weight", "validation"))
    if case.policy == "stop" or not can_help:
        assert error is not None
        assert error.exit_code == 5
    if error is not None and case.policy == "stop":
        assert re.search(sabotage.message, str(error)), (sabotage.message, str(error))
        assert state.step == (case.step if case.place == "validation" else case.step - 1)
        # What is there now is what was there before the step: the last callback to hear of it came after the sabotage.
        assert_same(watch.after[state.step], _state(sabotage.trainer), "optimizer")
        now, before = sabotage.trainer.module.named_parameters(), watch.after[state.step]["module"]
        assert all(item.detach().numpy().tobytes() == before[name].numpy().tobytes() for name, item in now)
    elif error is not None:
        check_giving_up(case, error, messages)
    else:
        assert can_help
        assert state.step == STEPS
        assert len(messages) == 1
        assert re.search(sabotage.message, messages[0]), (sabotage.message, messages[0])
        assert not lost_numbers(watch.after[STEPS])
        (check_skipped if case.policy == "skip" else check_rolled_back)(case, watch, state)
    found = [path.parent for path in place.rglob("state.json")]
    for path in found:
        assert not lost_numbers(read_checkpoint(path))
    return len(found)


def check_giving_up(case: Case, error: nd.errors.DivergedError, messages: list[str]) -> None:
    """Expect the right number of attempts."""
    if case.policy == "rollback":
        assert "Going back did not help, 3 times." in str(error)
        assert len(messages) == 3
    elif case.place not in ("weight", "validation"):
        assert f"Steps to skip in a row: {PATIENCE}" in str(error)
        assert len(messages) == PATIENCE - 1


def check_skipped(case: Case, watch: Watch, state: Any) -> None:
    """Expect a step in which nothing changed."""
    assert state.skipped == 1
    for step in range(1, STEPS + 1):
        is_same = all(
            torch.equal(tensor, watch.after[step - 1]["module"][name])
            for name, tensor in watch.after[step]["module"].items()
        )
        assert is_same == (step == case.step)
    assert_same(watch.after[case.step - 1], watch.after[case.step], "optimizer")


def check_rolled_back(case: Case, watch: Watch, state: Any) -> None:
    """Expect the state of the last validation, and half the rate from there on."""
    assert state.skipped == 0
    last = case.step - 1
    good = last // VALIDATE_EVERY * VALIDATE_EVERY
    if case.place == "weight" and last == good:
        good = last - VALIDATE_EVERY  # found before it was validated
    assert watch.back["step"] == good
    assert_same(watch.after[good], watch.back)
    again = {step: rates for step, rates in watch.rates.items() if len(rates) > 1}
    assert all(second == pytest.approx(first / 2, rel=1e-6) for first, second in again.values())
    done_twice = last if case.place != "validation" else case.step
    assert sorted(again) == list(range(good + 1, done_twice + 1))


@pytest.mark.parametrize("where", PLACES)
def test_a_lost_number_is_found_in_its_step(where: str, place: Path, record_property: Property) -> None:
    checkpoints = 0
    tried = cases(where)
    for number, case in enumerate(tried):
        with pytest.MonkeyPatch.context() as patch:
            try:
                checkpoints += check(case, place / str(number), patch)
            except (AssertionError, KeyError) as error:
                raise AssertionError(f"{case}: {error}") from error
    record_property("lost_numbers", len(tried))
    print(f"{len(tried)} numbers lost in {where}, all found; {checkpoints} checkpoints, all finite")  # noqa: T201


def _train_tensors(scale: float = 1.0, **changes: Any) -> nd.Trainer:
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))
    inputs = torch.linspace(0, 40, 120).reshape(40, 3).sin()
    data = (inputs, inputs.sum(1, keepdim=True) * scale)
    trainer = nd.Trainer(network, changes.pop("loss", nd.losses.MSE()), settings(**changes))
    trainer.fit(data, data)
    return trainer


def _train_series(model: str, loss: str = "mae", scale: float = 1.0, scaler: str = "standard", **changes: Any) -> None:
    frame = FRAME.with_columns(pl.col("y") * scale)
    config = settings(batch_size=4, max_steps=12, **changes)
    task = {"horizon": 3, "input_size": 12, "loss": loss, "scaler": scaler}
    nd.Forecaster(model, training=config, **task).fit(frame)


CLEAN: dict[str, Callable[[], object]] = {
    "nlinear": lambda: _train_series("nlinear", divergence="skip"),
    "dlinear, one cycle": lambda: _train_series("dlinear", "mse", schedule="one_cycle", divergence="rollback"),
    "mlp, huber, lion": lambda: _train_series("mlp", "huber", optimizer="lion"),
    "nhits, quantiles": lambda: _train_series("nhits", "quantile", divergence="rollback"),
    "nbeats, smape": lambda: _train_series("nbeats", "smape", divergence="skip"),
    "lstm, log-cosh": lambda: _train_series("lstm", "log_cosh"),
    "gru, rmse": lambda: _train_series("gru", "rmse", divergence="rollback"),
    "rnn, bf16": lambda: _train_series("rnn", precision="bf16"),
    "itransformer, float64": lambda: _train_series("itransformer", precision="float64"),
    "mlp, fp16": lambda: _train_series("mlp", "mse", precision="fp16"),
    "raw values of 1e12": lambda: _train_series("nlinear", scale=1e10, scaler="identity", divergence="skip"),
    "raw values of 1e12, squared": lambda: _train_series("mlp", "mse", scale=1e10, scaler="identity"),
    "raw values of 1e-12": lambda: _train_series("mlp", "mse", scale=1e-14, scaler="identity", divergence="rollback"),
    "scaled values of 1e12": lambda: _train_series("nhits", scale=1e10, divergence="rollback"),
    "scaled values of 1e-12": lambda: _train_series("mlp", scale=1e-14),
    "gradients of 1e10": lambda: _train_tensors(1e10, divergence="skip"),
    "gradients of 1e10, not clipped": lambda: _train_tensors(1e10, clip=None),
    "gradients of 1e18, clipped": lambda: _train_tensors(1e18, clip=nd.training.ClipValue(0.1), divergence="rollback"),
    "adagrad with noise": lambda: _train_tensors(
        optimizer="adagrad", gradient_noise=nd.training.GradientNoise(), accumulate=2
    ),
    "muon with l1 and swa": lambda: _train_tensors(optimizer="muon", l1=1e-3, average="swa", divergence="skip"),
}


def test_clean_training_is_no_alarm(record_property: Property) -> None:
    for name, run in CLEAN.items():
        try:
            run()
        except (nd.errors.DivergedError, DivergenceWarning) as error:
            pytest.fail(f"false alarm, {name}: {error}")
    record_property("clean_runs", len(CLEAN))
    print(f"{len(CLEAN)} clean runs, no false alarm")  # noqa: T201
    assert len(CLEAN) == 20


class LoseBias(nd.callbacks.Callback):
    """Makes a bias minus infinity, once; the ReLU behind it makes 0 of that."""

    def __init__(self, step: int) -> None:
        self.step = step

    def step_end(self, trainer: nd.Trainer) -> None:
        """Do it when it is time."""
        if trainer.state.step == self.step:
            self.step = 0
            next(item for name, item in trainer.module.named_parameters() if "bias" in name).data[0] = -math.inf


@pytest.mark.parametrize("policy", POLICIES)
def test_a_lost_weight_that_does_not_show_is_found_at_the_next_row(policy: str, place: Path) -> None:
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
    inputs = torch.linspace(0, 40, 120).reshape(40, 3).sin()
    data = (inputs, inputs[:, :1])
    saving = nd.callbacks.Checkpointing(directory=place, every_epochs=None, every_steps=1, keep=100).build()
    config = settings(divergence=policy)
    trainer = nd.Trainer(network, nd.losses.MSE(), config, callbacks=[LoseBias(LOG_EVERY + 1), saving])
    message = f"at step {VALIDATE_EVERY} the weights 0.bias are not finite"
    if policy == "rollback":
        with pytest.warns(DivergenceWarning, match=message):
            trainer.fit(data, data)
        assert trainer.state.step == STEPS
    else:
        with pytest.raises(nd.errors.DivergedError, match=message):
            trainer.fit(data, data)
    assert not any(lost_numbers(read_checkpoint(path.parent)) for path in place.rglob("state.json"))


class InterruptValidation(nd.callbacks.Callback):
    """Interrupts a validation, and keeps the state to go on from."""

    state: dict[str, Any]

    def validation_batch(self, trainer: nd.Trainer) -> None:
        """Interrupt the second validation."""
        if trainer.state.step == 2 * VALIDATE_EVERY:
            trainer.interrupt("SIGTERM")

    def interrupted(self, trainer: nd.Trainer) -> None:
        """Keep the state."""
        self.state = snapshot(trainer.state_dict())


def test_a_number_that_is_lost_in_the_validation_that_a_resumed_training_begins_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case("validation", "rollback", math.nan, None, is_forecaster=False, step=2 * VALIDATE_EVERY, always=False)
    interruption, sabotage = InterruptValidation(), Sabotage(case)
    inputs = torch.linspace(0, 40, 120).reshape(40, 3).sin()
    data = (inputs, inputs[:, :1])
    config = settings(divergence="rollback")
    with pytest.raises(Interrupted):
        nd.Trainer(nn.Linear(3, 1), nd.losses.MSE(), config, callbacks=[interruption]).fit(data, data)
    trainer = nd.Trainer(nn.Linear(3, 1), nd.losses.MSE(), config, callbacks=[sabotage])
    arm(monkeypatch, sabotage)
    with pytest.warns(DivergenceWarning, match="nan in the inputs in validation"):
        trainer.fit(data, data, resume=interruption.state)
    assert trainer.state.step == STEPS


class Overflow(nd.callbacks.Callback):
    """Lets gradients overflow in every other step, as a factor of fp16 that is too large does."""

    def fit_start(self, trainer: nd.Trainer) -> None:
        """Begin."""
        next(trainer.module.parameters()).register_hook(
            lambda gradient: gradient * math.inf if trainer.state.step % 2 else None
        )


@pytest.mark.precision("fp16")
@pytest.mark.parametrize("policy", POLICIES)
def test_overflows_of_fp16_now_and_then_are_no_alarm_however_many(policy: str) -> None:
    torch.manual_seed(1)
    network = nn.Linear(3, 1)
    inputs = torch.linspace(0, 40, 120).reshape(40, 3).sin()
    config = settings(max_steps=120, precision="fp16", divergence=policy)
    trainer = nd.Trainer(network, nd.losses.MSE(), config, callbacks=[Overflow()])
    trainer.fit((inputs, inputs[:, :1]))
    assert trainer.state.step == 120
    assert trainer.state.skipped >= 60


@pytest.mark.precision("fp16")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_lost_in_the_data_is_named_under_fp16_too(policy: str, value: float, place: Path) -> None:
    case = Case("input", policy, value, None, is_forecaster=False, step=9, always=False)
    sabotage, watch = Sabotage(case), Watch()
    saving = nd.callbacks.Checkpointing(directory=place, every_epochs=None, every_steps=SAVE_EVERY, keep=100).build()
    network = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))
    inputs = torch.linspace(0, 40, 120).reshape(40, 3).sin()
    config = settings(precision="fp16", divergence=policy)
    trainer = nd.Trainer(network, nd.losses.MSE(), config, callbacks=[sabotage, watch, saving])
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        arm(patch, sabotage)
        if policy == "stop":
            with pytest.raises(nd.errors.DivergedError, match=sabotage_message(9, value)):
                trainer.fit((inputs, inputs[:, :1]), (inputs, inputs[:, :1]))
            assert trainer.state.step == 8
        else:
            trainer.fit((inputs, inputs[:, :1]), (inputs, inputs[:, :1]))
            assert [bool(re.search(sabotage_message(9, value), str(item.message))) for item in told] == [True]
            assert trainer.state.step == STEPS
    assert not any(lost_numbers(read_checkpoint(path.parent)) for path in place.rglob("state.json"))


def sabotage_message(step: int, value: float) -> str:
    return f"^row 4 of the batch: {value} in the inputs at step {step}"


def test_the_command_line_says_in_one_line_that_training_diverged(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "sales.csv")
    options = ("--horizon", "3", "--model", "mlp", "--optimizer", "sgd", "--lr", "1e30", "--threads", "1", "--quiet")
    output, errors = command("train", "sales.csv", *options, "--set", "training.clip=none", cwd=tmp_path, code=5)
    assert output == ""
    assert len(errors.splitlines()) == 1
    assert re.match("error: .* at step .* Lower the learning rate", errors)
