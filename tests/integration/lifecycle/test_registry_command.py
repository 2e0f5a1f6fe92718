"""``nd registry`` from a run to an export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, ConflictError, InputError
from neuro_divergent.interfaces.cli.registry import app
from tests.unit.lifecycle.registry.models import forecaster, table


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train two runs of the same recipe."""
    place = tmp_path_factory.mktemp("runs")
    for name, rows in (("first", 80), ("second", 90)):
        forecaster().fit(table(rows), run=place / name)
    return place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ND_REGISTRY", raising=False)
    return tmp_path


def call(*arguments: str | Path) -> str:
    """Run a command and return what it wrote; errors are raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def document(*arguments: str | Path) -> Any:
    return json.loads(call(*arguments, "--json"))


def test_from_a_run_to_a_champion_and_back(place: Path, runs: Path) -> None:
    output = call("register", runs / "first", "sales", "--tag", "owner=me", "--promote", "champion")
    assert "sales==1.0.0 (v1)" in output
    assert "next     nd serve sales@champion\n" in output
    output = call("register", runs / "second", "sales")
    assert "sales==1.0.1 (v2)" in output
    assert "next     nd registry promote sales==v2\n" in output
    assert document("register", runs / "second", "sales")["number"] == 2  # the same again
    assert "champion is v2, previous is v1 (revision 2)" in call("promote", "sales==v2", "--reason", "newer data")
    listed = call("list")
    assert "sales==1.0.1" in listed
    assert "champion" in listed
    shown = call("show", "sales@previous")
    assert "owner=me" in shown
    assert "4 steps of 1" in shown
    assert "validation" in shown
    assert "champion is v1" in call("rollback", "sales")
    history = call("history", "sales").splitlines()
    assert len(history) == 4
    assert "newer data" in history[2]
    assert "rollback" in history[3]
    assert document("history", "sales")["changes"][-1]["aliases"] == {"champion": 1}


def test_differences_tags_archive_and_exports(place: Path, runs: Path) -> None:
    for name in ("first", "second"):
        output = call("register", runs / name, "sales", "--registry", "other")
        assert "--registry other\n" in output
    option = ("--registry", "other")
    assert "fingerprint" in call("diff", "sales==v1", "sales==v2", *option)
    assert document("diff", "sales==v1", "sales==v2", *option)["is_same_model"] is False
    assert "a=1" in call("tag", "sales==v1", "a=1", *option)
    assert "no tags" in call("tag", "sales==v1", "a=", *option)
    assert "is archived" in call("archive", "sales==v1", *option)
    assert [item["number"] for item in document("list", *option)["versions"]] == [2]
    assert len(document("list", "sales", "--archived", *option)["versions"]) == 2
    assert "is not archived" in call("archive", "sales==v1", "--undo", *option)
    call("promote", "sales", "--alias", "challenger", *option)
    assert "no aliases" in call("remove-alias", "sales", "challenger", *option)
    call("export", "sales==v2", "out", *option)
    assert nd.load("out").is_fitted
    call("export", "sales==v2", "mlflow-out", "--format", "mlflow", *option)
    assert (place / "mlflow-out" / "MLmodel").is_file()
    assert "Removed 0 sets" in call("collect", *option)


def test_mistakes_are_named_and_make_nothing(place: Path, runs: Path) -> None:
    with pytest.raises(InputError, match="there is no registry"):
        call("list")
    with pytest.raises(InputError, match="not found; give a run or a model"):
        call("register", "nowhere", "sales")
    with pytest.raises(InputError, match="is no tag"):
        call("register", runs / "first", "sales", "--tag", "owner")
    with pytest.raises(ConfigError, match="not supported"):
        call("list", "--registry", "mysql://host/db")
    with pytest.raises(InputError, match="needs a place for the files"):
        call("list", "--registry", "postgresql://host/db")
    assert list(place.iterdir()) == []
    call("register", runs / "first", "sales", "--promote", "champion")
    with pytest.raises(ConflictError, match="at revision 1, not 0"):
        call("remove-alias", "sales", "champion", "--expect", "0")


def test_a_version_without_context_forecasts_only_what_it_is_given(place: Path, runs: Path) -> None:
    call("register", runs / "first", "sales", "--without-context")
    call("export", "sales", "out")
    with pytest.raises(InputError):
        nd.load("out").predict()
    assert nd.load("out").predict(table()).height == 8
