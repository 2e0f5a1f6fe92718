"""Branches of rules that no short training reaches, and what must not make them speak."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.diagnostics.doctor import examine
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule
from neuro_divergent.diagnostics.rules.errors import Errors, grouped_mean
from tests.unit.diagnostics.rules.cases import healthy, triggering

RANDOM = np.random.default_rng(0)


def check(name: str, evidence: Evidence) -> Finding | None:
    found: Finding | None = Rule.registry.get(name)().check(evidence)
    return found


def history(rows: int = 40, **columns: Any) -> Evidence:
    """A training of some rows, ten steps each."""
    steps = np.arange(1, rows + 1) * 10
    usual = {"train_loss": np.exp(-np.arange(rows) / 8) + 0.3, "learning_rate": np.full(rows, 1e-3)}
    settings = {"training": {"optimizer": {"name": "adamw", "lr": 1e-3}, "clip": {"name": "norm", "limit": 1.0}}}
    return Evidence(history=pl.DataFrame({"step": steps, **usual, **columns}), config=settings, state="finished")


def unclipped(evidence: Evidence) -> Evidence:
    return dataclasses.replace(evidence, config={"training": {"clip": "none", "optimizer": {"lr": 1e-3}}})


def backtest(windows: int, error: Any, *, series: int = 4, horizon: int = 7, **columns: Any) -> Evidence:
    """Forecasts one horizon apart; ``error(series, row)`` is what is added to the truth, rows counted over windows."""
    rows = []
    for name in range(series):
        for place in range(windows * horizon):
            window, step = divmod(place, horizon)
            rows.append((f"s{name}", place, window * horizon - 1, step + 1, 10.0, 10.0 + error(name, place)))
    frame = pl.DataFrame(rows, schema=["unique_id", "ds", "cutoff", "step", "actual", "forecast"], orient="row")
    scores = {"season_length": 7, "note": "Test part", "part": "test", "windows": windows * series}
    return Evidence(
        backtest=frame.with_columns(**columns), id="unique_id", scores=scores, config={"task": {"horizon": horizon}}
    )


class TestGradients:
    def test_growth_without_clipping_is_a_warning(self) -> None:
        found = check("exploding_gradients", unclipped(history(gradient_norm=np.geomspace(1, 1e6, 40))))
        assert found is not None
        assert found.severity == "warning"
        assert found.changes[0].setting == "training.clip"

    def test_spikes_are_a_warning_without_clipping_and_a_hint_with_it(self) -> None:
        norms = np.ones(40)
        norms[[10, 20, 30]] = 1e4
        for evidence, severity in (
            (history(gradient_norm=norms), "hint"),
            (unclipped(history(gradient_norm=norms)), "warning"),
        ):
            found = check("exploding_gradients", evidence)
            assert found is not None
            assert found.severity == severity

    def test_a_single_spike_is_an_accident(self) -> None:
        norms = np.ones(40)
        norms[20] = 1e4
        assert check("exploding_gradients", unclipped(history(gradient_norm=norms))) is None


class TestLoss:
    def test_going_back_is_told_although_training_came_to_its_end(self) -> None:
        found = check("not_finite", dataclasses.replace(history(), rollbacks=2))
        assert found is not None
        assert found.severity == "warning"
        assert "went back 2 times" in found.evidence

    def test_a_history_with_nan_is_a_problem(self) -> None:
        losses = np.ones(40)
        losses[-1] = math.nan
        found = check("not_finite", history(train_loss=losses))
        assert found is not None
        assert found.severity == "problem"

    def test_a_curriculum_may_raise_the_training_loss(self) -> None:
        evidence = history(train_loss=np.linspace(1, 3, 40))
        assert check("diverging", evidence) is not None
        eased = dataclasses.replace(evidence, config={"training": {"curriculum": {"name": "horizon"}}})
        with pytest.raises(NotEnoughError, match="curriculum"):
            check("diverging", eased)

    @pytest.mark.parametrize("level", [0.0, -3.0, 1000.0])
    def test_losses_of_any_level_are_judged_by_their_fall(self, level: float) -> None:
        """A likelihood may pass zero or lie far from it; a curve that settles is fine wherever it lies."""
        noise = 0.02 * RANDOM.standard_normal(60)
        curve = level + np.exp(-np.arange(60) / 8)
        evidence = history(60, train_loss=curve + noise, validation_loss=curve + 0.01)
        assert not examine(evidence).of("problem", "warning")

    def test_noise_alone_is_neither_a_rise_nor_a_rate(self) -> None:
        alarms = 0
        for rows in (12, 30, 100):
            for _ in range(200):
                noise = 1 + 0.1 * RANDOM.standard_normal(rows)
                alarms += len(examine(history(rows, train_loss=noise)).of("problem", "warning"))
        assert alarms == 0

    def test_a_rate_that_is_lowered_does_not_make_a_straight_fall_look_like_a_plateau(self) -> None:
        rates = 1e-5 * (1 + np.cos(np.linspace(0, np.pi, 40)))
        losses = 1 - 0.03 * np.cumsum(rates) / rates.sum()
        found = check("rate_too_low", history(train_loss=losses, learning_rate=rates))
        assert found is not None
        assert found.numbers["straightness"] == pytest.approx(1, abs=0.05)
        assert found.changes[0].value == pytest.approx(1e-2)


class TestErrors:
    def test_pairs_are_those_that_were_known(self) -> None:
        errors = Errors.of(backtest(3, lambda name, place: float(place), series=2))
        for lag in (1, 7, 10):
            earlier, later = errors.pairs(lag)
            assert (errors.error[later] - errors.error[earlier] == lag).all()
            assert (errors.series[later] == errors.series[earlier]).all()
            assert (errors.step[later] <= lag).all()
            known = sum(place - lag >= 0 and place % 7 + 1 <= lag for place in range(21))
            assert len(later) == 2 * known

    def test_a_gap_between_forecasts_separates_them(self) -> None:
        evidence = backtest(3, lambda name, place: 0.0, series=1)
        assert evidence.backtest is not None
        gone = evidence.backtest.filter(pl.col("cutoff") != 6)
        assert len(Errors.of(dataclasses.replace(evidence, backtest=gone)).pairs(7)[0]) == 0

    def test_values_that_were_not_observed_leave_the_others_in_their_places(self) -> None:
        evidence = backtest(3, lambda name, place: float(place), series=1)
        assert evidence.backtest is not None
        hidden = evidence.backtest.with_columns(actual=pl.when(pl.col("ds") == 3).then(None).otherwise("actual"))
        earlier, later = Errors.of(dataclasses.replace(evidence, backtest=hidden)).pairs(7)
        assert len(later) == 14 - 1
        assert len(earlier) == len(later)

    def test_the_standard_error_is_that_of_group_means(self) -> None:
        values = np.repeat(RANDOM.standard_normal(400), 25)  # all alike within a group
        estimate = grouped_mean(values, np.repeat(np.arange(400), 25))
        assert estimate.error == pytest.approx(values[::25].std(ddof=1) / math.sqrt(400))

    def test_errors_without_a_pattern_are_no_finding(self) -> None:
        """Forty times: independent noise, and random walks, whose errors grow within each forecast."""
        alarms = 0
        for number in range(40):
            random = np.random.default_rng(number)
            noise = random.standard_normal((4, 140))
            walks = noise.reshape(4, 20, 7).cumsum(-1).reshape(4, 140)
            for errors in (noise, walks):
                evidence = backtest(20, lambda name, place, errors=errors: errors[name, place])
                alarms += sum(
                    check(name, evidence) is not None for name in ("bias", "missed_season", "residual_autocorrelation")
                )
        assert alarms == 0

    def test_a_season_in_the_errors_is_found(self) -> None:
        wave = np.sin(2 * np.pi * np.arange(140) / 7)
        noise = RANDOM.standard_normal((4, 140))
        found = check("missed_season", backtest(20, lambda name, place: wave[place] + 0.5 * noise[name, place]))
        assert found is not None
        assert found.numbers["correlation"] == pytest.approx(0.5 / 0.75, abs=0.1)


class TestCalibration:
    def evidence(self, half_width: float, number: int = 0) -> Evidence:
        noise = np.random.default_rng(number).standard_normal((4, 140))
        bounds = {"lo-80": pl.col("forecast") - half_width, "hi-80": pl.col("forecast") + half_width}
        return backtest(20, lambda name, place: noise[name, place], **bounds)

    def test_intervals_of_the_right_width_are_no_finding(self) -> None:
        assert not any(check("calibration", self.evidence(1.2816, number)) for number in range(100))

    @pytest.mark.parametrize(("half_width", "word"), [(0.6, "narrow"), (3.0, "wide")])
    def test_others_are(self, half_width: float, word: str) -> None:
        found = check("calibration", self.evidence(half_width))
        assert found is not None
        assert f"too {word}" in found.evidence

    def test_widths_measured_on_the_same_values_are_not_judged(self) -> None:
        evidence = self.evidence(0.6)
        note = {"note": "Validation part: it set the width of the intervals, whose coverage is right by construction."}
        with pytest.raises(NotEnoughError, match="test part"):
            check("calibration", dataclasses.replace(evidence, scores={**(evidence.scores or {}), **note}))


class TestLeakage:
    def evidence(self, role: str, lead: int, horizon: int = 7) -> Evidence:
        row = {
            "name": "x", "role": role, "kind": "number", "constant": False, "correlation": 1.0 if lead == 0 else 0.3,
            "difference_correlation": 1.0 if lead == 0 else 0.2, "lead_correlation": 1.0, "lead": lead,
            "equal_share": 0.99, "equal_lead": lead,
        }  # fmt: skip
        return Evidence(data={"covariates": [row]}, config={"task": {"horizon": horizon}, "data": {role: ["x", "z"]}})

    @pytest.mark.parametrize(
        ("role", "lead", "leaks"),
        [
            ("future", 0, True), ("future", 3, True), ("future", -3, True), ("future", -6, True), ("future", -7, False),
            ("past", 2, True), ("past", 0, False), ("past", -1, False),
        ],
    )  # fmt: skip
    def test_what_may_be_known_depends_on_role_and_horizon(self, role: str, lead: int, leaks: bool) -> None:
        found = check("leakage", self.evidence(role, lead))
        assert (found is not None) is leaks
        if found is not None:
            assert found.severity == "problem"
            assert str(found.changes[0]) == f'data.{role}=["z"]'

    def test_a_score_too_good_is_suspicious_only_with_covariates(self) -> None:
        scores = {"scores": [{"name": "nhits", "mase": 0.01}]}
        evidence = self.evidence("past", -1)
        found = check("leakage", dataclasses.replace(evidence, scores=scores))
        assert found is not None
        assert found.severity == "warning"
        assert check("leakage", Evidence(data={"covariates": []}, scores=scores)) is None


def test_symptoms_point_to_their_cause_and_leave_the_changes_to_it() -> None:
    diagnosis = examine(triggering("rate_too_low"))
    found = {finding.rule: finding for finding in diagnosis.findings}
    assert found["rate_too_low"].changes
    assert not found["worse_than_naive"].changes
    assert found["worse_than_naive"].evidence.endswith("First of all, the learning rate is too low.")
    assert {change.setting for change in diagnosis.changes} == {"training.optimizer.lr"}


def test_a_running_training_is_told_what_is_still_to_come() -> None:
    diagnosis = examine(dataclasses.replace(history(), state="running"))
    assert diagnosis.not_checked["worse_than_naive"].endswith("yet")
    assert diagnosis.not_checked["rate_too_low"] == "training still goes on"


def scored(own: float, own_mase: float) -> Evidence:
    """Return the scores of a model whose baselines have a mean absolute error and a MASE of 3."""
    scores = healthy().scores or {}
    rows = [
        {**row, "mae": own if row["name"] == "nhits" else 3.0, "mase": own_mase if row["name"] == "nhits" else 3.0}
        for row in scores["scores"]
    ]
    return Evidence(scores={**scores, "scores": rows})


def test_a_model_about_as_good_as_the_baseline_gets_a_hint_at_most() -> None:
    found = check("worse_than_naive", scored(3.05, 3.05))
    assert found is not None
    assert found.severity == "hint"


def test_a_model_that_large_series_alone_make_worse_than_the_baseline_is_not_reported() -> None:
    assert check("worse_than_naive", scored(6.0, 2.0)) is None
    assert check("worse_than_naive", scored(6.0, 3.5)) is not None
