"""The decision about a panel, by simulation and on awkward panels."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.lifecycle.drift.detection import detect_drift
from neuro_divergent.lifecycle.drift.errors import Errors
from neuro_divergent.lifecycle.drift.incident import Incident
from tests.unit.lifecycle.drift.panels import KINDS, errors_of, forecast_residuals, split

PANELS = 60


def verdicts(kind, *, level=0.0, noise=1.0, new=200, panels=PANELS):
    """Return how many of many panels alarm."""
    found = 0
    for seed in range(panels):
        values = forecast_residuals(kind, np.random.default_rng([seed, len(kind)]), length=400 + new)
        values[:, 400:] = noise * values[:, 400:] + level
        season = int(kind.split()[1]) if kind.startswith("season") else 24
        found += detect_drift(*split(values, season_length=season), false_discoveries=0.0).is_drift
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_healthy_panels_of_every_kind_hardly_alarm(kind):
    # At a rate of 0.03, more than 5 of 60 have a probability below 0.01; benchmarks/drift.py has 300 of each.
    assert verdicts(kind) <= 5
    assert verdicts(kind, new=12) <= 5


@pytest.mark.parametrize("kind", KINDS)
def test_noise_times_one_and_a_half_alarms_for_every_kind(kind):
    assert verdicts(kind, noise=1.5) >= 0.95 * PANELS


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "common shock"])
def test_a_shift_of_one_standard_deviation_alarms_unless_the_panel_moves_together(kind):
    assert verdicts(kind, level=1.0) >= 0.95 * PANELS


def test_a_shift_of_half_of_the_series_up_and_half_down_alarms_by_size():
    values = np.random.default_rng(0).standard_normal((40, 600))
    values[:20, 400:] += 1.0
    values[20:, 400:] -= 1.0
    result = detect_drift(*split(values))
    assert result.is_drift
    assert result.strongest.name == "size"


def test_counting_flagged_series_is_no_decision_about_the_panel():
    values = np.random.default_rng(1).standard_normal((400, 600))
    values[:6, 400:] += 3.0
    result = detect_drift(*split(values))
    assert not result.is_drift
    assert {named.id for named in result.series} >= {f"s{row:04d}" for row in range(6)}
    assert "stand out" in result.sentence


def test_named_series_have_reasons_sizes_and_a_time():
    values = np.random.default_rng(2).standard_normal((100, 600))
    values[7, 500:] += 4.0
    values[8, 500:] *= 5.0
    named = {one.id: one for one in detect_drift(*split(values)).series}
    assert "level" in named["s0007"].reasons
    assert named["s0007"].level == pytest.approx(2.0, abs=0.4)
    assert abs(named["s0007"].since - 500) <= 3
    assert "size" in named["s0008"].reasons
    assert named["s0008"].size > 2
    assert "s0007" in named["s0007"].sentence


def test_healthy_white_noise_names_few_series():
    named = [
        len(detect_drift(*split(np.random.default_rng(seed).standard_normal((100, 600)))).series) for seed in range(8)
    ]
    assert np.mean(np.array(named) > 0) <= 0.4
    assert sum(named) <= 6


def test_no_series_are_named_without_false_discoveries():
    values = np.random.default_rng(3).standard_normal((20, 600))
    values[:, 400:] += 2
    result = detect_drift(*split(values), false_discoveries=0.0)
    assert result.is_drift
    assert result.series == ()


def test_result_is_the_same_for_scales_that_differ_a_million_times():
    values = np.random.default_rng(4).standard_normal((30, 600))
    values[:, 500:] += 0.5
    scale = 10.0 ** np.linspace(-9, 9, 30)[:, None]
    one, other = detect_drift(*split(values)), detect_drift(*split(values * scale))
    assert one.p_value == pytest.approx(other.p_value, rel=1e-6)
    assert [named.id for named in one.series] == [named.id for named in other.series]


def test_result_is_the_same_for_any_order_of_the_series():
    values = np.random.default_rng(5).standard_normal((30, 600))
    old, new = split(values)
    other = detect_drift(old, new.rows(np.arange(29, -1, -1)))
    assert detect_drift(old, new).p_value == pytest.approx(other.p_value, rel=1e-9)


def test_a_constant_bias_of_the_model_is_no_drift():
    values = 50 + np.random.default_rng(6).standard_normal((30, 600))
    assert not detect_drift(*split(values)).is_drift


def test_errors_that_grow_with_the_step_are_no_drift_if_the_new_part_has_late_steps_only():
    rng = np.random.default_rng(7)
    steps = np.tile(np.arange(1, 13), 51)[None, :612].repeat(30, 0)
    values = rng.standard_normal((30, 612)) * np.sqrt(steps) + 0.2 * steps
    whole = Errors(
        ids=pl.Series([f"s{row}" for row in range(30)]),
        times=pl.Series(np.arange(612)),
        values=values,
        steps=steps,
        horizon=12,
    )
    late = (np.arange(612) >= 400) & (steps[0] > 8)
    result = detect_drift(whole.before(400), whole.columns(late))
    assert not result.is_drift
    unaware = dataclasses.replace(whole, steps=None)
    assert detect_drift(unaware.before(400), unaware.columns(late)).is_drift


def test_reference_shorter_than_the_longest_season_is_not_judged():
    values = np.random.default_rng(8).standard_normal((20, 350))
    values[:, 150:] += 5.0  # would be drift
    result = detect_drift(*split(values, reference=150, season_length=168))
    assert result.verdict == "not judged"
    assert not result.is_drift
    assert "150 times" in result.reason
    assert "168" in result.reason
    assert detect_drift(*split(values, reference=150, season_length=168), season_length=24).is_drift


@pytest.mark.parametrize(("reference", "new", "words"), [(20, 50, "20 times of the reference"), (100, 2, "2 new")])
def test_too_few_times_are_not_judged(reference, new, words):
    values = np.random.default_rng(9).standard_normal((20, reference + new))
    result = detect_drift(*split(values, reference=reference, season_length=1))
    assert result.verdict == "not judged"
    assert words in result.sentence


def test_three_new_times_can_be_judged():
    values = np.random.default_rng(10).standard_normal((50, 403))
    assert detect_drift(*split(values)).verdict == "no drift"
    values[:, 400:] += 1.5
    assert detect_drift(*split(values)).is_drift


def test_one_series_keeps_its_level_and_finds_a_shift():
    alarms = sum(
        detect_drift(*split(np.random.default_rng(seed).standard_normal((1, 600))), false_discoveries=0.0).is_drift
        for seed in range(150)
    )
    assert alarms <= 9
    values = np.random.default_rng(11).standard_normal((1, 600))
    values[:, 400:] += 1
    result = detect_drift(*split(values))
    assert result.is_drift
    assert result.series[0].id == "s0000"


def test_ragged_new_and_ended_series_are_judged_by_those_that_remain():
    rng = np.random.default_rng(12)
    values = rng.standard_normal((60, 600))
    values[:10, :390] = np.nan  # new: hardly any reference
    values[10:20, 380:] = np.nan  # ended
    values[20:30, :200] = np.nan  # begin late
    values[30:40][rng.random((10, 600)) < 0.4] = np.nan  # missing actual values
    values[40] = 0.0  # forecast exactly
    old, new = split(values)
    extra = errors_of(rng.standard_normal((5, 200)), start=400)
    extra = dataclasses.replace(extra, ids=pl.Series([f"new{row}" for row in range(5)]))
    new = dataclasses.replace(
        new, ids=pl.concat([new.ids, extra.ids.rename("id")]), values=np.concatenate([new.values, extra.values])
    )
    result = detect_drift(old, new)
    assert result.verdict == "no drift"
    assert result.num_series == 60 - 10 - 10 - 1
    assert result.left_out == {
        "new series": 5,
        "too few errors in the reference": 10,
        "errors that never vary in the reference": 1,
        "no new errors": 10,
    }


def test_intermittent_errors_hardly_alarm_and_find_a_change():
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        demand = rng.poisson(3, (40, 600)) * (rng.random((40, 600)) < 0.2)
        errors = demand - 0.6
        alarms += detect_drift(*split(errors), false_discoveries=0.0).is_drift
    assert alarms <= 3
    errors[:, 400:] *= 3.0
    assert detect_drift(*split(errors)).is_drift


def test_series_without_anything_in_common_are_not_judged():
    old, new = split(np.random.default_rng(13).standard_normal((3, 600)))
    result = detect_drift(old, dataclasses.replace(new, ids=pl.Series(["x", "y", "z"])))
    assert result.verdict == "not judged"
    assert "3 new series" in result.reason


def test_times_of_the_reference_do_not_count_as_new():
    values = np.random.default_rng(14).standard_normal((20, 600))
    old = errors_of(values[:, :400])
    assert len(detect_drift(old, errors_of(values)).new_times) == 200
    assert detect_drift(old, old).verdict == "not judged"


def test_incidents_of_many_series_are_never_drift():
    values = np.random.default_rng(15).standard_normal((20, 600))
    values[:, 400:] += 1000
    broken = Incident("unit", ("s0001", "s0002"), 20, 400, None, 1000.0)
    result = detect_drift(*split(values), incidents=[broken])
    assert result.verdict == "incident"
    assert not result.is_drift
    assert result.is_incident
    assert "1,000" in result.sentence
    assert result.to_dict()["incidents"][0]["kind"] == "unit"


def test_incidents_of_few_series_leave_these_out():
    values = np.random.default_rng(16).standard_normal((100, 600))
    values[3, 400:] *= 1e6
    broken = Incident("unit", ("s0003",), 100, 400, None, 1e6)
    result = detect_drift(*split(values), incidents=[broken])
    assert result.verdict == "no drift"
    assert result.num_series == 99
    assert result.left_out == {"broken feed": 1}
    assert "not to be trained on" in result.sentence


def test_alpha_of_zero_never_alarms():
    values = np.random.default_rng(17).standard_normal((20, 600))
    values[:, 400:] += 1
    result = detect_drift(*split(values), alpha=0.0)
    assert result.p_value > 0
    assert not result.is_drift


@pytest.mark.parametrize("value", [-0.1, 1.0, float("nan")])
def test_alpha_that_is_no_probability_is_refused(value):
    with pytest.raises(InputError, match="alpha"):
        detect_drift(*split(np.zeros((1, 600))), alpha=value)


def test_result_can_be_stored_as_strict_json_and_is_deterministic():
    values = np.random.default_rng(18).standard_normal((20, 600))
    values[:, 500:] += 1
    one, other = (detect_drift(*split(values)).to_dict() for _ in range(2))
    assert one == other
    stored = strict_json.loads(strict_json.dumps(one), "result")
    assert stored == one
    assert stored["is_drift"] is True
    assert stored["new"] == {"start": 400, "end": 599, "times": 200}
    assert abs(stored["since"] - 500) < 5


def test_ten_thousand_series_take_under_two_seconds_of_one_thread():
    values = np.random.default_rng(19).standard_normal((10_000, 600))
    old, new = split(values)
    detect_drift(*split(values[:10]))  # imports
    began = time.process_time()
    detect_drift(old, new)
    assert time.process_time() - began < 2.0
