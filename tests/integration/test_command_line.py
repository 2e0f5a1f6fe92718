"""The command line as a user meets it: real processes, real files."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import neuro_divergent
from neuro_divergent.data.datasets.synthetic import Synthetic

MODULE = "neuro_divergent.interfaces.cli.main"
SOURCE = str(Path(neuro_divergent.__path__[0]).parent)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": SOURCE}
COLUMNS = ("--target", "units", "--time", "date", "--id", "store")
FAST = ("--model", "nlinear", "--max-steps", "20", "--threads", "1")


def start(*arguments: str, cwd: Path, python: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *python, "-m", MODULE, *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def nd(*arguments: str, cwd: Path, code: int = 0, python: tuple[str, ...] = ()) -> tuple[str, str]:
    """Run a command and return what it wrote to standard output and standard error."""
    process = start(*arguments, cwd=cwd, python=python)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == code, errors
    return output, errors


def refused(*arguments: str, cwd: Path, code: int = 2) -> str:
    """Run a command that must fail before torch is loaded, with no traceback but one line; return the line.

    Lines after it may say what else is wrong in a table.
    """
    output, errors = nd(*arguments, cwd=cwd, code=code, python=("-X", "importtime"))
    lines = [line for line in errors.splitlines() if not line.startswith("import time:")]
    loaded = {line.rsplit("|", 1)[-1].strip() for line in errors.splitlines() if line.startswith("import time:")}
    assert "torch" not in loaded
    assert output == ""
    assert lines[0].startswith("error: ")
    assert all(line.startswith(("perhaps: ", "then: ")) for line in lines[1:]), errors
    return lines[0]


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    frame = Synthetic(num_series=3, length=120, covariates=True).frame()
    frame.rename({"unique_id": "store", "ds": "date", "y": "units"}).write_csv(tmp_path / "sales.csv")
    return tmp_path


def test_train_then_predict_then_evaluate(sales: Path) -> None:
    output, errors = nd(
        "train", "sales.csv", *COLUMNS, *FAST, "--horizon", "7", "--test", "0.1", "--output", "runs/a", cwd=sales
    )
    assert "\x1b" not in output + errors  # a pipe gets no colours and no moving cursor
    assert "360 rows, 3 series" in output
    assert "seasonal naive" in output
    assert "none of these values were used in training" in output
    assert "nd predict runs/a" in output
    assert 3 <= len(errors.splitlines()) <= 12
    files = {path.name for path in (sales / "runs/a").iterdir()}
    assert files == {
        "config.toml", "environment.json", "history.parquet", "scores.json", "forecasts.csv", "backtest.parquet",
        "report.html", "model", "checkpoints", "heartbeat.json", "lock", "run.json", "status.json", "events.jsonl",
        "data.json", "context.parquet", "calibration.json", "network.json", "diagnosis.json", "plots",
        "validated", "refit",
    }  # fmt: skip
    written = pl.read_csv(sales / "runs/a/forecasts.csv")
    assert written.columns[:3] == ["store", "date", "forecast"]
    assert written.height == 21

    output, _ = nd("predict", "runs/a", "--levels", "80", "--output", "out/next.parquet", cwd=sales)
    assert "21 rows" in output
    forecast = pl.read_parquet(sales / "out/next.parquet")
    assert forecast.columns == ["store", "date", "forecast", "lo-80", "hi-80"]
    assert forecast["forecast"].to_list() == pytest.approx(written["forecast"].to_list(), rel=1e-5)

    output, _ = nd("predict", "runs/a/model", "sales.csv", "--horizon", "3", "--json", cwd=sales)
    document = json.loads(output)
    assert document["rows"] == 9
    assert document["forecasts"][0]["store"] == "series-0"

    output, _ = nd("evaluate", "runs/a", "sales.csv", "--last", "14", "--json", cwd=sales)
    scores = json.loads(output)
    assert [row["name"] for row in scores["scores"]] == ["nlinear", "last value", "seasonal naive", "drift"]
    assert "within the data of training" in scores["note"]

    weights = sales / "runs/a/model/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    output, errors = nd("predict", "runs/a", cwd=sales, code=3)
    assert output == ""
    assert re.fullmatch(r"error: .*\n", errors)


def test_json_is_the_only_output(sales: Path) -> None:
    output, errors = nd("train", "sales.csv", *COLUMNS, *FAST, "--horizon", "7", "--json", "--output", "a", cwd=sales)
    assert errors == ""
    document = json.loads(output)
    assert document["evaluation"]["part"] == "validation"
    assert (sales / document["files"]["report"]).is_file()


@pytest.mark.long
def test_init_then_train(sales: Path) -> None:
    output, _ = nd("init", "run.toml", "--data", "sales.csv", "--horizon", "7", "--model", "nlinear", cwd=sales)
    assert "nd train run.toml" in output
    text = (sales / "run.toml").read_text("utf-8")
    for old, new in (("target", "units"), ("time", "date"), ("id", "store")):
        text = re.sub(rf"^#{old} = .*$", f'{old} = "{new}"', text, flags=re.MULTILINE)
    (sales / "run.toml").write_text(text, "utf-8")
    settings = ("--set", "training.max_steps=5", "--set", "training.clip=none", "--set", "training.threads=1")
    output, errors = nd("train", "run.toml", "--quiet", *settings, "--set", "training.optimizer.lr=0.5", cwd=sales)
    assert output == errors == ""
    (run,) = (sales / "runs").iterdir()
    assert run.name.startswith("sales-nlinear-")
    saved = (run / "config.toml").read_text("utf-8")
    assert "max_steps = 5" in saved
    assert 'clip = "none"' in saved
    assert "lr = 0.5" in saved
    assert "exists already" in refused("init", "run.toml", cwd=sales)


@pytest.mark.long
def test_covariates_from_file_to_forecast(sales: Path) -> None:
    table = pl.read_csv(sales / "sales.csv", try_parse_dates=True)
    last = pl.col("date") > pl.col("date").max() - pl.duration(days=7)
    table.filter(~last).write_csv(sales / "past.csv")
    table.filter(last).drop("units").write_csv(sales / "coming.csv")
    columns = ("--past", "visitors", "--future", "price,weather", "--static", "size", "--calendar", "day_of_week")
    model = ("--model", "mlp", "--set", "model.hidden_size=16", "--max-steps", "5", "--threads", "1")
    output, _ = nd(
        "train", "past.csv", *COLUMNS, *columns, *model, "--horizon", "7", "--loss", "quantile", "-o", "run", cwd=sales
    )
    assert "No forecast yet" in output
    assert "--future FILE" in output
    assert "quantiles = [" in (sales / "run/config.toml").read_text("utf-8")
    output, _ = nd("predict", "run", "--future", "coming.csv", "--levels", "95", cwd=sales)
    assert output.splitlines()[0] == "store,date,forecast,lo-95,hi-95"
    assert len(output.splitlines()) == 1 + 3 * 7


def test_demo(tmp_path: Path) -> None:
    output, errors = nd("demo", "--model", "nlinear", cwd=tmp_path)
    assert "\x1b" not in output + errors
    assert "AirPassengers" in output
    assert "░" in output
    assert "lo-95" in output
    assert "<svg" in (tmp_path / "demo/report.html").read_text("utf-8")
    again, _ = nd("demo", "--model", "nlinear", cwd=tmp_path)  # writes over the one before
    durations = re.compile(r"in [\d.]+ (s|min)")
    assert durations.sub("", again) == durations.sub("", output)


def test_models() -> None:
    output, _ = nd("models", "--json", cwd=Path.cwd())
    models = {row["name"]: row for row in json.loads(output)["models"]}
    assert {"dlinear", "nlinear", "mlp", "nbeats", "nhits", "lstm", "itransformer"} <= set(models)
    assert models["nlinear"]["parameters"] == 96 * 24 + 24
    assert models["timellm"]["parameters"] is None  # it is around a language model that must be given
    assert models["itransformer"]["mixes_channels"]
    assert models["nhits"]["covariates"] == ["past", "future", "static"]
    statistical = {row["name"]: row for row in json.loads(output)["statistical"]}
    assert statistical["auto_ets"]["extra"] == "statistical"
    assert statistical["croston_sba"]["intermittent"]
    assert statistical["drift"]["extra"] is None
    shown, _ = nd("models", "tsb", cwd=Path.cwd())
    assert "alpha_probability" in shown


def test_mistakes_in_the_command_are_answered_before_torch(sales: Path) -> None:
    train = ("train", "sales.csv", *COLUMNS)
    assert "--horizon" in refused(*train, cwd=sales)
    assert "--horizon" in refused(*train, "--horizn", "3", cwd=sales)
    assert "Did you mean 'dlinear'" in refused(*train, "--horizon", "7", "--model", "dlinaer", cwd=sales)
    assert "is a statistical model" in refused(*train, "--horizon", "7", "--model", "auto_ets", cwd=sales)
    assert "Did you mean 'max_steps'" in refused(*train, "--horizon", "7", "--set", "training.max_stepz=3", cwd=sales)
    (sales / "taken").mkdir()
    (sales / "taken/file").write_text("")
    assert "exists already" in refused(*train, "--horizon", "7", "--output", "taken", cwd=sales)
    assert "not found" in refused("predict", "nowhere", cwd=sales)
    assert not (sales / "runs").exists()


def test_mistakes_in_the_data_are_answered_before_torch(sales: Path) -> None:
    assert "nope.csv: not found" in refused("train", "nope.csv", "--horizon", "7", cwd=sales)
    assert "column 'ds' missing" in refused("train", "sales.csv", "--horizon", "7", cwd=sales)
    long = ("--horizon", "90", "--input-size", "60", "--short", "error")
    assert "120 rows, needs 150" in refused("train", "sales.csv", *COLUMNS, *long, cwd=sales)
    text = (sales / "sales.csv").read_text("utf-8")
    (sales / "sales.csv").write_text(re.sub(r"^(series-1,[^,]*,)[\d.]+", r"\1many", text, count=1, flags=re.MULTILINE))
    line = refused("train", "sales.csv", *COLUMNS, "--horizon", "7", cwd=sales)
    assert "'many' is not a number" in line
    assert "row 121" in line
    assert not (sales / "runs").exists()


def test_a_traceback_on_request(sales: Path) -> None:
    _, errors = nd("--debug", "train", "nope.csv", "--horizon", "7", cwd=sales, code=2)
    assert "Traceback" in errors
    assert errors.splitlines()[-1] == "error: nope.csv: not found. Tables here: sales.csv."


def test_help_is_quick_and_has_examples(tmp_path: Path) -> None:
    times = []
    for _ in range(3):
        before = os.times()
        output, _ = nd("--help", cwd=tmp_path)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
        assert "Examples:" in output
    assert min(times) < 1.0  # of the processor; 0.1 s on a usual machine
    for command in ("demo", "train", "predict", "evaluate", "models", "init"):
        output, _ = nd(command, "--help", cwd=tmp_path)
        assert re.search(rf"Examples:\n +nd {command}", output)
    assert nd("--version", cwd=tmp_path)[0] == f"neuro-divergent {neuro_divergent.__version__}\n"


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    _, errors = nd("--help", cwd=tmp_path, python=("-X", "importtime"))
    loaded = {line.rsplit("|", 1)[-1].strip() for line in errors.splitlines()}
    assert not loaded & {"torch", "polars", "numpy", "pydantic", "jinja2"}


@pytest.mark.parametrize("command", ["train", "compare"])
def test_help_with_options_from_config_fields_loads_neither_torch_nor_polars(command: str, tmp_path: Path) -> None:
    output, errors = nd(command, "--help", cwd=tmp_path, python=("-X", "importtime"))
    loaded = {line.rsplit("|", 1)[-1].strip() for line in errors.splitlines()}
    assert "Steps to forecast." in output
    assert not loaded & {"torch", "polars", "jinja2", "rich"}
