"""``nd drift``: from a run and new rows to words, a picture and an exit code."""

from __future__ import annotations

import json
import shlex
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError, StorageError
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.interfaces.cli.drift import EXAMPLES, drift
from neuro_divergent.lifecycle.drift.model_check import check_model
from neuro_divergent.lifecycle.drift.model_errors import model_errors
from neuro_divergent.workflow.train_run import train_run

START = datetime(2024, 1, 1)
SERIES, TRAINED, NEW = 12, 900, 150

app = typer.Typer()
app.command("drift", epilog=EXAMPLES)(drift)


def table(*, seed: int = 0, change: Any = None, begin: int = 0, end: int = TRAINED + NEW) -> pl.DataFrame:
    """Return hours of some stores; ``change`` alters the values, ``(series, hours)``, in place."""
    rng = np.random.default_rng(seed)
    hours = np.arange(TRAINED + NEW)
    values = 100 + 20 * np.sin(2 * np.pi * hours / 24) + rng.normal(0, 3, (SERIES, len(hours)))
    if change is not None:
        change(values)
    times = [START + timedelta(hours=int(hour)) for hour in hours[begin:end]]
    return pl.DataFrame(
        {
            "store": np.repeat([f"store {row:02d}" for row in range(SERIES)], len(times)),
            "date": times * SERIES,
            "units": values[:, begin:end].ravel(),
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a run, and save its model and that model again in a registry."""
    path = tmp_path_factory.mktemp("drift")
    table(end=TRAINED).write_parquet(path / "old.parquet")
    settings = {
        "data": {"path": str(path / "old.parquet"), "id": "store", "time": "date", "target": "units"},
        "model": {"name": "nlinear"},
        "task": {"horizon": 12, "input_size": 48, "validation": 0.1, "test": 0.3},
        "training": {"max_epochs": 4, "seed": 0, "threads": 1, "optimizer": {"name": "adamw", "lr": 0.01}},
    }
    train_run(RunConfig.from_dict(settings), path / "run")
    nd.load(path / "run").save(path / "model")
    return path


def call(*arguments: str | Path, code: int = 0) -> str:
    """Run the command and return what it wrote; errors are raised."""
    result: Result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def written(place: Path, name: str, frame: pl.DataFrame) -> Path:
    path = place / name
    frame.write_csv(path) if name.endswith(".csv") else frame.write_parquet(path)
    return path


def shift(values: np.ndarray) -> None:
    values[:, TRAINED + 50 :] += 12


def test_healthy_new_rows_are_no_drift_with_and_without_the_history(place: Path) -> None:
    only_new = written(place, "new.csv", table(begin=TRAINED))
    with_history = written(place, "all.parquet", table())
    assert "No drift" in call(place / "run", only_new, "--fail")
    one = json.loads(call(place / "run", only_new, "--json"))
    other = json.loads(call(place / "run", with_history, "--json"))
    assert one["p_value"] == other["p_value"]
    assert one["new"] == {"start": "2024-02-07T12:00:00", "end": "2024-02-13T17:00:00", "times": NEW}
    assert one["num_series"] == SERIES


def test_a_shift_is_drift_with_words_tables_exit_code_and_pictures(place: Path) -> None:
    new = written(place, "shifted.parquet", table(begin=TRAINED, change=shift))
    said = call(place / "run", new)
    assert "Drift: " in said
    assert "most visible since 2024-02-09" in said
    assert "standard error" in said
    assert "12 of 12 series stand out" in said
    call(place / "run", new, "--fail", "--json", code=10)
    call(place / "run", new, "--output", place / "drift.svg")
    assert "<svg" in (place / "drift.svg").read_text()
    call(place / "run", new, "--output", place / "drift.html")
    page = (place / "drift.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<figure") == 3
    call(place / "run", new, "--output", place / "drift.json")
    assert json.loads((place / "drift.json").read_text())[0]["verdict"] == "drift"


def test_a_broken_feed_is_an_incident_and_no_drift(place: Path) -> None:
    def cents(values: np.ndarray) -> None:
        values[:, TRAINED + 60 :] *= 100

    new = written(place, "cents.parquet", table(begin=TRAINED, change=cents))
    said = call(place / "run", new, "--fail", code=11)
    assert "Incident, no reason to train again" in said
    assert "multiplied by about 100" in said
    document = json.loads(call(place / "run", new, "--json"))
    assert document["is_drift"] is False
    assert document["incidents"][0]["since"] == "2024-02-10T00:00:00"


def test_rows_that_come_twice_are_an_incident(place: Path) -> None:
    new = table(begin=TRAINED)
    twice = written(place, "twice.parquet", pl.concat([new, new.head(20)]))
    assert "20 rows repeat" in call(place / "run", twice, "--fail", code=11)


def test_one_broken_series_among_many_is_left_out(place: Path) -> None:
    model = nd.load(place / "run")

    def stuck(values: np.ndarray) -> None:
        values[3, TRAINED + 60 :] = values[3, TRAINED + 60]

    result = check_model(model, table(begin=TRAINED, change=stuck), reference=place / "run" / "backtest.parquet")
    assert result.verdict == "incident"  # one of twelve is more than 5 %
    assert result.incidents[0].series == ("store 03",)


def test_saved_model_needs_a_reference_or_enough_new_rows(place: Path) -> None:
    new = written(place, "new.parquet", table(begin=TRAINED))
    with_reference = call(place / "model", new, "--reference", place / "run" / "backtest.parquet", "--json")
    assert json.loads(with_reference)["reference"]["times"] == 270 - 270 % 12
    alone = json.loads(call(place / "model", new, "--json"))
    assert alone["verdict"] == "no drift"
    assert alone["reference"]["times"] == 100
    few = written(place, "few.parquet", table(begin=TRAINED, end=TRAINED + 40))
    assert "Cannot be judged" in call(place / "model", few, "--fail", code=12)


def test_season_longer_than_the_reference_is_not_judged(place: Path) -> None:
    new = written(place, "new.parquet", table(begin=TRAINED))
    said = call(place / "run", new, "--season-length", "1000", "--fail", code=12)
    assert "longest season of 1,000" in " ".join(said.split())
    with pytest.raises(InputError, match="no picture"):
        call(place / "run", new, "--season-length", "1000", "--output", place / "none.svg")


def test_version_in_a_registry_brings_its_reference(place: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from neuro_divergent.lifecycle.registry.registry import Registry

    with Registry(place / "models") as registry:
        registry.register(place / "run", "sales")
        registry.promote("sales==v1")
    new = written(place, "new.parquet", table(begin=TRAINED))
    expected = json.loads(call(place / "run", new, "--json"))
    for address in ([f"{place / 'models'}::sales@champion"], ["sales@champion", "--registry", place / "models"]):
        found = json.loads(call(address[0], new, *address[1:], "--json"))
        assert found["p_value"] == expected["p_value"]
        assert found["reference"] == expected["reference"]


def test_inputs_are_compared_without_forecasts(place: Path) -> None:
    healthy = written(place, "all.parquet", table())
    assert "No drift: the seasonal differences of units" in " ".join(call(place / "run", healthy, "--inputs").split())
    shifted = written(place, "all-shifted.parquet", table(change=shift))
    document = json.loads(call(place / "run", shifted, "--inputs", "--fail", "--json", code=10))
    assert document["inputs"][0]["what"] == "units"
    call(place / "run", shifted, "--inputs", "--output", place / "inputs.html")


def test_errors_of_a_model_are_those_of_its_forecasts(place: Path) -> None:
    model = nd.load(place / "run")
    data = table(begin=TRAINED)
    errors = model_errors(model, data)
    assert errors.num_times == NEW
    assert np.isfinite(errors.values).all()
    # The last complete horizon, again by predict.
    cut = TRAINED + NEW - NEW % 12 - 12
    forecasts = model.predict(table(end=cut))["forecast"].to_numpy().reshape(SERIES, 12)
    actual = table(begin=cut, end=cut + 12)["units"].to_numpy().reshape(SERIES, 12)
    found = errors.values[:, cut - TRAINED : cut - TRAINED + 12]
    np.testing.assert_allclose(found, actual - forecasts, atol=1e-3)
    assert errors.steps is not None
    assert errors.steps[0].tolist() == [*range(1, 13)] * 12 + [*range(1, 7)]
    np.testing.assert_array_equal(model_errors(model, table()).values, errors.values)


def test_fewer_new_rows_than_a_horizon_have_errors_too(place: Path) -> None:
    errors = model_errors(nd.load(place / "run"), table(begin=TRAINED, end=TRAINED + 3))
    assert errors.num_times == 3
    assert errors.steps is not None
    assert errors.steps[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere", "new.parquet"), "not found"),
        (("run", "nowhere.csv"), "not found"),
        (("run", "new.parquet", "--alpha", "2"), "between 0 and 1"),
        (("run", "new.parquet", "--output", "drift.doc"), "ends in"),
        (("run", "old.parquet"), "newer"),
    ],
)
def test_mistakes_are_refused(place: Path, arguments: tuple[str, ...], words: str, monkeypatch: Any) -> None:
    written(place, "new.parquet", table(begin=TRAINED))
    monkeypatch.chdir(place)
    with pytest.raises(InputError, match=words):
        call(*arguments)


def test_a_program_gets_the_result_when_there_is_something_to_look_at(place: Path) -> None:
    new = written(place, "alert.csv", table(change=shift))
    got = place / "got.json"
    hook = shlex.join([sys.executable, "-c", f"import sys; open({str(got)!r}, 'w').write(sys.stdin.read())"])
    output = call(place / "run", new, "--on-alert", hook)
    document = json.loads(got.read_text("utf-8"))
    assert document["model"] == str(place / "run")
    assert [result["verdict"] for result in document["results"]] == ["drift"]
    assert "nd train" in output
    assert str(place / "run" / "config.toml") in output
    got.unlink()
    call(place / "run", written(place, "calm.csv", table()), "--on-alert", hook)
    assert not got.exists()


def test_a_program_that_fails_or_is_not_there_is_an_error(place: Path) -> None:
    new = written(place, "alert.csv", table(change=shift))
    with pytest.raises(InputError, match="--on-alert: there is no program 'nosuchprogram'"):
        call(place / "run", new, "--on-alert", "nosuchprogram --now")
    with pytest.raises(StorageError, match="exit code 3"):
        call(place / "run", new, "--on-alert", shlex.join([sys.executable, "-c", "raise SystemExit(3)"]))
