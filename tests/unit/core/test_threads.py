"""How many threads, and when they are found waiting for each other."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
import torch

from neuro_divergent.core.threads import (
    WORTH_A_SECOND_THREAD,
    Contention,
    available_cores,
    core_limits,
    threads_for,
    using_threads,
)


def test_small_work_gets_one_thread_and_large_work_all_cores() -> None:
    assert threads_for(WORTH_A_SECOND_THREAD - 1) == 1
    assert threads_for(WORTH_A_SECOND_THREAD) == available_cores() >= 1


def test_the_count_is_given_back_even_after_an_error() -> None:
    before = torch.get_num_threads()

    def fail() -> None:
        with using_threads(before + 1):
            assert torch.get_num_threads() == before + 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert torch.get_num_threads() == before


CROWDED = """
import os, sys, time
from pathlib import Path
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import torch
from neuro_divergent.core import threads

if sys.argv[1] == "untold":
    threads._TASKS = Path("/nowhere")
torch.set_num_threads(2)
contention, matrix = threads.Contention(2, patience=0.5), torch.randn(800, 800)
end = time.monotonic() + 60
found = False
while not found and time.monotonic() < end:
    matrix @ matrix
    found = contention.is_found()
print(found)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be given one core here")
@pytest.mark.parametrize("kernel", ["told", "untold"])
def test_two_threads_on_one_core_are_found_waiting(kernel: str) -> None:
    """In a process of its own, whose threads all have the same core; also where the kernel does not tell who waits."""
    done = subprocess.run([sys.executable, "-c", CROWDED, kernel], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_threads_that_have_nothing_to_do_are_not_found_waiting() -> None:
    contention = Contention(threads=2, patience=0.05)
    time.sleep(0.5)  # next to no processor time, and no wish for any
    assert not contention.is_found()


def test_one_thread_is_never_found_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.core.threads._KEPT_WAITING", -1.0)
    assert Contention(threads=2, patience=0.0).is_found()
    assert not Contention(threads=1, patience=0.0).is_found()


@pytest.mark.parametrize(("told", "cores"), [("1", 1), ("1,4", 1), (" 1 ", 1), ("100000", None), ("", None)])
def test_omp_num_threads_bounds_the_cores(monkeypatch: pytest.MonkeyPatch, told: str, cores: int | None) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    without = available_cores()
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert available_cores() == threads_for(WORTH_A_SECOND_THREAD) == (cores or without)


@pytest.mark.parametrize("told", ["0", "-2", "two", "², ", "1.5"])
def test_omp_num_threads_that_is_no_count_is_ignored(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert "OMP_NUM_THREADS" not in core_limits()


def test_torch_set_num_threads_bounds_the_cores() -> None:
    with using_threads(1):
        assert available_cores() == threads_for(WORTH_A_SECOND_THREAD) == 1


def test_quota_of_a_container_bounds_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.core.threads.cpu_quota", lambda: 1)
    assert core_limits()["quota"] == available_cores() == 1


def test_count_that_was_changed_inside_the_block_is_given_back() -> None:
    before = torch.get_num_threads()
    with using_threads(before):
        torch.set_num_threads(before + 1)
    assert torch.get_num_threads() == before


PAGE_FAULTS = """
import resource, torch
from neuro_divergent.core.memory import keeping_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        torch.ones(2_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

outside = faults()
with keeping_memory():
    faults()
    print(outside, faults())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc gives memory back after every step")
def test_memory_is_kept_inside_the_block() -> None:
    """In a process of its own: how the allocator behaves depends on what was allocated before."""
    done = subprocess.run([sys.executable, "-c", PAGE_FAULTS], capture_output=True, text=True, check=True)
    outside, inside = map(int, done.stdout.split())
    assert inside < 0.5 * outside
