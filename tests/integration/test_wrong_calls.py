# ruff: noqa: E501 - a table of calls is read line by line
"""What the command line says to somebody who types everything wrong: one line, an exit code, and what to do next."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from neuro_divergent.interfaces.cli import main

MODEL = Path(__file__).parents[1] / "fixtures" / "formats" / "model-1"
NEXT = re.compile(
    r"'nd [^']+'|\bnd [a-z]+ |(?<!\w)--?[a-z]|Known: |[Cc]hoose |must be |such as |Did you mean |\bgive |\bwrite |Tables |[Ll]ower |\badd |\bname "
)

# A call, and what the line must contain.
CALLS: dict[str, str] = {
    # Names of commands.
    "trian sales.csv": "Did you mean 'train'? 'nd --help' lists all.",
    "sales.csv": "nd train sales.csv --horizon 24",
    "run.toml": "nd train run.toml",
    "runs/a": "nd predict runs/a",
    "help": "'nd --help'",
    "fit sales.csv": "Did you mean 'nd train'?",
    "forecast runs/a": "Did you mean 'nd predict'?",
    "xyzzy": "nd has no command 'xyzzy'. 'nd --help' lists all.",
    "panel chekc p": "Did you mean 'check'? 'nd panel --help' lists all.",
    "registry lst": "Did you mean 'list'?",
    "pipeline rnu": "Did you mean 'run'?",
    "continuous tock": "Did you mean 'tick'?",
    "federated rnu x": "Did you mean 'run'?",
    "privacy budgett": "Did you mean 'budget'?",
    "hardware precison": "Did you mean 'precision'?",
    "search shwo x": "Did you mean 'show'?",
    "auto resme x": "Did you mean 'resume'?",
    "runs lsit": "Did you mean 'list'?",
    # nd train
    "train": "Such as: nd train sales.csv --horizon 24.",
    "train slaes.csv --horizon 7": "slaes.csv: not found. Did you mean 'sales.csv'?",
    "train slaes.csv": "slaes.csv: not found. Did you mean 'sales.csv'?",
    "train quarterly-figures.xlsx --horizon 7": "not found. Tables here: good.csv, sales.csv.",
    "train empty/x.csv --horizon 7": "There is no table in empty",
    "train nodir/sales.csv --horizon 7": "There is no directory nodir. Tables here: good.csv, sales.csv.",
    "train good.csv": "The rows of good.csv are 1d apart, so for instance --horizon 7.",
    "train sales.csv": "--horizon 24",
    "train good.csv --horzion 7": "Did you mean '--horizon'? 'nd train --help' lists all.",
    "train good.csv --horizon": "Option '--horizon' requires an argument. Such as: nd train sales.csv --horizon 24.",
    "train good.csv --horizon seven": "must be an integer of at least 1",
    "train good.csv --horizon 7 --model nhist": "Unknown model 'nhist'. Did you mean 'nhits'?",
    "train good.csv --horizon 7 --set trainig.lr=1": "unknown section 'trainig'. Did you mean 'training'?",
    "train good.csv --horizon 7 --set training.lr=1": "--set training.optimizer.lr=VALUE",
    "train good.csv --horizon 7 --set lr": "such as training.max_steps=500",
    "train good.csv --horizon 7 --loss mea": "Unknown loss 'mea'. Did you mean",
    "train good.csv --horizon 7 --optimizer adamm": "Did you mean 'adam'?",
    "train good.csv --horizon 7 --schedule cosin": "Did you mean 'cosine'?",
    "train good.csv --horizon 7 --preset fastest": "Known: auto, quick, best, low_memory.",
    "train good.csv --horizon 7 --scaler robustt": "Did you mean 'robust'?",
    "train good.csv --horizon 7 --max-steps many": "max_steps: 'many' must be an integer",
    "train good.csv --horizon 7 --lr fast": "must be a number",
    "train good.csv --horizon 7 --precision half": "must be 'float32', 'float64', 'bf16' or 'fp16'",
    "train good.csv --horizon 7 --missing guess": "must be 'error', 'interpolate'",
    "train good.csv --horizon 7 --calendar dayofweek": "Did you mean 'day_of_week'?",
    "train good.csv --horizon 7 --levels 80%": "write numbers between commas",
    "train good.csv --horizon 7 --validation 2.5": "must be an integer or less than 1",
    "train good.csv --horizon 7 --batch-size 0": "must be greater than or equal to 1 or 'auto'",
    "train sales.csv --horizon 7 --time date --target units": "column 'units' missing; found date, Units. Did you mean 'Units'?",
    "train good.csv --horizon 7 --frequency weekly": "such as '15m', '1h', '1d', '1w'",
    "train good.csv --horizon 7 --output taken": "choose another path with --output",
    "train good.csv --horizon 7 --output good.csv/run": "cannot be written: Not a directory. Choose another place, as with --output.",
    "train good.csv --horizon 7 --clip 1": "such as --set training.clip=VALUE",
    "train good.csv --horizon 7 --hidden-size 64": "such as --set model.hidden_size=VALUE",
    "train good.csv --horizon 7 --epsilon 3": "It is an option of 'nd privacy budget'.",
    "train good.csv sales.csv --horizon 7": "Put a pattern of files into quotes, such as 'data/*.csv'.",
    "train runs/a": "nd train runs/a --resume",
    "train runs/nothing --resume": "'nd runs' lists the runs that are here.",
    "train good.csv --horizon 7 --resume": "Leave out --resume",
    "train run.tml": "run.tml: not found. Did you mean 'run.toml'?",
    "train nowhere.toml": "not found. Did you mean 'run.toml'?",
    "train good.csv --horizon 7 --teacher nowhere": "such as runs/a",
    "train good.csv --horizon 7 --processes none": "must be an integer",
    "train good.csv --horizon 7 --stall 1": "must be greater than or equal to 10",
    "train good.csv --horizon 7 --ray nowhere": "write auto, local, host:port or ray://host:port",
    "train good.csv --horizon 700": "Lower input_size or horizon",
    "panel info good.csv": "good.csv: is a file, not a saved panel; 'nd panel build good.csv --output panel/' makes one",
    # nd predict, evaluate, export, serve
    "predict": "The latest run is runs/a: nd predict runs/a",
    "predict good.csv": "good.csv: is a table; name the model before it, as in: nd predict runs/a good.csv",
    "predict good.csv runs/a": "name the model before it",
    "evaluate good.csv runs/a": "good.csv: is a table; name the model before it, as in: nd evaluate runs/a good.csv",
    "predict runs/b": "such as runs/a",
    "predict unfinished": "unfinished: not found. Did you mean 'runs/unfinished'?",
    "predict runs/unfinished": "has no model yet, because its training has not come to its end; 'nd train runs/unfinished --resume'",
    "predict runs/a goood.csv": "goood.csv: not found. Did you mean 'good.csv'?",
    "predict runs/a --horizon ten": "must be an integer of at least 1",
    "predict runs/a --levels 101": "such as 80,95",
    "predict runs/a --output f.txt": "write forecasts to a .csv or a .parquet file",
    "predict runs/a --as-of yesterday": "--output forecasts/",
    "predict runs/a --test 3": "It is an option of 'nd train'",
    "predict nothing.onnx good.csv": "nd export MODEL --output nothing.onnx",
    "evaluate": "nd evaluate runs/a",
    "evaluate runs/a": "Missing argument 'DATA'.",
    "evaluate runs/a --last many good.csv": "such as 0.2",
    "export nowhere": "such as runs/a",
    "export runs/a --format onx": "Did you mean 'onnx'?",
    "serve nowhere": "give an .onnx file",
    "serve good.csv": "nd export RUN",
    "serve model.onnx": "nd export MODEL --output model.onnx",
    "serve runs/a --host 0.0.0.0": "--token or ND_SERVE_TOKEN",
    "serve runs/a --port http": "must be an integer",
    "serve runs/a --port 99999": "must be less than or equal to 65535",
    "serve runs/a --limit bodyy=3": "Did you mean 'body'?",
    "serve runs/a --token short": "Make one with: ",
    # nd compare, benchmark, report, doctor, drift
    "compare good.csv": "Such as: nd compare sales.csv nlinear nhits lstm --horizon 24.",
    "compare good.csv nlinear": "--horizon 7",
    "compare good.csv nlinear,nhist --horizon 7": "Unknown model 'nhist'. Did you mean 'nhits'?",
    "compare good.csv nlinear --horizon 7 --metric maee": "Did you mean 'mae'?",
    "compare good.csv nlinear --horizon 7 --metric r2": "such as 'mae'",
    "compare good.csv nlinear runs/a --horizon 7": "name only one kind",
    "compare good.csv nlinear --horizon 7 --refit sometimes": "must be 'every', 'once'",
    "compare good.csv nlinear --horizon 7 --output taken": "--output",
    "benchmark m4": "Known: m4-hourly",
    "benchmark m4-hourly": "--data",
    "report nowhere": "give a directory that 'nd train'",
    "report runs/a --output page.txt": ".html",
    "doctor nowhere": "such as runs/unfinished",
    "drift runs/a": "Missing argument 'NEWDATA'.",
    "drift nowhere good.csv": "models/::sales@champion",
    "drift runs/a good.csv --alpha 5": "such as 0.03",
    "drift runs/a good.csv --output x.png": ".html, .svg, .json",
    # Runs, what is listed, files of settings
    "dashboard nowhere": "give a directory that holds runs",
    "dashboard --host 0.0.0.0": "--token or ND_DASHBOARD_TOKEN",
    "health nowhere": "'nd train'",
    "models nhist": "Did you mean 'nhits'?",
    "presets bset": "Did you mean 'best'?",
    "schedule cosin": "Did you mean 'cosine'?",
    "schedule --plot": "nd schedule NAME --plot",
    "schedule one_cycle --lr -1": "such as 1e-3",
    "init run.txt": "such as run.toml",
    "init run.toml": "--force",
    "init new.toml --model nhist": "Did you mean 'nhits'?",
    "launch nowhere.toml": "not found",
    "launch run.toml": "add [[nodes]]",
    "runs nowhere": "such as runs",
    "runs --sort moon": "'time', 'name', 'state'",
    "runs --state done": "Known: running",
    "runs --where nonsense": "such as training.optimizer.lr>0.001",
    "runs compare a": "'nd runs' lists them",
    "runs compare a zz": "'nd runs runs' lists all",
    "runs delete zz --yes": "'nd runs runs' lists all",
    "runs export": "Such as: nd runs export -o runs.csv.",
    "runs export -o x.doc": ".csv, .parquet",
    # Search
    "search slaes.csv --horizon 7": "Did you mean 'sales.csv'?",
    "search good.csv": "--horizon 7",
    "search good.csv --horizon 7 --method bayes": "Known: cmaes",
    "search good.csv --horizon 7 --pruner sh": "Known: hyperband",
    "search good.csv --horizon 7 --budget soon": "write 90s, 30m or 8h",
    "search good.csv --horizon 7 --objective mae:x": "mae:1",
    "search good.csv --horizon 7 --constraint parameters": "parameters=200000",
    "search good.csv --horizon 7 --trials x": "must be an integer",
    "search show nowhere": "'nd search FILE --horizon 24' begins one",
    "auto slaes.csv --horizon 7": "Did you mean 'sales.csv'?",
    "auto good.csv": "--horizon 7",
    "auto good.csv --horizon 7 --budget soon": "write 90s, 10m, 1h",
    "auto good.csv --horizon 7 --preset bestest": "Did you mean 'best'?",
    "auto resume nowhere": "'nd auto FILE --horizon 28' begins one",
    # Panels, federations, pipelines, registries, continuous training
    "panel build good.csv": "--output",
    "panel build good.csv -o p --memory much": "such as 512MB or 2GB",
    "panel info nowhere": "'nd panel build FILES --output nowhere' makes one",
    "federated init h": "Such as: nd federated init",
    "federated run nowhere.toml": "not found",
    "federated server nowhere": "'nd federated init' makes it",
    "federated client nowhere --server x --data good.csv": "'nd federated init'",
    "federated status nowhere": "'nd federated run'",
    "privacy budget --epsilon 3": "Missing option '--rounds'. Such as: nd privacy budget",
    "privacy audit nowhere": "'nd federated run FILE' begins one",
    "pipeline init p.txt": "such as pipeline.toml",
    "pipeline status nowhere": "'nd pipeline run FILE'",
    "pipeline clean nowhere": "'nd pipeline run FILE'",
    "registry list": "'nd registry register RUN NAME' makes one",
    "registry register nowhere sales": "such as runs/a",
    "registry tag sales x": "write KEY=VALUE",
    "continuous init c": "--source and --horizon are needed",
    "continuous tick nowhere": "nd continuous init nowhere",
    "continuous run nowhere --every hour": "such as '6h' or '7d'",
    "hardware precision --model nhist": "Did you mean 'nhits'?",
    "drift runs/a sales.csv": "column 'ds' missing; found date, Units. The columns of new rows must be named as",
    "predict runs/a sales.csv": "missing; found date, Units. The columns of new rows must be named as",
    "predict runs/a --levels 0.8,0.95": "for 0.8 write 80",
    "completion": "source <(nd completion bash)",
    "completion csh": "Known: bash, zsh, fish.",
}
CODES = {"train good.csv --horizon 7 --output good.csv/run": 4}  # all others have 2


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with tables, a run and a file of settings."""
    place = tmp_path_factory.mktemp("wrong")
    rows = [f"{date(2024, 1, 1) + timedelta(days=day)},{day % 7 + day / 8}" for day in range(100)]
    for name, header in (("good.csv", "ds,y"), ("sales.csv", "date,Units")):
        (place / name).write_text("\n".join([header, *rows, ""]), "utf-8")
    (place / "run.toml").write_text("[data]\npath = 'good.csv'\n[task]\nhorizon = 3\n", "utf-8")
    (place / "taken").mkdir()
    (place / "taken" / "something").touch()
    (place / "empty").mkdir()
    shutil.copytree(MODEL, place / "runs" / "a" / "model")
    shutil.copy(place / "run.toml", place / "runs" / "a" / "config.toml")
    (place / "runs" / "a" / "run.json").write_text("{}", "utf-8")
    (place / "runs" / "unfinished").mkdir()
    (place / "runs" / "unfinished" / "run.json").write_text("{}", "utf-8")
    return place


@pytest.fixture
def nd(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[object]:
    """Return what runs a command in this process, and gives its exit code, standard output and standard error."""
    monkeypatch.chdir(place)
    for name in ("ND_TRACEBACK", "ND_REGISTRY", "SHELL"):
        monkeypatch.delenv(name, raising=False)
    enough = signal.getsignal(signal.SIGUSR1)

    def run(call: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nd", *shlex.split(call)])
        code = main._run()
        return code, *capsys.readouterr()

    yield run
    signal.signal(signal.SIGUSR1, enough)


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_gets_one_line_that_says_what_to_do(call: str, nd) -> None:
    code, output, errors = nd(call)
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert "Traceback" not in errors
    assert "This is a bug" not in errors
    assert output == ""
    assert code == CODES.get(call, 2)
    assert CALLS[call] in errors
    assert NEXT.search(errors), errors


def test_a_port_in_use_is_said_with_the_option_for_another(nd) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, output, errors = nd(f"dashboard --port {port}")
    assert (code, output) == (2, "")
    assert errors.count("\n") == 1
    assert "--port" in errors


def test_no_error_for_a_missing_package_is_without_the_command_that_installs_it() -> None:
    """Messages are read from the sources, because the packages are here."""
    source = Path(main.__file__).parents[2]
    raised = re.compile(
        r"raise MissingDependencyError\((.*?)\) from None|raise MissingDependencyError\((.*?)\n\s*\)", re.DOTALL
    )
    found = {
        f"{path.name}: {' '.join(''.join(text).split())}"
        for path in source.rglob("*.py")
        for text in raised.findall(path.read_text("utf-8"))
    }
    assert len(found) > 8
    programs = ("Chrome", "hint", "driver")  # what pip does not install, and a text that is put together elsewhere
    without = {text for text in found if "pip install" not in text and not any(word in text for word in programs)}
    assert not without


def test_a_group_without_a_command_shows_its_help(nd) -> None:
    for group in ("panel", "search", "auto", "federated", "registry", "pipeline", "continuous", "privacy"):
        code, output, errors = nd(group)
        assert (code, errors) == (0, "")
        assert output.startswith(f"Usage: nd {group}")
