"""Decisions of a shadow test: promotion, time-out, hard guards, roll-back, restart."""

from __future__ import annotations

import json
import math

import pytest

from neuro_divergent.core.errors import ConfigError, UntrustedFileError
from neuro_divergent.lifecycle.promotion.block import Block
from neuro_divergent.lifecycle.promotion.shadow_test import ShadowState, ShadowTest


def block(index: int, *, serving: float = 1.0, shadow: float = 1.0, naive: float = 2.0) -> Block:
    return Block(index, index + 2, f"day {index}", f"day {index + 1}", serving, shadow, naive, 3)


def better(count: int) -> list[Block]:
    return [block(2 * place, serving=1.0 + 0.1 * (place % 3), shadow=0.9) for place in range(count)]


def test_shadow_that_is_better_in_every_block_takes_over() -> None:
    state = ShadowTest().update(ShadowTest().start(), better(60))
    assert (state.outcome, state.reason) == ("switch", "evidence")
    assert state.process.value >= 20
    assert state.process.blocks < 20
    assert state.sentence.startswith("The challenger takes over: the challenger is better. Evidence ")


def test_blocks_after_the_outcome_change_nothing() -> None:
    test = ShadowTest()
    state = test.update(test.start(), better(60))
    assert test.update(state, [block(1000, shadow=math.inf)]) == state


def test_equal_versions_time_out_and_the_champion_stays() -> None:
    test = ShadowTest()
    state = test.update(test.start(), [block(2 * place) for place in range(59)])
    assert state.outcome is None
    state = test.update(state, [block(118)])
    assert (state.outcome, state.reason) == ("keep", "time_out")
    assert state.sentence.startswith("The champion stays: the challenger was not shown to be better in time.")


def test_blocks_that_were_seen_or_overlap_are_left_out() -> None:
    test = ShadowTest()
    state = test.update(test.start(), better(5))
    assert test.update(state, better(5)) == state
    assert test.update(state, [block(9, serving=9.0)]) == state  # within the gap after the block at 8
    assert test.update(state, [block(10, serving=9.0)]).process.blocks == 6


def test_one_call_with_all_blocks_equals_a_call_per_block_with_a_restart_after_each() -> None:
    test = ShadowTest()
    at_once = test.update(test.start(), reversed(better(60)))
    state = test.start()
    for one in better(60):
        state = ShadowState.from_dict(json.loads(json.dumps(test.update(state, [one]).to_dict(), allow_nan=False)))
    assert state == at_once


def test_rare_large_loss_prevents_promotion_until_the_plain_mean_is_in_favour() -> None:
    test = ShadowTest(max_blocks=200)
    state = test.update(test.start(), [block(0), block(2), block(4, shadow=9.0)])
    blocks = [block(6 + 2 * place, serving=1.1) for place in range(100)]
    state = test.update(state, blocks[:79])
    assert state.outcome is None  # 79 gains of 0.1 do not make up for one loss of 8
    assert state.process.value > 20
    assert test.update(state, blocks).outcome == "switch"


@pytest.mark.parametrize("purpose", ["promotion", "rollback"])
def test_shadow_that_gives_a_forecast_that_is_not_finite_ends_the_test(purpose: str) -> None:
    test = ShadowTest()
    state = test.update(test.start(purpose), [block(0, shadow=math.inf)])  # type: ignore[arg-type]
    assert (state.outcome, state.reason) == ("keep", "not_finite")


def test_new_champion_that_gives_a_forecast_that_is_not_finite_is_rolled_back_at_once() -> None:
    test = ShadowTest()
    state = test.update(test.start("rollback"), [block(0, serving=math.inf)])
    assert (state.outcome, state.reason) == ("switch", "not_finite")
    assert "the champion gave a forecast that is not finite" in state.sentence
    # Before the switch it is evidence like any other: the challenger has not proved itself yet.
    assert test.update(test.start(), [block(0, serving=math.inf)]).outcome is None


@pytest.mark.parametrize(
    ("serving", "shadow", "naive", "outcome"),
    [(3.1, 1.0, 2.0, "switch"), (3.0, 1.0, 2.0, None), (3.1, 2.1, 2.0, None), (3.1, 1.0, math.nan, None)],
)
def test_new_champion_far_worse_than_naive_is_rolled_back_if_the_previous_one_is_not(
    serving: float, shadow: float, naive: float, outcome: str | None
) -> None:
    test, bad = ShadowTest(), block(0, serving=serving, shadow=shadow, naive=naive)
    assert test.update(test.start("rollback"), [bad]).outcome == outcome
    assert test.update(test.start("promotion"), [bad]).outcome is None


def test_naive_forecast_that_was_good_by_chance_in_one_block_does_not_roll_back() -> None:
    test = ShadowTest()
    state = test.update(test.start("rollback"), [block(2 * place) for place in range(9)])
    assert test.update(state, [block(18, serving=1.0, shadow=0.5, naive=0.5)]).outcome is None
    assert test.update(state, [block(18, serving=3.5, shadow=0.5, naive=0.5)]).reason == "worse_than_naive"


def test_roll_back_by_evidence_uses_the_same_test() -> None:
    test = ShadowTest(naive_limit=None)
    promotion, rollback = (test.update(test.start(purpose), better(60)) for purpose in ("promotion", "rollback"))
    assert rollback.process == promotion.process
    assert rollback.sentence.startswith("The previous version takes over: the previous version is better.")


def test_settings_round_trip_and_refuse_a_bet_that_could_lose_everything() -> None:
    test = ShadowTest(threshold=100, gap=0)
    assert ShadowTest.from_toml(test.to_toml()) == test
    with pytest.raises(ConfigError, match="must be below 1"):
        ShadowTest(bet=0.5, clip=2.5)


@pytest.mark.parametrize("change", [{"purpose": "fun"}, {"outcome": "maybe"}, {"process": None}, {"process": {}}])
def test_damaged_state_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(UntrustedFileError, match="state of a"):
        ShadowState.from_dict({**ShadowTest().start().to_dict(), **change})
