import json

import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Figure, Rule
from neuro_divergent.reporting.run_figures import FIGURES, available, figure_of, figures_of
from neuro_divergent.runs.tables import RunTables

from .run_files import write_run

NAMES = {
    "loss", "rate", "gradient", "speed", "residuals", "residual-histogram", "residual-autocorrelation", "error-by-step",
    "calibration", "pit", "ranking", "scores", "gradient-flow", "update-ratio", "weights", "architecture",
    "processes",
}  # fmt: skip


def test_the_names_and_groups_are_those_that_pages_ask_for():
    assert set(FIGURES) == NAMES
    assert {group for group, _ in FIGURES.values()} == {"training", "processes", "evaluation", "diagnostics", "model"}


def test_finished_run_has_every_figure_with_title_and_alt_text(tmp_path):
    tables = RunTables(write_run(tmp_path / "run"))
    found = {name: (group, figure) for name, group, figure in figures_of(tables)}
    assert set(found) == NAMES
    assert available(tables) == [(name, group, figure.title) for name, (group, figure) in found.items()]
    for group, figure in found.values():
        assert isinstance(figure, Figure)
        assert group
        assert figure.title
        assert figure.alt_text.endswith(".")
        assert figure.marks
        assert "nan" not in figure.alt_text


def test_the_clip_of_the_run_is_drawn(tmp_path):
    tables = RunTables(write_run(tmp_path / "run"))
    assert Rule(y=1.0, label="clipped at 1") in figure_of(tables, "gradient").marks


def test_coverage_among_the_scores_stands_in_for_a_missing_calibration(tmp_path):
    run = write_run(tmp_path / "run")
    expected = figure_of(RunTables(run), "calibration").alt_text
    (run / "calibration.json").unlink()
    assert figure_of(RunTables(run), "calibration").alt_text == expected
    with pytest.raises(InputError, match="calibration"):
        figure_of(RunTables(run), "pit")


def test_an_empty_directory_has_none(tmp_path):
    assert available(RunTables(tmp_path)) == []
    for name in FIGURES:
        with pytest.raises(InputError):
            figure_of(RunTables(tmp_path), name)


def test_an_unknown_name_is_an_error(tmp_path):
    with pytest.raises(InputError, match="'los' is not known"):
        figure_of(RunTables(tmp_path), "los")


STRANGE = (None, 1, "text", [1, "a", None], {"a": 1}, [{"a": 1}], [[1]], {"edges": "ab", "shares": [1]})


@pytest.mark.parametrize("value", STRANGE, ids=[str(place) for place in range(len(STRANGE))])
def test_documents_that_hold_something_else_break_nothing(tmp_path, value):
    run = write_run(tmp_path / "run")
    for name, keys in {
        "scores": ("model", "part", "scores", "coverage"),
        "calibration": ("levels", "pit", "part"),
        "network": ("parameters", "blocks", "weights"),
    }.items():
        document = json.loads((run / f"{name}.json").read_text("utf-8"))
        for key in keys:
            (run / f"{name}.json").write_text(json.dumps({**document, key: value}), "utf-8")
            available(RunTables(run))
        (run / f"{name}.json").write_text(json.dumps(document), "utf-8")


def test_tables_that_hold_something_else_break_nothing(tmp_path):
    run = write_run(tmp_path / "run")
    backtest = pl.read_parquet(run / "backtest.parquet")
    for column in backtest.columns:
        for other in (pl.lit("text"), pl.lit(None), pl.lit([1, 2]), pl.lit(float("nan"))):
            backtest.with_columns(other.alias(column)).write_parquet(run / "backtest.parquet")
            available(RunTables(run))
        backtest.drop(column).write_parquet(run / "backtest.parquet")
        available(RunTables(run))
