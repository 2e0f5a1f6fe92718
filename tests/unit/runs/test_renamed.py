"""Settings of earlier versions are read under their present names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.runs.diff import config_differences, read_config
from neuro_divergent.runs.directory import CONFIG, RUN, RunDirectory

TABLE = Synthetic(num_series=2, length=60, frequency="1d").frame()


def written_by_earlier_version(run: Path) -> None:
    """Spell the setting in the files of a run as earlier versions did."""
    document = json.loads((run / RUN).read_text())
    document["config"]["task"]["step"] = document["config"]["task"].pop("stride")
    (run / RUN).write_text(json.dumps(document))
    (run / CONFIG).write_text((run / CONFIG).read_text().replace("stride = 3", "step = 3"))


def test_stride_in_a_toml_of_an_earlier_version_is_read_from_step() -> None:
    config = RunConfig.from_toml("[data]\npath = 'a.csv'\n[task]\nhorizon = 2\nstep = 4\n")
    assert config.task.stride == 4
    assert "step" not in config.task.to_dict()


def test_stride_given_under_both_names_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown setting 'step'"):
        nd.Task(horizon=2, step=1, stride=1)


def test_run_of_an_earlier_version_compares_and_resumes_under_the_present_name(tmp_path: Path) -> None:
    training = nd.TrainingConfig(max_steps=4, threads=1)
    model = nd.Forecaster("dlinear", horizon=3, input_size=6, stride=3, training=training)
    model.fit(TABLE, run=tmp_path / "run")
    before = read_config(tmp_path / "run")
    written_by_earlier_version(tmp_path / "run")
    assert "step = 3" in (tmp_path / "run" / CONFIG).read_text()
    assert RunDirectory(tmp_path / "run").stored_config()["task"]["stride"] == 3
    assert config_differences({"new": before, "old": read_config(tmp_path / "run")}) == []
    longer = nd.Forecaster.resume(tmp_path / "run", TABLE, max_steps=6)
    assert (longer.task.stride, longer.history["step"].max()) == (3, 6)
