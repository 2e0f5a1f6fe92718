"""Findings as plain values and as words."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.diagnostics.finding import SEVERITIES, Change, Diagnosis, Finding, show_value
from neuro_divergent.forecasting.run_config import parse_value

RATE = Change("training.optimizer.lr", 1e-4, "Smaller steps do not overshoot.")
FINDING = Finding("rate_too_high", "The rate is too high", "warning", "It rose from 1 to 9.", {"peak": 9.0}, (RATE,))
DIAGNOSIS = Diagnosis((FINDING,), ("rate_too_high", "bias"), {"leakage": "the data were not described"})

plain_values = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(-1e5, 1e5).map(lambda value: float(f"{value:g}")),
              st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=5,
)  # fmt: skip


def test_diagnosis_round_trips_through_json_and_ignores_unknown_keys() -> None:
    document = json.loads(json.dumps(DIAGNOSIS.to_dict(), allow_nan=False))
    assert Diagnosis.from_dict(document) == DIAGNOSIS
    document["new"] = 1
    document["findings"][0]["new"] = {"a": 1}
    document["findings"][0]["changes"][0]["new"] = []
    assert Diagnosis.from_dict(document) == DIAGNOSIS


def test_numbers_that_are_not_finite_are_null_in_json() -> None:
    finding = Finding("a", "b", "hint", "c", {"x": math.nan, "y": math.inf})
    assert finding.to_dict()["numbers"] == {"x": None, "y": None}
    assert math.isnan(Finding.from_dict(finding.to_dict()).numbers["x"])


@pytest.mark.parametrize(
    "damage",
    [
        [], None, "text", {"findings": 3}, {"findings": [3]}, {"findings": [{}]}, {"checked": "no"},
        {"not_checked": []},
        {"findings": [{**FINDING.to_dict(), "severity": "fatal"}]},
        {"findings": [{**FINDING.to_dict(), "numbers": []}]},
        {"findings": [{**FINDING.to_dict(), "changes": {"a": 1}}]},
        {"findings": [{**FINDING.to_dict(), "changes": [{"value": 1}]}]},
    ],
    ids=range(12),
)  # fmt: skip
def test_values_that_are_not_a_diagnosis_are_refused(damage: Any) -> None:
    with pytest.raises(UntrustedFileError, match="diagnosis"):
        Diagnosis.from_dict(damage)


@given(plain_values)
def test_a_value_is_written_as_the_command_line_reads_it(value: Any) -> None:
    if isinstance(value, str):
        value = value.strip()  # which the command line does with what comes after "="
    assert parse_value(show_value(value)) == value


def test_the_worst_finding_decides_about_a_setting() -> None:
    problem = Finding(
        "a", "b", "problem", "1.", {}, (Change("training.optimizer.lr", 1e-5, "x."), Change("model", "mlp", "y."))
    )
    diagnosis = Diagnosis((problem, FINDING), ("a",))
    assert [str(change) for change in diagnosis.changes] == ["training.optimizer.lr=1e-05", "model=mlp"]


def test_changes_can_be_made_all_at_once() -> None:
    asked = [("model.hidden_size", 8), ("model", "nlinear"), ("training.clip", "norm"), ("training.clip.limit", 2.0)]
    diagnosis = Diagnosis((Finding("a", "b", "hint", "1.", {}, tuple(Change(*item, "x.") for item in asked)),), ("a",))
    assert [change.setting for change in diagnosis.changes] == ["model.hidden_size", "training.clip"]


def test_it_is_healthy_only_if_something_was_checked_and_nothing_is_serious() -> None:
    assert not Diagnosis().is_healthy
    assert Diagnosis((), ("a",)).is_healthy
    for severity in SEVERITIES:
        finding = Finding("a", "b", severity, "1.")
        assert Diagnosis((finding,), ("a",)).is_healthy is (severity == "hint")


def test_text_names_the_change_and_what_was_not_checked() -> None:
    text = str(DIAGNOSIS)
    assert text.splitlines()[0] == "1 warning found by 2 checks."
    assert "training.optimizer.lr=0.0001" in text
    assert "leakage (the data were not described)" in text
    assert str(Diagnosis()) == "Nothing could be checked."
