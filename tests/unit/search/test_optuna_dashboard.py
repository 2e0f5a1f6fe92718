"""Studies as optuna-dashboard reads them; skipped where it is not installed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.search.dependency import load_optuna
from tests.dashboard.study_maker import StudyMaker

optuna_dashboard = pytest.importorskip("optuna_dashboard", reason="optuna-dashboard is not installed")


@pytest.mark.parametrize("storage", ["journal", "sqlite"])
def test_optuna_dashboard_shows_states_values_and_parameters_of_a_study(tmp_path: Path, storage: str) -> None:
    made = StudyMaker(tmp_path / "study", storage=storage).run(3)
    optuna = load_optuna()
    if storage == "journal":
        backend = optuna.storages.journal.JournalFileBackend(str(made.directory / "journal.log"))
        opened = optuna.storages.JournalStorage(backend)
    else:
        opened = optuna.storages.RDBStorage(f"sqlite:///{made.directory / 'study.db'}")
    app = optuna_dashboard.wsgi(opened)
    (summary,) = get(app, "/api/studies")["study_summaries"]
    assert summary["study_name"] == made.study.name
    shown = get(app, f"/api/studies/{summary['study_id']}")["trials"]
    for trial, other in zip(made.study.trials, shown, strict=True):
        assert (other["number"], other["state"]) == (trial.number, "Complete")
        assert other["values"] == [trial.values["mae"]]
        params = {item["name"].partition("@")[0]: item["param_external_value"] for item in other["params"]}
        assert params == {name: str(value) for name, value in trial.settings.items()}
    made.study.close()


def get(app: Any, path: str) -> Any:
    environment = {
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "SERVER_NAME": "localhost", "SERVER_PORT": "80",
        "wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(), "wsgi.url_scheme": "http",
    }  # fmt: skip
    statuses: list[str] = []
    body = b"".join(app(environment, lambda status, headers, *_: statuses.append(status)))
    assert statuses[0].startswith("200"), body
    return json.loads(body)
