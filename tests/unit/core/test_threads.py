"""How many threads, and what is said when they are kept waiting."""

from __future__ import annotations

import time
import warnings

import pytest
import torch

from neuro_divergent.core.memory import keeping_memory
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


def test_memory_is_kept_only_inside_the_block() -> None:
    with keeping_memory():
        first = torch.ones(4_000_000).sum()
    assert float(first) == 4_000_000
