"""Evidence from run directories, whole and damaged, and from forecasters."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import NotFittedError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.profile import describe_data
from neuro_divergent.diagnostics.doctor import examine
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.evaluation.evaluate import evaluate

FRAME = Synthetic(num_series=3, length=150, seasonalities=(7,), noise=2.0).frame()
FILES = (
    "config.toml", "run.json", "status.json", "history.parquet", "events.jsonl", "scores.json", "backtest.parquet",
    "data.json", "network.json", "calibration.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def forecaster_and_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[nd.Forecaster, Path]:
    run = tmp_path_factory.mktemp("runs") / "run"
    forecaster = nd.Forecaster(
        nd.MLP(hidden_size=16), training=nd.TrainingConfig(max_steps=40, threads=1), horizon=7, input_size=14, test=0.2
    )
    forecaster.fit(FRAME, run=run)
    evaluation = evaluate(forecaster)
    (run / "scores.json").write_text(json.dumps(evaluation.to_dict()))
    evaluation.forecasts.write_parquet(run / "backtest.parquet")
    assert forecaster.panel is not None
    (run / "data.json").write_text(json.dumps(describe_data(forecaster.panel)))
    network = Evidence.of(forecaster).network
    (run / "network.json").write_text(json.dumps(network))
    (run / "calibration.json").write_text("{}")
    return forecaster, run


def test_evidence_of_a_run_equals_that_of_its_forecaster(forecaster_and_run: tuple[nd.Forecaster, Path]) -> None:
    forecaster, run = forecaster_and_run
    told, known = Evidence.of_run(run), Evidence.of(forecaster)
    assert told.history is not None
    assert told.history.equals(known.history)
    assert told.layers is not None
    assert told.layers.equals(known.layers)
    assert told.backtest is not None
    assert known.backtest is not None
    assert told.backtest.equals(known.backtest)
    assert told.scores == known.scores
    assert told.state == "finished"
    assert (told.id, told.time, told.horizon, told.season_length) == ("unique_id", "ds", 7, 7)
    assert not told.unread
    for name in ("training.optimizer.lr", "task.horizon", "model.hidden_size", "data.target", "training.clip.limit"):
        assert told.setting(name) == known.setting(name) is not None
    assert told.setting("training.no.such") is None
    assert told.component("task.scaler") == "standard"


def test_both_lead_to_the_same_findings_where_they_know_the_same(
    forecaster_and_run: tuple[nd.Forecaster, Path],
) -> None:
    forecaster, run = forecaster_and_run
    told, known = examine(Evidence.of_run(run)), examine(Evidence.of(forecaster))
    assert told.findings == known.findings


def test_evidence_of_a_loaded_forecaster_has_no_data(forecaster_and_run: tuple[nd.Forecaster, Path]) -> None:
    _, run = forecaster_and_run
    evidence = Evidence.of(nd.Forecaster.load(run / "model"))
    assert evidence.history is not None
    assert evidence.scores is evidence.data is evidence.backtest is None
    assert {"bias", "leakage"} <= set(examine(evidence).not_checked)


def test_an_untrained_forecaster_is_refused() -> None:
    with pytest.raises(NotFittedError):
        Evidence.of(nd.Forecaster("nlinear", horizon=3))


def test_an_empty_directory_and_none_at_all_hold_no_evidence(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nothing"):
        evidence = Evidence.of_run(place)
        assert not any(evidence.has(part) for part in ("history", "layers", "backtest", "scores", "data", "config"))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "empty", "half", "noise", "link", "directory", "list"])
def test_a_damaged_file_is_no_error(
    forecaster_and_run: tuple[nd.Forecaster, Path], tmp_path: Path, name: str, damage: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(forecaster_and_run[1], run, ignore=shutil.ignore_patterns("model", "checkpoints"))
    path, content = run / name, (run / name).read_bytes()
    path.unlink()
    if damage == "link":
        path.symlink_to("/etc/hostname")
    elif damage == "directory":
        path.mkdir()
    elif damage != "missing":
        noise = random.Random(name).randbytes(200)
        path.write_bytes(
            {"empty": b"", "half": content[: len(content) // 2], "noise": noise, "list": b"[1, 2]"}[damage]
        )
    evidence = Evidence.of_run(run)
    diagnosis = examine(evidence)
    assert diagnosis.checked
    if damage not in ("missing", "half", "empty") and name in ("scores.json", "backtest.parquet", "data.json"):
        assert name in evidence.unread
        assert f"{name} cannot be read" in diagnosis.not_checked.values()


def test_tables_with_other_columns_leave_rules_out(
    forecaster_and_run: tuple[nd.Forecaster, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(forecaster_and_run[1], run, ignore=shutil.ignore_patterns("model", "checkpoints"))
    pl.DataFrame({"step": ["a"], "cutoff": [1], "ds": [1], "actual": ["x"], "forecast": [2]}).write_parquet(
        run / "backtest.parquet"
    )
    assert "not usable" in examine(Evidence.of_run(run)).not_checked["bias"]
    pl.DataFrame({"a": [1]}).write_parquet(run / "backtest.parquet")
    assert "no column" in examine(Evidence.of_run(run)).not_checked["bias"]
