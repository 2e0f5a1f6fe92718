"""In what runs differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.runs.diff import (
    config_differences,
    diff_runs,
    flatten_config,
    read_config,
    read_scores,
)
from neuro_divergent.runs.status import describe_run
from tests.unit.runs.runs import make_run

said = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
plain = st.none() | said
configs = st.recursive(
    said | st.lists(said, max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
    max_leaves=8,
)
tables = st.dictionaries(st.sampled_from("abc"), configs, max_size=3)


def look_up(config: dict[str, Any], name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


@given(st.lists(tables, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_differences_are_those_that_looking_up_finds(given: list[dict[str, Any]]) -> None:
    found = config_differences({str(place): config for place, config in enumerate(given)})
    names = {name for config in given for name in flatten_config(config)}
    for item in found:
        expected = [look_up(config, item["setting"]) for config in given]
        assert item["values"] == [None if isinstance(value, dict) else value for value in expected]
    different = {item["setting"] for item in found}
    assert len(different) == len(found)
    for name in names - different:
        first = look_up(given[0], name)
        assert all(not isinstance(value, dict) and value == first for value in (look_up(c, name) for c in given))
    assert config_differences({"a": given[0], "b": given[0]}) == []


def test_settings_are_named_with_dots_in_the_order_of_the_runs() -> None:
    one = {"model": "nhits", "training": {"optimizer": {"lr": 0.001}, "shuffle": True, "seed": 1}}
    other = {
        "model": {"name": "nhits", "dropout": 0.1},
        "training": {"optimizer": {"lr": 0.01}, "shuffle": 1, "seed": 1.0},
    }
    assert config_differences({"one": one, "other": other}) == [
        {"setting": "training.optimizer.lr", "values": [0.001, 0.01]},
        {"setting": "training.shuffle", "values": [True, 1]},
        {"setting": "model.dropout", "values": [None, 0.1]},
    ]


def test_settings_come_from_the_file_for_people_or_else_from_the_other(tmp_path: Path) -> None:
    assert read_config(tmp_path) == {}
    (tmp_path / "run.json").write_text(json.dumps({"config": {"task": {"horizon": 3}}}))
    assert read_config(tmp_path) == {"task": {"horizon": 3}}
    (tmp_path / "config.toml").write_text("[task]\nhorizon = 4\nwhen = 2024-01-01\nmost = inf\n")
    assert read_config(tmp_path) == {"task": {"horizon": 4, "when": "2024-01-01", "most": "inf"}}
    json.dumps(read_config(tmp_path), allow_nan=False)


@pytest.mark.parametrize("content", [b"\xff", b"a =", b"a" + b".a" * 5000 + b" = 1", b"x" * 2_000_000, b"[" * 9999])
def test_damaged_settings_are_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(content)
    (tmp_path / "run.json").write_bytes(content)
    (tmp_path / "scores.json").write_bytes(content)
    assert read_config(tmp_path) == {}
    assert read_scores(tmp_path) == {}


KEYS = ["scores", "model", "part", "coverage", "level", "name", "data", "sha256", "config", "seconds"]


@given(
    st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS), inner), max_leaves=12)
)
@settings(max_examples=100, deadline=None)
def test_whatever_the_files_hold_reading_and_comparing_raises_nothing(content: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        run = Path(place)
        for name in ("run.json", "scores.json", "status.json"):
            (run / name).write_text(json.dumps(content))
        summary = describe_run(run)
        diff_runs([summary, summary])


def test_scores_are_those_of_the_model(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", mae=0.25)
    assert read_scores(run) == {
        "part": "test", "mae": 0.25, "bias": -0.25, "skill": 0.75, "coverage-80": 80.25, "seconds": 9.0,
        "parameters": 7,
    }  # fmt: skip


def best_of(*runs: Path) -> dict[str, list[int]]:
    comparison = diff_runs([describe_run(run) for run in runs])
    return {fact.name: fact.best for fact in comparison.facts if fact.best}


def test_compare_marks_the_best_of_each_number(tmp_path: Path) -> None:
    first = make_run(tmp_path / "a", mae=2.0, best=0.1)
    second = make_run(tmp_path / "b", mae=1.0, best=0.2)
    third = make_run(tmp_path / "c", mae=1.0, best=None)
    expected = {"mae": [1, 2], "bias": [1, 2], "skill": [1, 2], "coverage-80": [1, 2]}
    assert best_of(first, second, third) == expected  # the last has no metric, so those are not compared
    assert best_of(first, second) == {"mae": [1], "bias": [1], "skill": [1], "coverage-80": [1], "best": [0]}
    assert best_of(first, first) == {}


def test_metric_with_mode_max_is_best_where_it_is_highest(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, best=best, mode="max") for name, best in (("a", 0.1), ("b", 0.2))]
    assert best_of(*runs)["best"] == [1]


@pytest.mark.parametrize(
    ("change", "note"),
    [({"data": "bb"}, "different data"), ({"horizon": 7}, "numbers of steps"), ({"part": "x"}, "parts")],
)
def test_what_does_not_compare_has_no_best(tmp_path: Path, change: dict[str, Any], note: str) -> None:
    runs = [make_run(tmp_path / "a", mae=2.0), make_run(tmp_path / "b", mae=1.0, **change)]
    comparison = diff_runs([describe_run(run) for run in runs])
    assert len(comparison.notes) == 1
    assert note in comparison.notes[0]
    assert "mae" not in best_of(*runs)


def test_the_time_of_a_run_that_is_not_over_is_that_of_its_last_row(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "a"), make_run(tmp_path / "b", state="failed", mae=None, steps=5)]
    comparison = diff_runs([describe_run(run) for run in runs])
    assert [fact.values for fact in comparison.facts if fact.name == "seconds"] == [[9.0, 2.5]]
    assert [fact.best for fact in comparison.facts if fact.name == "seconds"] == [[]]
