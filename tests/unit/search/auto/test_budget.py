"""Time budgets: how they are written, and what the next candidate will cost."""

from __future__ import annotations

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.search.auto.budget import Budget, Ledger, parse_budget


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1h", 3600), ("1.5h", 5400), ("2d", 172800), ("45", 45), (30, 30), (0.5, 0.5)],
)
def test_a_budget_is_read_as_seconds(text: str | float, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "ten", "10x", "-5s", "0", 0, -1.0, float("inf"), float("nan"), True])
def test_a_budget_that_is_no_time_is_refused_with_examples(text: str | float) -> None:
    with pytest.raises(InputError, match="write 90s, 10m, 1h"):
        parse_budget(text)


def test_a_budget_counts_down_from_what_was_spent_before() -> None:
    now = [100.0]
    budget = Budget(60, spent=10, clock=lambda: now[0])
    now[0] += 20
    assert (budget.spent, budget.left) == (30, 30)
    now[0] += 100
    assert budget.left == 0


def test_the_next_cost_is_what_was_measured_times_the_work_and_what_every_task_takes() -> None:
    ledger = Ledger(guesses={"nhits": 1.0})
    assert ledger.predict("nhits", 10) == 10
    ledger.add("nhits", wall=9.0, processor=3.0, work=100, measured=2.0, is_cold=True)
    assert ledger.predict("nhits", 1000) == pytest.approx(20)  # imports of the first task are not spent again
    ledger.add("nhits", wall=5.0, processor=4.0, work=100, measured=4.0)
    assert ledger.predict("nhits", 1000) == pytest.approx(1 + 1000 * 6 / 200)
    assert ledger.of("nhits").wall == 14
    assert ledger.predict("unknown", 5) == 0
