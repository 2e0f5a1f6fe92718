"""The doctor's front door, in Python and on the command line."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.diagnostics.doctor import diagnose
from neuro_divergent.diagnostics.finding import Diagnosis
from neuro_divergent.forecasting.run_config import RunConfig, override, parse_setting
from neuro_divergent.interfaces.cli.main import app


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose learning rate is far too low."""
    place = tmp_path_factory.mktemp("my runs") / "slow"
    frame = Synthetic(num_series=3, length=150, seasonalities=(7,)).frame()
    path = place.parent / "data.parquet"
    frame.write_parquet(path)
    training = nd.TrainingConfig(max_steps=200, threads=1, optimizer=nd.AdamW(lr=1e-8))
    nd.Forecaster(nd.MLP(hidden_size=16), training=training, horizon=7, input_size=14).fit(path, run=place)
    return place


def invoke(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["doctor", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_a_run_is_diagnosed_from_its_directory(run: Path) -> None:
    diagnosis = diagnose(run)
    assert {finding.rule for finding in diagnosis.of("problem", "warning")} == {
        "rate_too_low", "underfitting", "worse_than_naive"
    }  # fmt: skip
    rates = [change.value for change in diagnosis.changes if change.setting == "training.optimizer.lr"]
    assert rates
    assert rates[0] >= 1e-5
    assert set(diagnosis.checked) | set(diagnosis.not_checked) == set(nd_rules())
    assert diagnose(str(run)) == diagnosis


def nd_rules() -> list[str]:
    from neuro_divergent.diagnostics.rules.base import Rule

    return Rule.registry.names()


def test_a_forecaster_is_diagnosed_too() -> None:
    frame = Synthetic(num_series=3, length=150, seasonalities=(7,)).frame()
    forecaster = nd.Forecaster("nlinear", training=nd.TrainingConfig(max_steps=30, threads=1), horizon=7, input_size=14)
    diagnosis = diagnose(forecaster.fit(frame))
    assert {"bias", "worse_than_naive", "constant_series", "unscaled_data"} <= set(diagnosis.checked)


def test_a_run_is_diagnosed_without_torch(run: Path) -> None:
    script = (
        "import sys; from neuro_divergent.diagnostics.doctor import diagnose; "
        "print(diagnose(sys.argv[1]).summary, 'torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script, str(run)], capture_output=True, text=True, check=True)
    assert result.stdout.strip().endswith("False")


def test_a_path_that_is_not_a_run_is_refused_with_a_hint(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not found; give a run directory"):
        diagnose(tmp_path / "nothing")
    with pytest.raises(InputError, match="is not a run directory; 'nd runs' lists"):
        diagnose(tmp_path)
    with pytest.raises(InputError, match="is not a directory"):
        diagnose(run / "config.toml")
    with pytest.raises(InputError, match=r"is a saved model, .* pass its run directory. Its run may be .*slow"):
        diagnose(run / "model")


def test_command_prints_findings_evidence_and_a_working_command(run: Path) -> None:
    text = invoke(str(run))
    assert "warning: The learning rate is too low" in text
    assert "Not checked:" in text
    assert "calibration" in text.partition("Not checked:")[2]
    command = next(line for line in text.splitlines() if line.startswith("  nd train"))
    words = shlex.split(command)
    assert words[:3] == ["nd", "train", str(run / "config.toml")]
    values = RunConfig.from_toml(run / "config.toml").to_dict()
    for place, word in enumerate(words):
        if word == "--set":
            override(values, *parse_setting(words[place + 1]))
    assert RunConfig.from_dict(values).training.optimizer.lr >= 1e-5  # type: ignore[attr-defined]


def test_json_is_the_diagnosis_and_strict_sets_the_exit_code(run: Path) -> None:
    document = json.loads(invoke(str(run), "--json"))
    assert Diagnosis.from_dict(document) == Diagnosis.from_dict(diagnose(run).to_dict())
    assert document["command"].startswith("nd train ")
    invoke(str(run), "--strict", code=1)


def test_an_empty_run_lists_what_could_not_be_checked(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text("{}")
    text = invoke(str(tmp_path), "--strict")
    assert "there is no history of training" in text
    assert "there are no scores on held-out values" in text
