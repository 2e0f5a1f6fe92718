"""Local SGD does what a simulation in one process with plain PyTorch does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.core.spec import Batch
from neuro_divergent.distributed import LocalSGD
from tests.integration.distributed import strategy_trainings as trainings
from tests.integration.distributed.strategy_trainings import STEPS, batches, network, settings

pytestmark = pytest.mark.long  # several processes; that of data_parallel is in the short tests

PLAIN: dict[str, Any] = {"optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.0}, "clip": "none", "validate_every": 5}
ADAMW: dict[str, Any] = {"optimizer": {"name": "adamw", "lr": 0.01}, "clip": "none", "validate_every": 100}
LOCAL: dict[str, dict[str, Any]] = {
    "every 4": {**PLAIN, "strategy": {"name": "local_sgd", "every": 4}},
    "start 3": {**PLAIN, "strategy": {"name": "local_sgd", "every": 2, "start": 3}},
    "moments": {**ADAMW, "strategy": {"name": "local_sgd", "every": 4, "moments": True}},
    "own moments": {**ADAMW, "strategy": {"name": "local_sgd", "every": 4}},
}
HIERARCHICAL: dict[str, Any] = {"name": "local_sgd", "every": 6, "groups": 2, "group_every": 2}
EVEN = 12  # rows of batches that are dealt out evenly


class Record(nd.callbacks.Callback):
    """Keeps the weights of this process after each step."""

    def __init__(self) -> None:
        self.weights: list[list[float]] = []

    def step_end(self, trainer: nd.Trainer) -> None:
        self.weights.append(flat(trainer.module).tolist())


def flat(module: nn.Module) -> Tensor:
    return torch.cat([item.detach().flatten() for item in module.parameters()])


def train(changes: dict[str, Any], data: list[Batch] | None = None) -> dict[str, Any]:
    """Train, and return the weights after each step, the history and the bytes of what was added up.

    The loss is the root of the mean square, or the mean square itself where ``data`` is given.
    """
    record, module = Record(), network("mlp")
    loss = nd.losses.RMSE() if data is None else nd.losses.MSE()
    trainer = nd.Trainer(module, loss, settings(**changes), callbacks=[record])
    sent = 0
    add_up = dist.all_reduce

    def counting(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
        nonlocal sent
        sent += tensor.nbytes if tensor.numel() > 8 else 0  # fewer are flags and losses
        return add_up(tensor, *arguments, **options)

    dist.all_reduce = counting
    try:
        trainer.fit(data or batches(), batches(2, seed=2))
    finally:
        dist.all_reduce = add_up
    rows = [(row["step"], row["train_loss"], row.get("validation_loss")) for row in trainer.history.rows]
    return {"steps": record.weights, "rows": rows, "sent": sent, "weights": flat(module).tolist()}


def even_batches() -> list[Batch]:
    """Return batches of which each of two processes gets as many rows, which all count the same."""
    return [Batch(batch.past_y[:EVEN], future_y=batch.past_y[:EVEN, :4]) for batch in batches()]


def work(place: str) -> dict[str, Any]:
    """Do what the tests look at, in one of two processes."""
    found = {name: train(changes) for name, changes in LOCAL.items()}
    every_step = {"name": "local_sgd", "every": 1}
    found["every 1"] = train({**PLAIN, "strategy": every_step}, even_batches())
    found["data parallel"] = train({**PLAIN, "strategy": "data_parallel"}, even_batches())
    unvalidated = {**PLAIN, "validate_every": 100}
    found["every 5"] = train({**unvalidated, "strategy": {"name": "local_sgd", "every": 5}})
    skipping = {**PLAIN, "divergence": "skip", "strategy": {"name": "local_sgd", "every": 4}}
    found["skip"] = trainings.train("mlp", skipping)
    adamw = {"strategy": {"name": "local_sgd", "every": 4, "moments": True}, "validate_every": 2}
    found["saved"] = trainings.train("mlp", adamw, place)
    found["resumed"] = trainings.train("mlp", adamw, f"{place}-2", resume=trainings.step_path(place))
    averaging = {**adamw, "optimizer": "schedule_free_adamw"}
    found["schedule free"] = trainings.train("mlp", averaging)
    return found


def work_in_groups() -> dict[str, Any]:
    return train({**PLAIN, "strategy": HIERARCHICAL})


@pytest.fixture(scope="module")
def pair(in_processes: Any, place: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = in_processes(2, work, place)
    return found


@pytest.fixture(scope="module")
def place(shared_place: Path) -> str:
    """Where the processes save."""
    return str(shared_place / "local_sgd")


def cost(module: nn.Module, parts: list[Batch]) -> Tensor:
    """Return the root of the weighted mean of squared errors."""
    totals = []
    for part in parts:
        assert part.future_y is not None
        assert part.future_mask is not None
        assert part.weight is not None
        weight = part.future_mask * part.weight
        totals.append(((weight * (module(part)[..., 0] - part.future_y) ** 2).sum(), weight.sum()))
    return (sum(total for total, _ in totals) / sum(weight for _, weight in totals)).sqrt()  # type: ignore[union-attr]


def rows_of(batch: Batch, rank: int, size: int) -> Batch:
    return Batch(*(item[rank::size] if isinstance(item, Tensor) else item for item in batch))


def average(modules: list[nn.Module], optimizers: list[torch.optim.Optimizer], *, moments: bool) -> None:
    """Give modules, and their optimizers, the mean of them."""
    groups = [list(items) for items in zip(*(list(module.parameters()) for module in modules), strict=True)]
    with torch.no_grad():
        for members in groups:
            if moments:
                states = [optimizer.state[item] for optimizer, item in zip(optimizers, members, strict=True)]
                for name in ("exp_avg", "exp_avg_sq"):
                    mean = torch.stack([state[name] for state in states]).mean(0)
                    for state in states:
                        state[name].copy_(mean)
            mean = torch.stack([item.detach() for item in members]).mean(0)
            for item in members:
                item.copy_(mean)


def simulate(changes: dict[str, Any], size: int) -> tuple[list[list[Tensor]], list[float], list[float]]:
    """Return weights by step and process, the mean loss by step, and the loss of each validation."""
    strategy = LocalSGD.from_dict(changes["strategy"])
    modules = [network("mlp") for _ in range(size)]
    optimizers: list[torch.optim.Optimizer] = []
    for module in modules:
        if changes["optimizer"]["name"] == "sgd":
            optimizers.append(torch.optim.SGD(module.parameters(), lr=0.1))
        else:
            decaying = [item for item in module.parameters() if item.ndim > 1]
            others = [item for item in module.parameters() if item.ndim < 2]
            groups = [{"params": decaying, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
            optimizers.append(torch.optim.AdamW(groups, lr=0.01))
    data = batches()
    weights, losses, validations = [], [], []
    for step in range(1, STEPS + 1):
        batch = data[(step - 1) % len(data)]
        parts = [rows_of(batch, rank, size) for rank in range(size)]
        of_step = []
        for rank, (module, optimizer) in enumerate(zip(modules, optimizers, strict=True)):
            optimizer.zero_grad()
            loss = cost(module, parts if step <= strategy.start else [parts[rank]])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            of_step.append(float(loss.detach()))
        losses.append(sum(of_step) / size)
        done = step - strategy.start
        if done > 0 and done % strategy.every == 0:
            average(modules, optimizers, moments=strategy.moments)
        elif done > 0 and strategy.group_every is not None and done % strategy.group_every == 0:
            assert isinstance(strategy.groups, int)
            for first in range(0, size, strategy.groups):
                some = slice(first, first + strategy.groups)
                average(modules[some], optimizers[some], moments=strategy.moments)
        weights.append([flat(module) for module in modules])
        if step % changes["validate_every"] == 0 or step == STEPS:
            average(modules, optimizers, moments=strategy.moments and step > strategy.start)
            with torch.no_grad():
                validations.append(float(cost(modules[0], batches(2, seed=2))))
    return weights, losses, validations


def assert_as_simulated(found: list[dict[str, Any]], changes: dict[str, Any]) -> None:
    weights, losses, validations = simulate(changes, len(found))
    for rank, ours in enumerate(found):
        for step, expected in enumerate(weights):
            assert ours["steps"][step] == pytest.approx(expected[rank].tolist(), rel=1e-9, abs=1e-12)
        assert [row[1] for row in ours["rows"]] == pytest.approx(losses, rel=1e-9)
        assert [row[2] for row in ours["rows"] if row[2] is not None] == pytest.approx(validations, rel=1e-9)


@pytest.mark.parametrize("case", LOCAL)
def test_local_sgd_in_two_processes_gives_the_weights_of_a_simulation(case: str, pair: list[dict[str, Any]]) -> None:
    assert_as_simulated([found[case] for found in pair], LOCAL[case])


@pytest.mark.long
def test_local_sgd_with_groups_gives_the_weights_of_a_simulation(in_processes: Any) -> None:
    assert_as_simulated(in_processes(4, work_in_groups), {**PLAIN, "strategy": HIERARCHICAL})


def test_local_sgd_averaging_after_each_step_equals_data_parallel(pair: list[dict[str, Any]]) -> None:
    for found in pair:
        for ours, theirs in zip(found["every 1"]["steps"], found["data parallel"]["steps"], strict=True):
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_local_sgd_weights_differ_between_averagings_and_agree_after_them(pair: list[dict[str, Any]]) -> None:
    first, second = (found["every 4"]["steps"] for found in pair)
    agreeing = [step for step in range(1, STEPS + 1) if first[step - 1] == second[step - 1]]
    assert agreeing == [4, 8]
    assert pair[0]["every 4"]["weights"] == pair[1]["every 4"]["weights"]


def test_local_sgd_every_five_steps_sends_a_fifth_of_the_bytes_of_averaging_each_step(
    pair: list[dict[str, Any]],
) -> None:
    size = flat(network("mlp")).nbytes  # which is also what the gradients of a step have
    for found in pair:
        assert found["every 1"]["sent"] == STEPS * size
        assert found["every 5"]["sent"] == STEPS // 5 * size


def test_local_sgd_leaves_a_step_out_in_all_processes_if_one_is_not_finite(pair: list[dict[str, Any]]) -> None:
    assert [found["skip"]["skipped"] for found in pair] == [2, 2]
    assert pair[0]["skip"]["weights"] == pair[1]["skip"]["weights"]


def test_local_sgd_resumed_from_a_checkpoint_gives_identical_weights(pair: list[dict[str, Any]]) -> None:
    for found in pair:
        assert found["resumed"]["weights"] == found["saved"]["weights"]


def test_local_sgd_with_an_optimizer_that_averages_ends_with_equal_weights(pair: list[dict[str, Any]]) -> None:
    assert pair[0]["schedule free"]["weights"] == pair[1]["schedule free"]["weights"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": 2}, "groups and group_every belong together"),
        ({"groups": 2, "group_every": 3, "every": 8}, "must be a multiple of group_every=3"),
        ({"groups": 2, "group_every": 8, "every": 8}, "at least twice it"),
    ],
)
def test_local_sgd_refuses_groups_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match=message):
        LocalSGD(**changes)


@pytest.mark.parametrize("groups", [1, 3, 4])
def test_local_sgd_refuses_groups_that_do_not_divide_the_processes(groups: int) -> None:
    with pytest.raises(nd.errors.ConfigError, match="4 processes cannot be divided"):
        LocalSGD(groups=groups, group_every=2).group_size(4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"average": "ema"}, "it would follow the steps of one process"),
        ({"precision": "fp16"}, "fp16"),
        ({"optimizer": "schedule_free_sgd"}, "Pass moments=True"),
    ],
)
def test_local_sgd_refuses_settings_that_need_shared_steps(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match=message):
        nd.TrainingConfig.from_dict({"strategy": "local_sgd", **changes})
