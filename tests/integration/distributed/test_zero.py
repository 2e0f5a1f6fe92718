"""ZeRO-1 trains as one process does, with a part of the optimizer's state in each process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.training.optimizers.base import Optimizer
from tests.integration.distributed import strategy_trainings as trainings
from tests.integration.distributed.strategy_trainings import CASES

pytestmark = pytest.mark.long  # several processes; that of data_parallel is in the short tests

SAVING = {"average": "ema", "early_stopping": {"patience": 5}}

STRATEGY: dict[str, Any] = {"name": "zero"}
OPTIMIZERS = tuple(name for name in Optimizer.registry.names() if name != "prodigy")


def work(place: str) -> dict[str, Any]:
    """Do what the tests look at, in one of several processes."""
    found: dict[str, Any] = {
        case: trainings.train(name, {**changes, "strategy": STRATEGY}) for case, (name, changes) in CASES.items()
    }
    for name in OPTIMIZERS:
        found[name] = trainings.train("mlp", {"optimizer": name, "strategy": STRATEGY})
    changes = {"strategy": STRATEGY, **SAVING}
    found["saved"] = trainings.train("nhits", changes, place)
    found["resumed"] = trainings.train("nhits", changes, f"{place}-2", resume=trainings.step_path(place))
    found["again"] = trainings.train_again({"strategy": STRATEGY})
    found["spoiled"] = trainings.spoil_moments({"strategy": STRATEGY}, f"{place}-spoiled")
    return found


def resume(place: str) -> dict[str, Any]:
    """Continue in a group of another size."""
    return trainings.train("nhits", {"strategy": STRATEGY, **SAVING}, f"{place}-3", resume=trainings.step_path(place))


@pytest.fixture(scope="module")
def place(shared_place: Path) -> str:
    """Where the processes save."""
    return str(shared_place / "zero")


@pytest.fixture(scope="module")
def pair(in_processes: Any, place: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = in_processes(2, work, place)
    return found


@pytest.mark.parametrize("case", CASES)
def test_zero_in_two_processes_trains_as_one_process(case: str, pair: list[dict[str, Any]]) -> None:
    name, changes = CASES[case]
    alone = trainings.train(name, changes)
    for found in pair:
        trainings.assert_same_training(found[case], alone)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_zero_steps_every_optimizer_as_one_process(name: str, pair: list[dict[str, Any]]) -> None:
    alone = trainings.train("mlp", {"optimizer": name})
    for found in pair:
        trainings.assert_same_training(found[name], alone, tolerance=1e-7)


def test_zero_checkpoint_has_the_layout_of_one_process(pair: list[dict[str, Any]], place: str, tmp_path: Path) -> None:
    alone = trainings.train("nhits", SAVING, str(tmp_path / "alone"))
    trainings.assert_same_training(pair[0]["saved"], alone)
    for step in (4, 8, 10):
        assert trainings.layout(trainings.step_path(place, step)) == trainings.layout(
            trainings.step_path(tmp_path / "alone", step)
        )


def test_zero_resumed_with_as_many_processes_gives_identical_weights(pair: list[dict[str, Any]]) -> None:
    for found in pair:
        assert found["resumed"]["weights"] == found["saved"]["weights"]


def test_zero_resumed_in_one_process_goes_on_as_in_two(pair: list[dict[str, Any]], place: str, tmp_path: Path) -> None:
    alone = trainings.train("nhits", SAVING, str(tmp_path / "alone"), resume=trainings.step_path(place))
    trainings.assert_same_training(alone, pair[0]["saved"], tolerance=1e-6)


def test_zero_resumed_in_three_processes_goes_on_as_in_two(
    pair: list[dict[str, Any]], place: str, in_processes: Any
) -> None:
    for found in in_processes(3, resume, place):
        trainings.assert_same_training(found, pair[0]["saved"], tolerance=1e-6)


def test_zero_can_train_a_network_a_second_time(pair: list[dict[str, Any]]) -> None:
    assert pair[0]["again"] == pair[1]["again"]
    assert pair[0]["again"] == pytest.approx(trainings.train_again({}), rel=1e-9, abs=1e-12)


def test_zero_finds_a_moment_that_is_not_finite_in_another_process(pair: list[dict[str, Any]]) -> None:
    for found in pair:
        assert "exp_avg_sq is not finite at step 4" in found["spoiled"]


def test_zero_holds_half_of_the_optimizer_state_in_each_of_two_processes(pair: list[dict[str, Any]]) -> None:
    alone = trainings.train(*CASES["patchtst"])["state_bytes"]
    held = [found["patchtst"]["state_bytes"] for found in pair]
    assert sum(held) == pytest.approx(alone)
    assert held[0] == pytest.approx(alone / 2, rel=0.05)


def test_zero_refuses_an_optimizer_that_couples_all_weights() -> None:
    with pytest.raises(nd.errors.ConfigError, match="prodigy computes one number from all weights"):
        nd.TrainingConfig(optimizer=nd.optimizers.Prodigy(), strategy="zero")
