"""What a run leaves behind, and what is made later of what it lacks."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.core.errors import InputError, StorageWarning
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.runs import directory, tables
from neuro_divergent.runs.status import write_status
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.workflow import results
from neuro_divergent.workflow.results import as_json, complete_results
from tests.unit.reporting.report.runs import train_run

EVERYTHING = {
    "model", "config", "environment", "history", "scores", "backtest", "forecasts", "context", "calibration",
    "network", "diagnosis", "plots", "report",
}  # fmt: skip
MADE_LATER = (
    "scores.json", "backtest.parquet", "forecasts.csv", "context.parquet", "calibration.json", "network.json",
    "diagnosis.json", "data.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return Synthetic(num_series=3, length=120).frame()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, frame: pl.DataFrame) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("runs") / "a"
    return path, train_run(path, frame)


@pytest.fixture
def run(trained: tuple[Path, dict[str, str]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained[0], tmp_path / "run"))


def test_a_run_leaves_every_file_behind(trained: tuple[Path, dict[str, str]], frame: pl.DataFrame) -> None:
    path, files = trained
    assert set(files) == EVERYTHING
    assert all(Path(file).exists() for file in files.values())
    assert (path / "data.json").is_file()
    for name in ("scores", "calibration", "network", "diagnosis", "environment"):
        assert isinstance(json.loads(Path(files[name]).read_text("utf-8")), dict)
    context = pl.read_parquet(files["context"])
    assert context.columns == ["unique_id", "ds", "y"]
    assert context.height == 3 * 100
    joined = context.join(frame, on=["unique_id", "ds"], how="left", suffix="-given")
    assert joined["y"].to_numpy() == pytest.approx(joined["y-given"].to_numpy(), rel=1e-6)
    plots = {file.name for file in Path(files["plots"]).iterdir()}
    assert {"loss.svg", "scores.svg", "residuals.svg", "calibration.svg", "architecture.svg"} < plots
    assert all(b"<script" not in file.read_bytes() for file in Path(files["plots"]).glob("*.svg"))
    ahead = pl.read_csv(files["forecasts"], try_parse_dates=True)
    assert ahead["ds"].min() > context["ds"].max()  # type: ignore[operator]


def test_every_file_key_and_column_of_a_run_is_on_the_page_of_the_run_directory(
    trained: tuple[Path, dict[str, str]], frame: pl.DataFrame
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "run-directory.md").read_text("utf-8")
    named = set(re.findall(r"`([^`\s]+?)/?`", page))
    path, _ = trained
    places = [item.relative_to(path) for item in path.rglob("*")]
    names = {item.stem if item.suffix == ".svg" else item.name for item in places}
    names |= {value for module in (directory, tables) for key, value in vars(module).items() if _is_name(key, value)}
    names = {re.sub(r"(tensor)-[0-9a-f]{64}", r"\1-<sha256>", name) for name in names}
    known = {word for name in named for word in Path(name).parts}
    assert {name for name in names if not re.fullmatch(r"step-\d+", name)} - known == set()
    for file in path.glob("*.json"):
        assert set(json.loads(file.read_text("utf-8"))) - named == set(), file.name
    columns = {*pl.read_parquet(path / "history.parquet").columns, *pl.read_parquet(path / "backtest.parquet").columns}
    assert {name for name in columns if not re.match(r"lo-|hi-", name)} - named - {*frame.columns, *NAMES} == set()


def _is_name(constant: str, value: object) -> bool:
    """Whether a constant of a module is the name of a file or directory of a run."""
    return constant.isupper() and constant[0] != "_" and isinstance(value, str) and constant not in ("DEFAULT_ID",)


def test_training_wrote_the_environment_and_nobody_writes_over_it(trained: tuple[Path, dict[str, str]]) -> None:
    environment = json.loads(Path(trained[1]["environment"]).read_text("utf-8"))
    assert "command" in environment  # which the forecaster itself does not know


def test_a_failure_of_what_is_optional_is_told_and_loses_nothing(
    tmp_path: Path, frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InputError("no windows here.")

    monkeypatch.setattr(results, "analyse_network", fail)
    with pytest.warns(StorageWarning, match=r"network\.json: not written: no windows here\."):
        files = train_run(tmp_path / "a", frame)
    assert set(files) == EVERYTHING - {"network"}
    assert not (tmp_path / "a/network.json").exists()
    assert Forecaster.load(files["model"]).predict().height == 3 * 4


def test_nothing_held_out_leaves_no_scores_and_says_why(tmp_path: Path, frame: pl.DataFrame) -> None:
    files = train_run(tmp_path / "a", frame, task={"validation": 0, "test": 0})
    assert not {"backtest", "calibration"} & set(files)
    notes = json.loads(Path(files["scores"]).read_text("utf-8"))["notes"]
    assert any("Nothing was held out" in note for note in notes)


def test_a_finished_run_lacks_nothing(run: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in run.rglob("*")}
    assert complete_results(run) == []
    assert {file: file.stat().st_mtime_ns for file in run.rglob("*")} == before


def test_what_is_missing_is_made_again_as_it_was(run: Path) -> None:
    wanted = {name: (run / name).read_bytes() for name in MADE_LATER}
    for name in MADE_LATER:
        (run / name).unlink()
    assert complete_results(run) == []
    for name in MADE_LATER:
        assert (run / name).is_file(), name
    for name in ("forecasts.csv", "backtest.parquet"):
        read = pl.read_csv if name.endswith("csv") else pl.read_parquet
        (run / "before").write_bytes(wanted[name])
        made, before = read(run / name), read(run / "before")
        assert made.columns == before.columns
        assert made["forecast"].to_numpy() == pytest.approx(before["forecast"].to_numpy(), rel=1e-5)
    scores, before = json.loads((run / "scores.json").read_bytes()), json.loads(wanted["scores.json"])
    assert scores["part"] == before["part"] == "test"
    assert scores["scores"][0]["mae"] == pytest.approx(before["scores"][0]["mae"], rel=1e-5)
    assert (run / "context.parquet").read_bytes() == wanted["context.parquet"]


@pytest.mark.parametrize("source", ["file", "memory"])
def test_a_run_from_python_has_every_file_of_a_run_from_the_command_line(
    tmp_path: Path, frame: pl.DataFrame, source: str
) -> None:
    frame.write_csv(tmp_path / "data.csv")
    training = TrainingConfig(max_steps=5, threads=1)
    forecaster = Forecaster("nlinear", horizon=4, input_size=12, test=8, training=training)
    forecaster.fit(tmp_path / "data.csv" if source == "file" else frame, run=tmp_path / "a")
    assert {path.stem for path in (tmp_path / "a").iterdir()} >= EVERYTHING
    assert complete_results(tmp_path / "a") == []
    assert json.loads((tmp_path / "a/scores.json").read_bytes())["part"] == "test"


def test_a_run_on_a_table_in_memory_without_its_scores_says_what_it_cannot_have(
    tmp_path: Path, frame: pl.DataFrame
) -> None:
    training = TrainingConfig(max_steps=5, threads=1)
    Forecaster("nlinear", horizon=4, input_size=12, training=training).fit(frame, run=tmp_path / "a")
    (tmp_path / "a/scores.json").unlink()
    (note,) = complete_results(tmp_path / "a")
    assert "scores.json" in note
    assert "table in memory" in note


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_data_that_are_gone_or_changed_are_not_scored(
    trained: tuple[Path, dict[str, str]], run: Path, how: str
) -> None:
    data = trained[0].with_name("a.csv")
    kept = data.read_bytes()
    (run / "scores.json").unlink()
    try:
        if how == "gone":
            data.unlink()
        else:
            pl.read_csv(data).with_columns(pl.col("y") + 1).write_csv(data)
        (note,) = complete_results(run)
    finally:
        data.write_bytes(kept)
    assert "scores.json" in note
    assert ("not found" if how == "gone" else "the data have changed") in note
    assert not (run / "scores.json").exists()


def test_a_damaged_model_makes_nothing(run: Path) -> None:
    (run / "scores.json").unlink()
    weights = run / "model/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    (note,) = complete_results(run)
    assert "model.safetensors" in note
    assert not (run / "scores.json").exists()


def test_a_run_that_did_not_end_is_left_alone(run: Path) -> None:
    (run / "scores.json").unlink()
    write_status(run, "diverged", message="the loss is NaN")
    assert complete_results(run) == []
    assert not (run / "scores.json").exists()


def test_numbers_that_json_has_not_are_null() -> None:
    content = {"a": [float("nan"), 1.5], "b": {"c": float("inf")}, "d": "é"}
    assert json.loads(as_json(content)) == {"a": [None, 1.5], "b": {"c": None}, "d": "é"}
