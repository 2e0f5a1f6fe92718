"""Time spent in exchanges, of those that return when complete and of those inside a backward pass."""

from __future__ import annotations

import time

import pytest

from neuro_divergent.distributed.waiting import Waiting


class Watch:
    now = 0.0


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr(time, "perf_counter", lambda: watch.now)
    return watch


def test_time_inside_the_context_and_decorated_functions_is_added_up(watch: Watch) -> None:
    waiting = Waiting()

    @waiting
    def exchange() -> int:
        watch.now += 2.0
        return 7

    with waiting:
        watch.now += 1.0
    watch.now += 10.0
    assert exchange() == 7
    assert waiting.seconds == 3.0


def test_an_exchange_that_fails_is_time_spent_as_well(watch: Watch) -> None:
    waiting = Waiting()

    @waiting
    def fail() -> None:
        watch.now += 1.0
        raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert waiting.seconds == 1.0


def test_of_a_backward_pass_the_time_from_the_last_part_sent_to_the_last_received_counts(watch: Watch) -> None:
    waiting = Waiting()
    for _ in range(2):
        waiting.sent(is_last=False)
        watch.now += 5.0  # computing while the first part is on its way
        waiting.received()
        watch.now += 1.0
        waiting.sent(is_last=True)
        watch.now += 0.5
        waiting.received()
    assert waiting.seconds == 1.0
    watch.now += 100.0
    assert waiting.seconds == 1.0


def test_a_part_that_comes_back_after_the_last_one_counts(watch: Watch) -> None:
    waiting = Waiting()
    waiting.sent(is_last=False)
    waiting.sent(is_last=True)
    watch.now += 1.0
    waiting.received()  # of the last part
    watch.now += 2.0
    waiting.received()  # of the large first one
    assert waiting.seconds == 3.0


def test_a_backward_pass_whose_parts_were_back_before_has_no_time(watch: Watch) -> None:
    waiting = Waiting()
    watch.now = 5.0
    waiting.received()
    watch.now = 6.0
    waiting.sent(is_last=True)
    assert waiting.seconds == 0.0
