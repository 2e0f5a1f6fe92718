"""The command line of scoring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.progress import Task
from neuro_divergent.interfaces.cli import progress
from neuro_divergent.interfaces.cli.exported_forecast import PredictOptions
from neuro_divergent.interfaces.cli.scoring import ScoringOptions, score_to_directory, writes_directory
from tests.unit.serving.scoring.scored_models import assert_same_forecasts, series_table
from tests.unit.serving.scoring.test_job import database


@pytest.fixture
def model(masking: nd.Forecaster, tmp_path: Path) -> Path:
    """A saved model."""
    masking.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Twelve files."""
    (tmp_path / "in").mkdir()
    for number, part in enumerate(series_table([9] * 12).iter_slices(9)):
        part.write_parquet(tmp_path / "in" / f"f{number:02d}.parquet")
    return str(tmp_path / "in" / "*.parquet")


@pytest.mark.parametrize(
    ("output", "data", "scoring", "expected"),
    [
        (None, "in/*.parquet", {}, False),
        ("out.csv", "in/*.parquet", {}, False),
        ("out.parquet", "sales.csv", {}, False),
        ("out", "sales.csv", {}, False),
        ("out/", "sales.csv", {}, True),
        ("out", "in/*.parquet", {"if_newer": True}, True),
        ("out", None, {"sql": "SELECT 1", "database": "sqlite://"}, True),
        ("out", "table", {"source_format": "delta"}, True),
        (".", "sales.csv", {"as_of": "2024-01-01"}, True),
    ],
)
def test_output_is_a_directory_by_its_name_or_the_source(
    output: str | None, data: str | None, scoring: dict[str, Any], expected: bool
) -> None:
    assert writes_directory(output, data, ScoringOptions(**scoring)) is expected


@pytest.mark.parametrize("scoring", [{"as_of": "2024-01-01"}, {"if_newer": True}, {"database": "sqlite://"}])
def test_option_of_scoring_without_a_directory_is_refused(scoring: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"needs a directory"):
        writes_directory("out.csv", "sales.csv", ScoringOptions(**scoring))


class LinesAlways(progress.LinesNowAndThen):
    """Writes every line, and not only one from time to time."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, seconds=0)

    def update(self, tasks: tuple[Task, ...]) -> None:
        """Write a line as the first one of a task is, for which nothing has to be waited."""
        self.close(tasks[0], None)
        super().update(tasks)


def test_score_files_shows_lines_of_progress_and_what_was_written(
    masking: nd.Forecaster,
    model: Path,
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "LinesNowAndThen", LinesAlways)
    score_to_directory(model, PredictOptions(source), ScoringOptions(), str(tmp_path / "out"))
    written = capsys.readouterr()
    assert "12 series, 36 rows in 12 files written to" in written.out
    assert "12/12 parts, 0 s left" in written.err
    assert_same_forecasts(tmp_path / "out", masking.predict(source))
    score_to_directory(model, PredictOptions(source), ScoringOptions(if_newer=True), str(tmp_path / "out"))
    assert "Nothing new: 12 series" in capsys.readouterr().out


def test_score_files_of_a_query_as_json_is_one_document(
    masking: nd.Forecaster, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = series_table([20, 30])
    scoring = ScoringOptions(sql="SELECT * FROM sales", database=database(tmp_path, table), as_of="2024-02-20")
    score_to_directory(model, PredictOptions(None, levels=(80,)), scoring, str(tmp_path / "out"), as_json=True)
    written = capsys.readouterr()
    document = json.loads(written.out)
    assert (document["series"], document["rows"], document["is_new"], written.err) == (2, 6, True, "")
    expected = masking.predict(table.filter(pl.col("day") <= pl.datetime(2024, 2, 20)), levels=[80])
    assert_same_forecasts(tmp_path / "out", expected)


@pytest.mark.parametrize(
    ("data", "scoring", "message"),
    [
        (None, {"sql": "SELECT 1"}, "go together"),
        ("a.csv", {"sql": "SELECT 1", "database": "sqlite://"}, "leave DATA out"),
        (None, {}, "as DATA"),
        ("a.csv", {"source_format": "excel"}, "Unknown format 'excel'"),
    ],
)
def test_score_files_with_options_that_do_not_go_together_says_so(
    data: str | None, scoring: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        score_to_directory(tmp_path, PredictOptions(data), ScoringOptions(**scoring), str(tmp_path / "out"))


def test_score_files_interrupted_says_how_to_resume(
    model: Path, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from neuro_divergent.serving.scoring import scorer

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scorer.ModelScorer, "forecast", interrupt)
    with pytest.raises(SystemExit) as ending:
        score_to_directory(model, PredictOptions(source), ScoringOptions(), str(tmp_path / "out"))
    assert ending.value.code == 130
    assert "run the same command again to resume" in capsys.readouterr().err
