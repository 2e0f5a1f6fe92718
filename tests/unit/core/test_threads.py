"""How many threads, and what is said when they are kept waiting."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings

import pytest
import torch

from neuro_divergent.core.threads import (
    WORTH_A_SECOND_THREAD,
    Contention,
    ThreadWarning,
    available_cores,
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


def test_waiting_threads_are_told_once() -> None:
    contention = Contention(threads=2, patience=0.05)
    time.sleep(0.1)  # this process uses next to no processor time, as if others had it
    with pytest.warns(ThreadWarning, match="set threads=1"):
        contention.check()
    time.sleep(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        contention.check()


def test_one_thread_is_never_told() -> None:
    contention = Contention(threads=1, patience=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        contention.check()


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
