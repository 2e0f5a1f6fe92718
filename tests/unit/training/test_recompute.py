"""Recomputing activations: the same gradients to the bit, with less memory."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.itransformer import ITransformer
from neuro_divergent.models.mlp import MLP
from neuro_divergent.models.nbeats import NBEATS
from neuro_divergent.models.nhits import NHITS
from neuro_divergent.models.nlinear import NLinear
from neuro_divergent.models.recurrent import LSTM
from neuro_divergent.training.recompute import choose_every, keep_activations, recompute_activations, recomputing


def storages(values: Any) -> list[torch.UntypedStorage]:
    return [item.untyped_storage() for item in tree_leaves(values) if isinstance(item, Tensor)]


class PeakBytes(TorchDispatchMode):
    """Follows the memory of every tensor that is made inside the block, in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {storage._cdata for storage in storages((args, kwargs))}
        result = function(*args, **(kwargs or {}))
        for storage in storages(result):
            if storage._cdata not in given | self._known:
                self._known.add(storage._cdata)
                weakref.finalize(storage, self._forget, storage._cdata, storage.nbytes())
                self.now += storage.nbytes()
                self.peak = max(self.peak, self.now)
        return result

    def _forget(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


def windows(channels: int = 1, rows: int = 64) -> Batch:
    values = torch.randn(rows, 24, channels, generator=torch.Generator().manual_seed(0))
    return Batch(values)


def gradients(module: nn.Module, batch: Any) -> list[Tensor]:
    """Return the output and all gradients of one training pass with a fixed seed."""
    torch.manual_seed(5)
    output = module(batch)
    return [output.detach(), *torch.autograd.grad(output.square().sum(), list(module.parameters()), allow_unused=True)]


def peak(module: nn.Module, batch: Any, every: int) -> int:
    """Return the most bytes that are alive in a training pass, beside weights and their gradients."""
    for parameter in module.parameters():
        parameter.grad = torch.zeros_like(parameter)
    with recomputing(module, every), PeakBytes() as memory:
        module(batch).square().sum().backward()
    return memory.peak


DEEP: dict[str, tuple[Architecture, Batch, int, int]] = {
    "itransformer": (
        ITransformer(hidden_size=32, num_heads=2, feedforward_size=64, num_layers=8, dropout=0.1),
        windows(channels=4),
        2,
        4,
    ),
    "nbeats": (
        NBEATS(stacks=("generic",) * 12, hidden_size=64, dropout=0.1),
        windows(rows=256),
        3,
        4,
    ),
    "nbeats_shared": (
        NBEATS(stacks=("trend", "seasonality"), num_blocks=4, share_weights=True, hidden_size=32),
        windows(),
        3,
        3,
    ),
    "nhits": (NHITS(num_blocks=(2, 2, 2), hidden_size=32, dropout=0.1), windows(), 2, 3),
    "mlp": (MLP(num_layers=12, hidden_size=64, dropout=0.1), windows(rows=256), 4, 4),
    "mlp_batch_norm": (MLP(num_layers=12, hidden_size=64, norm="batch"), windows(rows=256), 4, 4),
    "mlp_prelu": (MLP(num_layers=12, hidden_size=64, activation="prelu"), windows(rows=256), 4, 4),
}


def network_of(name: str) -> nn.Module:
    architecture, batch, _, _ = DEEP[name]
    torch.manual_seed(0)
    return architecture.build(TaskSpec(horizon=6, input_size=24, channels=batch.past_y.shape[2]))


@pytest.mark.parametrize("name", DEEP)
def test_outputs_gradients_and_statistics_are_the_same_to_the_bit(name: str) -> None:
    _, batch, every, segments = DEEP[name]
    network, plain = network_of(name), network_of(name)
    keys = list(network.state_dict())
    with recomputing(network, every) as count:
        assert count == segments
        assert list(network.state_dict()) == keys
        for ours, theirs in zip(gradients(network, batch), gradients(plain, batch), strict=True):
            assert (ours is None and theirs is None) or torch.equal(ours, theirs)
    for ours, theirs in zip(network.state_dict().values(), plain.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(("name", "share"), [("itransformer", 0.7), ("nbeats", 0.7), ("mlp", 0.8)])
def test_the_peak_of_memory_is_lower_and_back_to_what_it_was_afterwards(name: str, share: float) -> None:
    _, batch, every, _ = DEEP[name]
    network = network_of(name)
    kept = peak(network, batch, 0)
    assert peak(network, batch, every) < share * kept
    assert peak(network, batch, 0) == kept


def test_the_number_of_blocks_is_chosen_by_what_a_block_keeps() -> None:
    assert [choose_every(network_of(name)) for name in ("itransformer", "nbeats", "nhits", "mlp")] == [1, 1, 1, 4]
    assert choose_every(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))) == 0
    assert choose_every(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))) == 2
    assert choose_every(nn.Linear(2, 2)) == 0


@pytest.mark.parametrize("name", ["itransformer", "nbeats", "mlp"])
def test_no_other_number_needs_much_less_memory_than_the_chosen_one(name: str) -> None:
    batch, network = DEEP[name][1], network_of(name)
    peaks = {every: peak(network, batch, every) for every in (0, 1, 2, 3, 4, 6)}
    assert peaks[choose_every(network)] <= 1.3 * min(peaks.values())


@pytest.mark.parametrize("name", ["itransformer", "nbeats", "mlp"])
def test_fewer_bytes_are_saved_for_the_backward_pass(name: str) -> None:
    _, batch, every, _ = DEEP[name]
    network = network_of(name)

    def saved() -> int:
        sizes: dict[int, int] = {}

        def pack(tensor: Tensor) -> Tensor:
            sizes[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            output = network(batch)
        assert output.requires_grad
        return sum(sizes.values())

    kept = saved()
    with recomputing(network, every):
        assert saved() < 0.6 * kept


def test_nothing_is_recomputed_without_training() -> None:
    runs = 0

    class Counting(nn.Linear):
        def forward(self, values: Tensor) -> Tensor:
            nonlocal runs
            runs += 1
            return super().forward(values)

    network, values = nn.Sequential(*(Counting(3, 3) for _ in range(6))), torch.randn(2, 3)
    recompute_activations(network, 2)
    for prepare, expected in [(network.train, 10), (network.eval, 6)]:
        prepare()
        runs = 0
        network(values).sum().backward()
        assert runs == expected  # all once, and all but the last segment again
    runs = 0
    with torch.no_grad():
        network.train()(values)
    assert runs == 6


def test_of_chains_inside_chains_the_longest_is_cut() -> None:
    inner = nn.Sequential(*(nn.Linear(3, 3) for _ in range(9)))
    network = nn.Sequential(nn.Flatten(), inner, nn.ReLU(inplace=True), nn.Linear(3, 1))
    assert recompute_activations(network, 3) == 3
    assert "forward" in vars(inner)
    assert "forward" not in vars(network)
    outer = nn.Sequential(*(nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True)) for _ in range(4)))
    assert recompute_activations(outer, 1) == 4
    assert not any("forward" in vars(child) for child in outer)


def test_what_precedes_the_first_block_may_write_to_its_input() -> None:
    torch.manual_seed(0)
    layers = [nn.ReLU(inplace=True), *(layer for _ in range(4) for layer in (nn.Linear(3, 3), nn.ELU(inplace=True)))]
    network, values = nn.Sequential(*layers), torch.randn(5, 3)
    plain = gradients(network, values.clone())
    with recomputing(network, 1) as segments:
        again = gradients(network, values.clone())
    assert segments == 4
    assert all(torch.equal(first, second) for first, second in zip(plain, again, strict=True))


def test_a_block_that_overwrites_its_input_is_refused_instead_of_giving_wrong_gradients() -> None:
    class Overwriting(nn.Linear):
        def forward(self, values: Tensor) -> Tensor:
            return super().forward(values.mul_(2))

    network = nn.Sequential(nn.Linear(3, 3), Overwriting(3, 3), nn.Linear(3, 3))
    recompute_activations(network, 1)
    with pytest.raises(InputError, match="a segment modifies its input in place"):
        network(torch.randn(2, 3))


@pytest.mark.long
def test_recomputing_works_with_compiling() -> None:
    _, batch, every, _ = DEEP["mlp"]
    network = network_of("mlp")
    plain = gradients(network, batch)
    with recomputing(network, every):
        torch._dynamo.reset()
        compiled = gradients(torch.compile(network, backend="aot_eager", fullgraph=True), batch)
    torch._dynamo.reset()
    torch.testing.assert_close(compiled, plain)


def test_copies_recompute_with_their_own_weights() -> None:
    network, values = nn.Sequential(*(nn.Linear(3, 3) for _ in range(4))), torch.randn(2, 3)
    recompute_activations(network, 1)
    twin = copy.deepcopy(network)
    with torch.no_grad():
        twin[0].weight.zero_()
    twin(values).sum().backward()
    assert network[0].weight.grad is None
    assert not torch.equal(twin(values), network(values))
    keep_activations(network)
    assert not {"forward", "recompute_every"} & set(vars(network))


def test_what_cannot_be_recomputed_is_said() -> None:
    spec = TaskSpec(horizon=6, input_size=24)
    with pytest.raises(ConfigError, match=r"every 20 blocks: its longest chain has 13\."):
        recompute_activations(network_of("mlp"), 20)
    with pytest.raises(ConfigError, match=r"it has no chain of blocks, such as nn\.Sequential\.$"):
        recompute_activations(NLinear().build(spec), 1)
    with pytest.raises(ConfigError, match=r"nn\.LSTM, nn\.GRU and nn\.RNN are one operation and cannot be cut"):
        recompute_activations(LSTM(num_layers=4).build(spec), 4)
    with pytest.raises(ConfigError, match="at least 1"):
        recompute_activations(network_of("mlp"), 0)
    with recomputing(NLinear().build(spec), 0) as segments:
        assert segments == 0
