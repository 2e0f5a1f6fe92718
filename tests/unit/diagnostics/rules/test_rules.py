"""Every rule speaks about the training it is for, is silent about a good one, and names settings that exist."""

from __future__ import annotations

import copy
import re

import polars as pl
import pytest

from neuro_divergent.diagnostics.doctor import examine
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import SEVERITIES, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule
from neuro_divergent.forecasting.run_config import RunConfig, override, parse_setting
from tests.unit.diagnostics.rules.cases import TRIGGERS, healthy, triggering

NAMES = Rule.registry.names()
every_rule = pytest.mark.parametrize("name", NAMES)
WITHOUT_SETTINGS = {"slow_input", "slow_disk", "unstable_speed", "straggler"}  # those whose case is a history alone

WITHOUT_CHANGES = {"straggler"}  # a machine is slow, which no setting changes


def rule(name: str) -> Rule:
    made: Rule = Rule.registry.get(name)()
    return made


def found(name: str) -> Finding:
    finding = rule(name).check(triggering(name))
    assert finding is not None
    return finding


def test_there_is_a_case_for_every_rule_and_a_rule_for_every_case() -> None:
    assert set(TRIGGERS) == set(NAMES)
    assert len(NAMES) >= 18


@every_rule
class TestRule:
    def test_speaks_about_the_training_it_is_for(self, name: str) -> None:
        assert found(name).rule == name

    def test_can_judge_the_healthy_training_and_is_silent(self, name: str) -> None:
        assert rule(name).missing(healthy()) is None
        assert rule(name).check(healthy()) is None

    def test_is_silent_about_nothing_and_says_why(self, name: str) -> None:
        made, nothing = rule(name), Evidence()
        reason = made.missing(nothing)
        if reason is None:
            with pytest.raises(NotEnoughError) as error:
                made.check(nothing)
            reason = str(error.value)
        assert len(reason) > 10

    def test_is_silent_about_empty_tables(self, name: str) -> None:
        empty = Evidence(
            history=pl.DataFrame(),
            layers=pl.DataFrame(),
            network={},
            backtest=pl.DataFrame(),
            scores={},
            data={},
            config={},
        )
        diagnosis = examine(empty)
        assert name in diagnosis.not_checked
        assert not diagnosis.findings

    def test_tells_numbers(self, name: str) -> None:
        finding = found(name)
        assert re.search(r"\d", finding.evidence)
        assert finding.numbers
        assert finding.severity in SEVERITIES
        assert finding.evidence.endswith(".") or name == "not_finite"  # which repeats what training said

    def test_has_a_docstring_of_its_own(self, name: str) -> None:
        assert type(rule(name)).__dict__.get("__doc__")

    def test_names_settings_that_exist_with_values_they_take(self, name: str) -> None:
        finding = found(name)
        if name in WITHOUT_CHANGES:
            assert not finding.changes
            return
        assert finding.changes
        evidence = triggering(name)
        for change in finding.changes:
            assert parse_setting(str(change)) == (change.setting, change.value)
            assert change.why.endswith(".")
            values = copy.deepcopy(dict(evidence.config or {}))
            if name in WITHOUT_SETTINGS:
                values = {"task": {"horizon": 7}, "training": values.get("training", {}), "data": {}}
            before = RunConfig.from_dict(values).resolve_model()
            override(values, change.setting, change.value)
            after = RunConfig.from_dict(values).resolve_model()
            assert after != before
