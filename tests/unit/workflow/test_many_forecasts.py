"""Runs with more forecasts than are kept in memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.core.errors import StorageError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.reporting.report.run import render_run
from neuro_divergent.runs.table_parts import write_table_parts
from neuro_divergent.workflow import outcome
from neuro_divergent.workflow.results import complete_results
from tests.unit.reporting.report.runs import train_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the same run twice: with all forecasts in memory, and with those of two series."""
    place, frame = tmp_path_factory.mktemp("runs"), Synthetic(num_series=6, length=120).frame()
    train_run(place / "few", frame)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcome, "_MOST_ROWS", 10)
        patch.setattr(outcome, "_SHOWN", 2)
        train_run(place / "many", frame)
    return place / "few", place / "many"


def test_forecasts_of_many_series_are_written_as_parquet_instead_of_csv(runs: tuple[Path, Path]) -> None:
    few, many = runs
    assert not (few / "forecasts.parquet").exists()
    assert not (many / "forecasts.csv").exists()
    written = pl.read_parquet(many / "forecasts.parquet")
    expected = pl.read_csv(few / "forecasts.csv", schema_overrides={"unique_id": pl.String})
    assert written["unique_id"].equals(expected["unique_id"])
    for name in ("forecast", "lo-80", "hi-80"):
        assert written[name].to_list() == pytest.approx(expected[name].to_list(), rel=1e-4, abs=1e-5)


def test_report_of_many_series_shows_the_same_forecasts(runs: tuple[Path, Path], tmp_path: Path) -> None:
    few, many = (Path(shutil.copytree(run, tmp_path / run.name)) for run in runs)
    assert "in forecasts.parquet; there are too many" in render_run(many)
    pages = [render_run(run).count("Forecast of ") for run in (few, many)]
    assert pages[0] == pages[1] > 0
    for run in (few, many):
        (run / "backtest.parquet").unlink()  # now the first series are shown
    assert render_run(few).count("Forecast of ") == render_run(many).count("Forecast of ") > 0


def test_forecasts_of_many_series_do_not_count_as_missing(runs: tuple[Path, Path], tmp_path: Path) -> None:
    many = Path(shutil.copytree(runs[1], tmp_path / "run"))
    assert complete_results(many) == []


def test_tables_in_parts_are_one_file_that_is_complete_or_absent(tmp_path: Path) -> None:
    parts = [pl.DataFrame({"a": range(first, first + 3), "b": ["x", None, "z"]}) for first in (0, 3, 6)]
    assert write_table_parts(tmp_path / "t.parquet", iter(parts)) == 9
    assert pl.read_parquet(tmp_path / "t.parquet").equals(pl.concat(parts))

    def broken() -> Iterator[pl.DataFrame]:
        yield parts[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="No space left"):
        write_table_parts(tmp_path / "t.parquet", broken())
    assert pl.read_parquet(tmp_path / "t.parquet").height == 9
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_plot_of_many_series_reads_the_rows_of_one(runs: tuple[Path, Path]) -> None:
    from neuro_divergent.reporting.plots import plot_forecast

    name = pl.read_parquet(runs[1] / "forecasts.parquet")["unique_id"][-1]
    few, many = (plot_forecast(run, series=name) for run in runs)
    assert [trace.name for trace in few.data] == [trace.name for trace in many.data]
    assert plot_forecast(runs[1]).layout.title.text == plot_forecast(runs[0]).layout.title.text
