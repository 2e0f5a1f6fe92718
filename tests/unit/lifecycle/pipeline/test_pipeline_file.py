"""Pipelines in TOML files."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline
from tests.unit.lifecycle.pipeline.tables import daily

FILE = """
on_error = "continue"
[data]
path = "data/sales.csv"
[[stages]]
stage = "data_validation"
name = "check"
ranges = { y = [0, "none"] }
[[stages]]
function = "my_stages_of_toml:scale"
inputs = { table = "check.table" }
on_error = { retry = 2, backoff = 0.1, then = "continue" }
factor = 3.0
[[stages]]
function = "my_stages_of_toml:count"
outputs = ["rows"]
cache = false
"""
MODULE = """
def scale(table, factor):
    import my_helpers_of_toml
    return my_helpers_of_toml.times(table, factor)

def count(table):
    return table.height
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    daily().write_csv(tmp_path / "data" / "sales.csv")
    (tmp_path / "my_stages_of_toml.py").write_text(MODULE)
    (tmp_path / "my_helpers_of_toml.py").write_text(
        "def times(table, factor):\n    return table.with_columns(table['y'] * factor)\n"
    )
    (tmp_path / "pipeline.toml").write_text(FILE)
    return tmp_path


def test_file_is_run_with_paths_and_modules_next_to_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    pipeline = Pipeline.from_toml(project / "pipeline.toml")
    assert pipeline.directory.path == project / "pipeline-pipeline"
    result = pipeline.run()
    assert result["count.rows"] == 120
    assert result["scale.table"]["y"][0] == pytest.approx(3 * daily()["y"][0])
    assert pipeline.steps[1].on_error is not None
    assert pipeline.steps[1].on_error.retry == 2
    assert not pipeline.steps[2].cache
    again = Pipeline.from_toml(project / "pipeline.toml", directory=project / "other")
    assert again.run().states == {"check": "done", "scale": "done", "count": "done"}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            'stage = "data_validation"',
            'stage = "data_validaton"',
            "Unknown stage 'data_validaton'. Did you mean 'data_validation'",
        ),
        ("ranges =", "rangse =", "stage 'check': data_validation: unknown setting 'rangse'. Did you mean 'ranges'"),
        ("check.table", "chekc.table", "there is no stage or source 'chekc'. Did you mean 'check'"),
        (":scale", ":scael", "my_stages_of_toml has no 'scael'. Did you mean 'scale'"),
        ("my_stages_of_toml:scale", "absent_module_xyz:scale", "there is no module 'absent_module_xyz'"),
        ("my_stages_of_toml:scale", "my stages:scale", "is not written as package.module:name"),
        ("factor = 3.0", "factro = 3.0", "there is no parameter 'factro'. Did you mean 'factor'"),
        ('on_error = "continue"', 'on_eror = "continue"', "unknown setting 'on_eror'. Did you mean 'on_error'"),
        ('on_error = "continue"', 'on_error = "maybe"', "must be 'stop', 'continue'"),
        ("[data]", "[dta]", "unknown setting 'dta'. Did you mean 'data'"),
        ('path = "data/sales.csv"', 'pth = "data/sales.csv"', "unknown setting 'pth'. Did you mean 'path'"),
        ('stage = "data_validation"', 'stage = "training"\nfunction = "a:b"', "one of them"),
        ('function = "my_stages_of_toml:count"', 'name = "x"', "stage 'x': write stage ="),
        ("[[stages]]", "[[stage]]", "unknown setting 'stage'. Did you mean 'stages'"),
    ],
)
def test_mistake_in_a_file_is_said_with_the_closest_name(before: str, after: str, words: str, project: Path) -> None:
    (project / "pipeline.toml").write_text(FILE.replace(before, after))
    with pytest.raises(ConfigError, match=words):
        Pipeline.from_toml(project / "pipeline.toml")


def test_file_without_stages_or_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(ConfigError, match="stages"):
        Pipeline.from_toml(tmp_path / "empty.toml")
    (tmp_path / "none.toml").write_text("stages = []")
    with pytest.raises(ConfigError, match="at least one stage"):
        Pipeline.from_toml(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="not found"):
        Pipeline.from_toml(tmp_path / "absent.toml")


def test_module_that_does_not_load_is_said(project: Path) -> None:
    (project / "broken_module_of_toml.py").write_text("import no_such_package_abc\n")
    (project / "pipeline.toml").write_text(FILE.replace("my_stages_of_toml:scale", "broken_module_of_toml:scale"))
    with pytest.raises(
        ConfigError, match="broken_module_of_toml cannot be imported: No module named 'no_such_package_abc'"
    ):
        Pipeline.from_toml(project / "pipeline.toml")
