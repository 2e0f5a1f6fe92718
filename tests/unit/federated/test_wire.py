"""Messages between server and clients, also hostile ones."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.core.errors import RejectedUpdateError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors
from neuro_divergent.federated.settings import FederationSettings
from neuro_divergent.federated.update import RoundTask, Update
from neuro_divergent.federated.update_check import UpdateCheck
from neuro_divergent.federated.weight_layout import WeightLayout
from neuro_divergent.federated.wire import (
    decode_task,
    decode_update,
    encode_task,
    encode_update,
    largest_message,
)

LAYOUT = WeightLayout.of(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)))


def vector(seed: int = 0) -> torch.Tensor:
    return LAYOUT.rounded(torch.randn(LAYOUT.size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)))


def update(**changes: Any) -> Update:
    made = {"client": "a", "round": 3, "delta": vector(), "examples": 10, "loss": 0.5, **changes}
    return Update(**made)


def test_a_task_comes_back_as_it_was_sent() -> None:
    task = RoundTask(7, vector(), 0.5, {"control": vector(1)})
    found = decode_task(encode_task(task, LAYOUT), LAYOUT)
    assert (found.round, found.lr_scale, list(found.message)) == (7, 0.5, ["control"])
    assert torch.equal(found.weights, task.weights)
    assert torch.equal(found.message["control"], task.message["control"])


def test_an_update_comes_back_as_it_was_sent_with_the_name_that_the_transport_knows() -> None:
    content = encode_update(update(message={"control": vector(1)}), LAYOUT)
    found = decode_update(content, LAYOUT, "b")
    assert (found.client, found.round, found.examples, found.loss) == ("b", 3, 10, 0.5)
    assert torch.equal(found.delta, vector())
    assert len(content) <= largest_message(LAYOUT)


@given(data=st.data())
def test_any_altered_update_is_refused_or_is_an_update_of_the_network(data: st.DataObject) -> None:
    content = bytearray(encode_update(update(), LAYOUT))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    try:
        found = decode_update(bytes(content[:cut] if data.draw(st.booleans()) else content), LAYOUT, "a")
    except RejectedUpdateError:
        return
    assert found.delta.shape == (LAYOUT.size,)


@given(content=st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(RejectedUpdateError):
        decode_update(content, LAYOUT, "a")


def framed(header: Any, tensors: dict[str, torch.Tensor]) -> bytes:
    text = strict_json.dumps(header)
    return len(text).to_bytes(8, "little") + text + dump_tensors(tensors)


HEADER: dict[str, Any] = {"round": 3, "examples": 10, "loss": 0.5, "further": []}
TENSORS = {f"main.{name}": item for name, item in LAYOUT.split(vector()).items()}


@pytest.mark.parametrize(
    "header",
    [
        {**HEADER, "round": "3"},
        {**HEADER, "round": True},
        {**HEADER, "examples": 1.5},
        {**HEADER, "loss": "low"},
        {**HEADER, "extra": 1},
        {**HEADER, "further": ["control"]},
        {**HEADER, "further": [1]},
        {**HEADER, "further": ["x", "x"]},
        {name: value for name, value in HEADER.items() if name != "round"},
        [],
    ],
)
def test_a_header_with_other_fields_is_refused(header: Any) -> None:
    with pytest.raises(RejectedUpdateError):
        decode_update(framed(header, TENSORS), LAYOUT, "a")


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {**TENSORS, "main.more": torch.zeros(1)},
        {**TENSORS, "other": torch.zeros(1)},
        {**TENSORS, "main.0.weight": torch.zeros(2, 2)},
        {**TENSORS, "main.0.weight": torch.zeros(2, 3, dtype=torch.float64)},
        {**TENSORS, "main.0.weight": torch.zeros(2, 3, dtype=torch.int32)},
        {name: item for name, item in TENSORS.items() if name != "main.0.bias"},
    ],
)
def test_tensors_of_another_network_are_refused(tensors: dict[str, torch.Tensor]) -> None:
    with pytest.raises(RejectedUpdateError):
        decode_update(framed(HEADER, tensors), LAYOUT, "a")


def check(**settings: Any) -> UpdateCheck:
    return UpdateCheck(RoundTask(3, vector()), ["a", "b"], FederationSettings(**settings))


def with_value(value: float) -> torch.Tensor:
    changed = vector()
    changed[2] = value
    return changed


@pytest.mark.parametrize(
    ("changes", "answered"),
    [
        ({"client": "c"}, False),
        ({"round": 2}, False),
        ({"round": 4}, False),
        ({"delta": with_value(math.nan)}, True),
        ({"delta": with_value(math.inf)}, True),
        ({"delta": vector()[:-1]}, True),
        ({"delta": vector().float()}, True),
        ({"delta": vector().reshape(1, -1)}, True),
        ({"examples": 0}, True),
        ({"examples": -5}, True),
        ({"examples": 2**60}, True),
        ({"examples": True}, True),
        ({"loss": math.nan}, True),
        ({"message": {"control": vector()}}, True),
    ],
)
def test_an_update_that_must_not_count_is_refused(changes: dict[str, Any], answered: bool) -> None:
    made = check()
    with pytest.raises(RejectedUpdateError):
        made.accept(update(**changes))
    assert not made.accepted
    assert made.waits_for == ({"b"} if answered else {"a", "b"})


def test_an_update_counts_once() -> None:
    made = check()
    made.accept(update())
    with pytest.raises(RejectedUpdateError, match="before"):
        made.accept(update())
    assert list(made.accepted) == ["a"]


def test_a_refused_client_cannot_try_again_in_the_same_round() -> None:
    made = check(max_norm=1e-3)
    for _ in range(2):
        with pytest.raises(RejectedUpdateError):
            made.accept(update())
    assert made.refused
    assert not made.accepted


def test_batch_statistics_are_shared_and_counts_of_batches_are_not() -> None:
    assert "1.running_mean" in LAYOUT.names
    assert "1.num_batches_tracked" not in LAYOUT.names


def test_the_layout_keeps_weights_through_a_vector() -> None:
    network, other = (torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)) for _ in range(2))
    LAYOUT.write(other, LAYOUT.read(network))
    assert all(torch.equal(network.state_dict()[name], other.state_dict()[name]) for name in LAYOUT.names)


def test_networks_with_other_shapes_have_another_digest() -> None:
    assert WeightLayout.of(torch.nn.Linear(3, 2)).digest != WeightLayout.of(torch.nn.Linear(2, 3)).digest
    assert nd.federated.FedAvg().local_names(torch.nn.BatchNorm1d(2)) == set()
