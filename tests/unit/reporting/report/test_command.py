"""``nd report``: what it writes, says and refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.core.errors import InputError, MissingDependencyError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.interfaces.cli.report import report
from neuro_divergent.runs.status import write_status
from neuro_divergent.training.config import TrainingConfig
from tests.unit.reporting.report.runs import Page, train_run


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return Synthetic(num_series=2, length=60).frame()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, frame: pl.DataFrame) -> Path:
    path = tmp_path_factory.mktemp("runs") / "a"
    train_run(path, frame)
    return path


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


def test_it_writes_the_page_into_the_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "report.html").unlink()
    report(run, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "run": str(run),
        "state": "finished",
        "notes": [],
        "files": {"report": str(run / "report.html")},
    }
    Page((run / "report.html").read_text("utf-8"))


def test_report_is_written_to_the_given_output(run: Path, tmp_path: Path) -> None:
    before = (run / "report.html").stat().st_mtime_ns
    report(run, output=tmp_path / "new" / "page.html")
    Page((tmp_path / "new/page.html").read_text("utf-8"))
    assert (run / "report.html").stat().st_mtime_ns == before


def test_it_says_that_a_run_is_not_finished(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(run / "model")
    write_status(run, "failed", message="the disk is full")
    report(run)
    assert "This run is not finished (failed)" in capsys.readouterr().out


def test_a_run_of_python_gets_scores_and_a_page(tmp_path: Path, frame: pl.DataFrame) -> None:
    frame.write_csv(tmp_path / "data.csv")
    forecaster = Forecaster("nlinear", horizon=4, input_size=12, training=TrainingConfig(max_steps=5, threads=1))
    forecaster.fit(tmp_path / "data.csv", run=tmp_path / "a")
    report(tmp_path / "a")
    assert "seasonal naive" in Page((tmp_path / "a/report.html").read_text("utf-8")).text


@pytest.mark.parametrize("name", ["page.txt", "page", "page.pdf"])
def test_other_endings_are_refused(run: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"to a \.html file"):
        report(run, output=tmp_path / name)
    assert not (tmp_path / name).exists()


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not found"):
        report(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not a run, study or federation"):
        report(tmp_path)


def test_without_a_browser_there_is_a_page_and_a_hint(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.reporting.browser.find_browser", lambda: None)
    (run / "report.html").unlink()
    with pytest.raises(MissingDependencyError, match="Open the page and print it"):
        report(run, pdf=True)
    assert (run / "report.html").is_file()


@pytest.mark.browser
def test_it_is_printed_by_a_browser(run: Path) -> None:
    report(run, pdf=True)
    assert (run / "report.pdf").read_bytes().startswith(b"%PDF-")
    assert (run / "report.pdf").stat().st_size > 20_000
