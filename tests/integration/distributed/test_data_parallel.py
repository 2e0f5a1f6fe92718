"""Several processes with a part of each batch train as one process does with all of it."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from typing import Any

import pytest
import torch
import torch.distributed as dist

import neuro_divergent as nd
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.distributed.group import join_group
from tests.contracts import test_losses
from tests.integration.distributed import trainings
from tests.integration.distributed.together import largest_difference, run_together

HERE = "tests.integration.distributed.trainings"
LOSSES = range(len(test_losses.SETTINGS))
TOLERANCE = 1e-6


def has_batch_norm(name: str) -> bool:
    spec = trainings.test_architectures.task(name)
    network = trainings.test_architectures.small(name).build(spec)
    return any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in network.modules())


WITHOUT_BATCH_NORM = [name for name in trainings.ARCHITECTURES if not has_batch_norm(name)]


def difference(found: list[dict[str, Any]], alone: dict[str, Any]) -> str | None:
    """Return how several processes that trained the same differ from one, or ``None``."""
    first, *others = found
    if any(other != first for other in others):
        return "the processes differ from each other"
    if first["step"] != alone["step"]:
        return f"{first['step']} steps, not {alone['step']}"
    if (apart := largest_difference(first["weights"], alone["weights"])) >= TOLERANCE:
        return f"weights differ by {apart:.2g}"
    rows = zip(first["rows"], alone["rows"], strict=True)
    if any(ours != pytest.approx(theirs, rel=TOLERANCE, abs=1e-9) for ours, theirs in rows):
        return "the histories differ"
    return None


def differences(kind: str, names: list[Any], processes: int = 2, drawing: Collection[Any] = ()) -> dict[Any, str]:
    """Return the cases in which several processes trained otherwise than one; those that draw must only agree."""
    found = run_together(f"{HERE}:all_of", processes, kind, names)
    alone = trainings.all_of(kind, [name for name in names if name not in drawing])
    results = {name: [result[str(name)] for result in found] for name in names}
    told = {name: difference(made, alone.get(str(name), made[0])) for name, made in results.items()}
    return {name: text for name, text in told.items() if text is not None}


@pytest.mark.long
@pytest.mark.parametrize("part", range(2))
def test_two_processes_train_every_architecture_without_batch_norm_as_one_does(part: int) -> None:
    assert not differences("architecture", WITHOUT_BATCH_NORM[part::2], drawing=trainings.DRAWING)


@pytest.mark.long
def test_two_processes_train_with_every_loss_as_one_does() -> None:
    drawing = [place for place in LOSSES if test_losses.SETTINGS[place][0] in test_losses.DRAWS]
    assert not differences("loss", list(LOSSES), drawing=drawing)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::neuro_divergent.training.GradientCostWarning")
def test_two_processes_train_with_every_other_setting_as_one_does() -> None:
    assert not differences("option", list(trainings.OPTIONS), drawing=["gradient noise"])


@pytest.mark.long
def test_three_processes_train_as_one_does() -> None:
    assert not differences("architecture", ["mlp", "nhits", "lstm"], processes=3)


def test_a_forecaster_of_two_processes_forecasts_as_that_of_one() -> None:
    alone, (first, second) = trainings.of_table(), run_together(f"{HERE}:of_table")
    assert first == second
    assert first["forecasts"] == pytest.approx(alone["forecasts"], rel=1e-6)
    assert first["history"] == pytest.approx(alone["history"], rel=1e-6)


@pytest.mark.long
def test_a_last_batch_of_one_row_counts_once_with_any_function_as_loss() -> None:
    alone, (first, second) = trainings.of_tensors(), run_together(f"{HERE}:of_tensors")
    assert first == second
    assert largest_difference(first["weights"], alone["weights"]) < 1e-6


@pytest.mark.long
def test_a_shuffling_data_loader_has_one_order_for_all_processes() -> None:
    first, second = run_together(f"{HERE}:of_data_loader")
    drawn = [ours + theirs for ours, theirs in zip(first["seen"], second["seen"], strict=True)]
    for epoch in (drawn[:3], drawn[3:6]):
        assert sorted(value for batch in epoch for value in batch) == list(range(12))
    assert drawn[:3] != drawn[3:6]


def train_with_batch_norm() -> str:
    spec = TaskSpec(4, 12)
    try:
        trainings.train(nd.MLP(hidden_size=8, norm="batch").build(spec), nd.losses.MSE(), trainings.batches_of(spec))
    except nd.errors.ConfigError as error:
        return str(error)
    return ""


def test_batch_normalisation_is_refused_on_cpus() -> None:
    for said in run_together(f"{__name__}:train_with_batch_norm"):
        assert "batch normalisation" in said
        assert "Choose another normalisation, or train in one process." in said


def train_with_fewer_rows_than_processes() -> str:
    data = torch.zeros(4, 1), torch.zeros(4, 1)
    try:
        nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), nd.TrainingConfig(batch_size=1)).fit(data)
    except nd.errors.ConfigError as error:
        return str(error)
    return ""


def test_a_batch_size_below_the_number_of_processes_is_refused() -> None:
    for said in run_together(f"{__name__}:train_with_fewer_rows_than_processes"):
        assert said.startswith("batch_size: 1 windows cannot be dealt out to 2 processes")


def join_slowly() -> tuple[float, float]:
    """Join the group, as the last of all where this is process 1, and return when it was connected and had joined."""
    connect = dist.init_process_group
    connected = 0.0

    def connect_slowly(*arguments: Any, **settings: Any) -> None:
        nonlocal connected
        connect(*arguments, **settings)
        time.sleep(float(os.environ["RANK"]))
        connected = time.clock_gettime(time.CLOCK_MONOTONIC)

    dist.init_process_group = connect_slowly
    join_group(torch.device("cpu"), timeout=60)
    return connected, time.clock_gettime(time.CLOCK_MONOTONIC)


def test_joining_ends_when_every_process_is_connected() -> None:
    (_, joined), (connected, _) = run_together(f"{__name__}:join_slowly")
    assert joined >= connected
