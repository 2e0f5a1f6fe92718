"""Sharded training (FSDP2) trains as one process does, with a part of everything in each process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import neuro_divergent as nd
from tests.integration.distributed import strategy_trainings as trainings
from tests.integration.distributed.strategy_trainings import CASES

pytestmark = pytest.mark.long  # several processes; that of data_parallel is in the short tests

SAVING = {"average": "ema", "early_stopping": {"patience": 5}}

STRATEGY: dict[str, Any] = {"name": "sharded", "min_block": 50}
OPTIMIZERS = ("adagrad", "adan", "lookahead", "schedule_free_adamw")  # each with another kind of state


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
    found["cycles"] = trainings.train_in_cycles({"strategy": STRATEGY})
    found["interrupted"] = trainings.interrupt({"strategy": STRATEGY})
    found["spoiled"] = trainings.spoil_moments({"strategy": STRATEGY}, f"{place}-spoiled")
    return found


def resume(place: str) -> dict[str, Any]:
    """Continue in a group of another size."""
    return trainings.train("nhits", {"strategy": STRATEGY, **SAVING}, f"{place}-3", resume=trainings.step_path(place))


@pytest.fixture(scope="module")
def place(shared_place: Path) -> str:
    """Where the processes save."""
    return str(shared_place / "sharded")


@pytest.fixture(scope="module")
def pair(in_processes: Any, place: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = in_processes(2, work, place)
    return found


@pytest.mark.parametrize("case", CASES)
def test_sharded_in_two_processes_trains_as_one_process(case: str, pair: list[dict[str, Any]]) -> None:
    name, changes = CASES[case]
    alone = trainings.train(name, changes)
    for found in pair:
        trainings.assert_same_training(found[case], alone)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_sharded_steps_optimizers_as_one_process(name: str, pair: list[dict[str, Any]]) -> None:
    alone = trainings.train("mlp", {"optimizer": name})
    for found in pair:
        trainings.assert_same_training(found[name], alone, tolerance=1e-7)


def test_sharded_checkpoint_has_the_layout_of_one_process(
    pair: list[dict[str, Any]], place: str, tmp_path: Path
) -> None:
    alone = trainings.train("nhits", SAVING, str(tmp_path / "alone"))
    trainings.assert_same_training(pair[0]["saved"], alone)
    for step in (4, 8, 10):
        assert trainings.layout(trainings.step_path(place, step)) == trainings.layout(
            trainings.step_path(tmp_path / "alone", step)
        )


def test_sharded_resumed_with_as_many_processes_gives_identical_weights(pair: list[dict[str, Any]]) -> None:
    for found in pair:
        assert found["resumed"]["weights"] == found["saved"]["weights"]


def test_sharded_resumed_in_one_process_goes_on_as_in_two(
    pair: list[dict[str, Any]], place: str, tmp_path: Path
) -> None:
    alone = trainings.train("nhits", SAVING, str(tmp_path / "alone"), resume=trainings.step_path(place))
    trainings.assert_same_training(alone, pair[0]["saved"], tolerance=1e-6)


@pytest.mark.long
def test_sharded_resumed_in_three_processes_goes_on_as_in_two(
    pair: list[dict[str, Any]], place: str, in_processes: Any
) -> None:
    for found in in_processes(3, resume, place):
        trainings.assert_same_training(found, pair[0]["saved"], tolerance=1e-6)


def test_sharded_can_train_a_network_a_second_time(pair: list[dict[str, Any]]) -> None:
    assert pair[0]["again"] == pair[1]["again"]
    assert pair[0]["again"] == pytest.approx(trainings.train_again({}), rel=1e-9, abs=1e-12)


def test_sharded_keeps_whole_weights_of_a_cycle(pair: list[dict[str, Any]]) -> None:
    assert len(pair[0]["cycles"]) == 1
    assert pair[0]["cycles"] == pair[1]["cycles"]
    assert pair[0]["cycles"][0] == pytest.approx(trainings.train_in_cycles({})[0], rel=1e-9, abs=1e-12)


def test_sharded_network_is_whole_again_after_an_interruption(pair: list[dict[str, Any]]) -> None:
    alone = trainings.interrupt({})
    for found in pair:
        assert found["interrupted"] == pytest.approx(alone, rel=1e-9, abs=1e-12)


def test_sharded_finds_a_moment_that_is_not_finite_in_another_process(pair: list[dict[str, Any]]) -> None:
    for found in pair:
        assert "exp_avg_sq is not finite at step 4" in found["spoiled"]


def test_sharded_holds_half_of_weights_and_state_in_each_of_two_processes(pair: list[dict[str, Any]]) -> None:
    alone = trainings.train(*CASES["patchtst"])
    for kind in ("weight_bytes", "state_bytes"):
        held = [found["patchtst"][kind] for found in pair]
        assert held[0] == pytest.approx(alone[kind] / 2, rel=0.05)
        assert held[1] == pytest.approx(alone[kind] / 2, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": "muon"}, "muon needs whole tensors"),
        ({"optimizer": {"name": "lookahead", "base": "lamb"}}, "lookahead needs whole tensors"),
        ({"compile": True}, "compile=True does not work"),
        ({"precision": "fp16"}, "fp16"),
        ({"gradient": "central"}, "gradient='central' changes single weights"),
        ({"gradient_sum": "float64"}, "gradient_sum='float64' adds up whole gradients"),
        ({"freeze": [{"pattern": "*", "until": 2}]}, "freeze: 'until' is not possible"),
    ],
)
def test_sharded_refuses_settings_that_need_whole_weights(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match=message):
        nd.TrainingConfig.from_dict({"strategy": "sharded", **changes})
