"""Training settings from the command line: presets, teachers, early ends, measurements."""

import signal
import tomllib
from pathlib import Path

import polars as pl
import pytest

from tests.integration.test_command_line import COLUMNS, FAST, nd, refused, sales, start

pytestmark = pytest.mark.long  # each test trains in a process of its own

__all__ = ["sales"]  # the fixture

TRAIN = ("train", "sales.csv", *COLUMNS, "--horizon", "7")


def config_of(run: Path) -> dict[str, dict[str, object]]:
    return tomllib.loads((run / "config.toml").read_text("utf-8"))


def test_a_preset_can_be_changed_and_is_written_out(sales: Path) -> None:
    command = (*TRAIN, "--model", "nlinear", "--preset", "best", "--max-steps", "30", "--threads", "1")
    nd(*command, "--set", "training.average.decay=0.9", "--output", "run", "--quiet", cwd=sales)
    training = config_of(sales / "run")["training"]
    assert training["max_steps"] == 30
    assert training["schedule"] == {"name": "auto"}
    assert training["average"] == {"name": "ema", "decay": 0.9, "warmup": True}
    assert "preset" not in training
    nd("train", "run/config.toml", "--output", "again", "--quiet", cwd=sales)
    first, second = (pl.read_csv(sales / run / "forecasts.csv") for run in ("run", "again"))
    assert first.equals(second)


def test_training_left_to_the_family_is_decided_before_the_run_begins(sales: Path) -> None:
    command = (*TRAIN, "--model", "dlinear", "--training", "auto", "--max-steps", "20", "--threads", "1", "--quiet")
    nd(*command, "--output", "run", cwd=sales)
    training = config_of(sales / "run")["training"]
    assert training["optimizer"]["lr"] == 3e-3
    assert "recommended" not in training
    # The same command goes on with it: what it leaves open is decided before it is compared.
    nd(*command, "--max-steps", "30", "--output", "run", "--resume", cwd=sales)
    assert config_of(sales / "run")["training"]["max_steps"] == 30
    nd(*command, "--lr", "0.002", "--output", "other", cwd=sales)
    assert config_of(sales / "other")["training"]["optimizer"]["lr"] == 0.002
    printed, _ = nd("presets", "auto", cwd=sales)
    assert "# linear         optimizer" in printed


def test_presets_are_listed_and_printed(tmp_path: Path) -> None:
    listed, _ = nd("presets", cwd=tmp_path)
    assert all(name in listed for name in ("quick", "best", "low_memory"))
    printed, _ = nd("presets", "low-memory", cwd=tmp_path)
    assert tomllib.loads(printed)["training"]["accumulate"] == 8
    assert "Did you mean 'best'" in refused("presets", "bset", cwd=tmp_path)
    assert "Did you mean 'quick'" in refused("train", "x.csv", "--horizon", "3", "--preset", "quik", cwd=tmp_path)


def test_everything_of_the_loop_can_be_set_without_python(sales: Path) -> None:
    settings = {
        "training.metrics": '["mse", "smape"]',
        "training.callbacks": '[{name = "csv", path = "history.csv"}, "log"]',
        "training.augment": '["jitter", {name = "mixup", alpha = 0.4}]',
        "training.curriculum": "horizon",
        "training.gradient_noise.eta": "0.001",
        "training.l1": "1e-5",
        "training.freeze": '[{pattern = "layers.0.*", until = 1}]',
        "training.optimizer.groups": '[{pattern = "layers.0.*", lr_factor = 0.5}]',
        "training.schedule": "one_cycle",
        "training.gradient_sum": "float64",
        "training.recompute": "auto",
        "task.weighting": '{name = "recency", half_life = 50}',
        "task.loss": "log_cosh",
        "model.norm": "layer",
        "model.dropout": "0.1",
    }
    pairs = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    options = ("--model", "mlp", "--max-steps", "30", "--threads", "1", "--accumulate", "2", "--precision", "float64")
    nd(*TRAIN, *options, *pairs, "--set", "model.hidden_size=32", "--output", "run", "--quiet", cwd=sales)
    history = pl.read_csv(sales / "history.csv")
    assert {"validation_mse", "validation_smape"} <= set(history.columns)
    assert history["step"][-1] == 30
    assert config_of(sales / "run")["training"]["curriculum"]["name"] == "horizon"


def test_a_student_learns_from_a_run(sales: Path) -> None:
    nd(*TRAIN, "--model", "mlp", "--set", "model.hidden_size=32", *FAST[2:], "--output", "teacher", "-q", cwd=sales)
    nd(*TRAIN, *FAST, "--teacher", "teacher", "--output", "student", "-q", cwd=sales)
    assert config_of(sales / "student")["teacher"] == "teacher"
    nd(*TRAIN, *FAST, "--output", "alone", "-q", cwd=sales)
    taught, alone = (pl.read_csv(sales / run / "forecasts.csv") for run in ("student", "alone"))
    assert not taught.equals(alone)
    assert "nowhere: not found" in refused(*TRAIN, "--teacher", "nowhere", cwd=sales)


def test_a_rate_can_be_found_first(sales: Path) -> None:
    output, _ = nd(*TRAIN, *FAST, "--find-lr", "--output", "run", cwd=sales)
    assert "where the loss fell fastest" in output
    rate = config_of(sales / "run")["training"]["optimizer"]["lr"]
    assert f"{rate:.2e}" in output


def test_a_batch_size_can_be_found_first(sales: Path) -> None:
    output, _ = nd(*TRAIN, *FAST, "--auto-batch-size", "--output", "run", cwd=sales)
    size = config_of(sales / "run")["training"]["batch_size"]
    assert f"{size:,} windows, the most that fit into memory" in output


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="Windows has no such signal")
@pytest.mark.parametrize("way", ["signal", "file"])
def test_training_can_be_ended_early_with_all_that_belongs_to_a_run(sales: Path, way: str) -> None:
    endless = (
        "--max-steps",
        "1000000",
        "--model",
        "nlinear",
        "--threads",
        "1",
        "--set",
        "training.early_stopping=none",
    )
    process = start(*TRAIN, *endless, "--stop-file", "enough", "--output", "run", cwd=sales)
    assert process.stderr is not None
    first = process.stderr.readline()  # training has begun when the first line of progress is there
    assert "step 10/" in first
    if way == "signal":
        process.send_signal(signal.SIGUSR1)
    else:
        (sales / "enough").touch()
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert ("SIGUSR1 was received" if way == "signal" else "enough asks for it") in errors
    assert "nd predict run" in output
    assert (sales / "run" / "model" / "model.json").is_file()


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="Windows has no such signal")
def test_a_signal_before_training_does_no_harm(sales: Path) -> None:
    process = start(*TRAIN, *FAST, "--output", "run", cwd=sales)
    assert process.stdout is not None
    assert "sales.csv" in process.stdout.readline()  # the data is read, and torch is about to be loaded
    process.send_signal(signal.SIGUSR1)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
