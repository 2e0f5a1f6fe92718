"""How much memory is free, and what is said when it was not enough."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.available_memory import available_memory
from neuro_divergent.core.errors import OutOfMemoryError
from neuro_divergent.core.formatting import format_bytes
from neuro_divergent.data.loader import Order, as_loader
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.memory import explaining_memory, free_memory, is_refusal, unexplained

MSE = nn.functional.mse_loss
ABSURD = 2**50  # bytes; no address space is as large
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of processes are Linux's")


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MEMINFO = {"proc/meminfo": "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 8000 kB\n"}
V2 = {
    "proc/self/cgroup": "0::/batch/job\n",
    "proc/self/mountinfo": "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
    "sys/fs/cgroup/batch/memory.max": "5000000\n",
    "sys/fs/cgroup/batch/memory.current": "3000000\n",
    "sys/fs/cgroup/batch/memory.stat": "anon 2000000\ninactive_file 400000\nactive_file 7\n",
    "sys/fs/cgroup/batch/job/memory.max": "max\n",
    "sys/fs/cgroup/batch/job/memory.current": "2000000\n",
}
V1 = {
    "proc/self/cgroup": "7:cpu,cpuacct:/job\n4:memory:/job\n0::/\n",
    "proc/self/mountinfo": "36 29 0:32 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "3000000\n",
    "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4000000\n",
    "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "3000000\n",
    "sys/fs/cgroup/memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 50\n",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8000 * 1024),
        (V2, 5_000_000 - 3_000_000 + 400_000),  # the group around it has the limit
        (V2 | {"sys/fs/cgroup/batch/job/memory.max": "2100000"}, 100_000),
        (V2 | {"sys/fs/cgroup/batch/job/memory.max": "1000000"}, 0),  # a limit can be set below what is used
        (V1, 1_000_050),
        (V1 | {"proc/self/cgroup": "4:memory:/known/to/the/host\n"}, 8000 * 1024),
        (
            V2
            | {
                "proc/self/cgroup": "0::/elsewhere\n",
                "sys/fs/cgroup/memory.max": "70",
                "sys/fs/cgroup/memory.current": "9",
            },
            61,
        ),
    ],
)
def test_free_memory_is_the_lowest_of_all_limits(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    assert available_memory(root=system(tmp_path, MEMINFO | files)) == expected


@linux
def test_what_is_free_here_is_less_than_the_machine_has() -> None:
    import os

    free = free_memory()
    assert free is not None
    assert 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@linux
def test_of_a_limited_address_space_what_is_free_can_be_taken_and_not_much_more() -> None:
    script = """
import resource
from neuro_divergent.training.memory import free_memory
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 300_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
free = free_memory()
taken = bytearray(int(free * 0.97))
del taken
try:
    bytearray(int(free * 1.03))
except MemoryError:
    print(free)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(result.stdout) == pytest.approx(300_000_000, rel=0.03)


def test_a_device_that_does_not_tell_has_no_known_memory() -> None:
    assert free_memory(torch.device("meta")) is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda: torch.empty(ABSURD, dtype=torch.uint8),
        lambda: np.empty(ABSURD, dtype=np.uint8),
        lambda: bytearray(ABSURD),
    ],
)
def test_each_library_refuses_in_its_own_words(ask: object) -> None:
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        ask()  # type: ignore[operator]
    assert is_refusal(caught.value)
    assert not is_refusal(OutOfMemoryError("explained"))
    assert not is_refusal(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


class Greedy(nn.Module):
    """Asks for memory that does not exist when a batch is large."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.layers = nn.Sequential(nn.Linear(6, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1))

    def forward(self, inputs: Tensor) -> Tensor:
        if len(inputs) > self.most:
            torch.empty(ABSURD, dtype=torch.uint8)
        return self.layers(inputs)


def explanation(most: int, batch_size: int = 4000, **settings: object) -> str:
    torch.manual_seed(0)
    module = Greedy(most)
    trainer = Trainer(module, MSE, TrainingConfig(max_steps=3, threads=1, **settings))  # type: ignore[arg-type]
    loader = as_loader((torch.randn(4000, 6), torch.randn(4000, 1)), Order(batch_size=batch_size), trainer.device)
    before = [parameter.clone() for parameter in module.parameters()]
    with pytest.raises(OutOfMemoryError) as caught, explaining_memory(trainer, loader):
        trainer.fit(loader)
    assert caught.value.exit_code == 2
    assert all(torch.equal(ours, then) for ours, then in zip(module.parameters(), before, strict=True))
    assert all(parameter.grad is None for parameter in module.parameters())
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_the_message_has_the_batch_the_weights_the_need_the_free_memory_and_what_to_do() -> None:
    text = explanation(most=1000)
    weights = 6 * 100 + 100 + 100 * 100 + 100 + 100 + 1
    assert "batch_size=4000 does not fit in memory: a step needs about " in text
    assert (
        f"({weights:,} weights {format_bytes(4 * weights)}, gradients {format_bytes(4 * weights)}, optimizer " in text
    )
    assert ' are free. Lower batch_size, or set recompute="auto", or choose a smaller model.' in text
    # Two results of 100 numbers are kept for the backward pass, and one or two more are there at the same time.
    activations = float(text.split("activations ")[1].split(" MB")[0]) * 1e6
    assert 2 * 4000 * 100 * 4 < activations < 5 * 4000 * 100 * 4


def test_what_recomputes_already_is_not_told_to() -> None:
    assert "recompute" not in explanation(most=1000, recompute="auto")


def test_without_memory_to_measure_the_message_says_what_is_known() -> None:
    text = explanation(most=0)
    assert "batch_size=4000 does not fit" in text
    assert "needs 43.6 kB for 10,901 weights, as much for their gradients, and more, and " in text
    assert "Lower batch_size" in text


def test_errors_other_than_memory_are_not_changed() -> None:
    trainer = Trainer(nn.Linear(1, 1), MSE, TrainingConfig(max_steps=1))
    for error in (RuntimeError("something else"), ValueError("x"), OutOfMemoryError("already said")):
        with (
            pytest.raises(type(error)) as caught,
            explaining_memory(trainer, as_loader([], Order(batch_size=1), trainer.device)),
        ):
            raise error
        assert caught.value is error


def test_inside_unexplained_the_allocation_error_is_not_changed() -> None:
    trainer = Trainer(nn.Linear(1, 1), MSE, TrainingConfig(max_steps=1))
    loader = as_loader([], Order(batch_size=1), trainer.device)
    with pytest.raises(MemoryError) as caught, unexplained(), explaining_memory(trainer, loader):
        bytearray(ABSURD)
    assert not isinstance(caught.value, OutOfMemoryError)
