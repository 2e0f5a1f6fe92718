"""``nd auto`` from a file to forecasts: what it shows and writes, interruptions, kills and plans."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import neuro_divergent
from neuro_divergent.interfaces.cli.main import app
from neuro_divergent.search.auto.record import Progress
from tests.integration.test_command_line import nd, refused, start

HORIZON = 6
_PATIENCE = 240.0  # seconds after which a test that waits for something has failed


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    generator, step = np.random.default_rng(0), np.arange(72)
    rows = [
        pl.DataFrame(
            {
                "store": f"s{place}",
                "date": pl.date_range(pl.date(2015, 1, 1), pl.date(2020, 12, 1), "1mo", eager=True),
                "units": 20 * (place + 1) + 8 * np.sin(2 * np.pi * step / 12) + generator.normal(0, 1, 72),
            }
        )
        for place in range(4)
    ]
    pl.concat(rows).write_csv(tmp_path / "sales.csv")
    return tmp_path


COLUMNS = ("--target", "units", "--time", "date", "--id", "store", "--horizon", str(HORIZON))


def wait_until(process: subprocess.Popen[str], condition: object) -> None:
    """Wait for a condition, as long as the process runs."""
    assert callable(condition)
    until = time.monotonic() + _PATIENCE
    while not condition() and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.02)


def results_in(run: Path) -> set[str]:
    return {path.name for path in run.glob("results/*") if (path / "manifest.json").is_file()}


def invoke(*arguments: str) -> str:
    """Run a command in this process and return what it wrote to standard output."""
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_short_budget_writes_forecasts_a_model_and_a_plan(sales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output, _ = nd("auto", "sales.csv", *COLUMNS, "--budget", "5s", "-o", "run", "--json", cwd=sales)
    document = json.loads(output)
    assert document["leaderboard"]["rows"][0]["score"] > 0
    made = pl.read_parquet(sales / "run" / "forecasts.parquet")
    assert made.columns == ["store", "date", "forecast", "lo-80", "hi-80", "lo-95", "hi-95"]
    assert made.height == 4 * HORIZON
    monkeypatch.chdir(sales)
    predicted = invoke("predict", "run", "--levels", "80,95")
    assert np.allclose(pl.read_csv(predicted.encode())["forecast"], made["forecast"], rtol=1e-5)
    shown = invoke("auto", "show", "run")
    assert "seasonal_naive" in shown
    assert "MASE" in shown
    toml = invoke("auto", "show", "run", "--toml")
    (sales / "run.toml").write_text(toml, "utf-8")
    assert tomllib.loads(toml)["data"]["path"] == "sales.csv"
    invoke("auto", "run.toml", "-o", "again", "-q")
    assert pl.read_parquet(sales / "again" / "forecasts.parquet")["forecast"].equals(made["forecast"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sales.csv",), "how many steps to forecast?"),
        (("sales.csv", *COLUMNS, "--budget", "soon"), "write 90s, 10m, 1h"),
        (("resume", "nowhere"), "no search"),
    ],
)
def test_mistakes_are_named_in_one_line_before_torch_is_loaded(
    sales: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused("auto", *arguments, cwd=sales)


def test_a_line_of_progress_names_what_runs_the_best_so_far_and_the_time_left() -> None:
    from neuro_divergent.interfaces.cli.auto.live import describe

    progress = Progress("back-tests", ("nhits", "auto_ets"), 7, 15, ("nlinear", 0.71234), "mase", 125.0)
    line = describe(progress, passed=5.0)
    assert line == (
        "back-tests; at work: nhits, auto_ets; 7 of 15 candidates have a score; best nlinear with MASE 0.712; "
        "2 min left"
    )


@pytest.mark.long
def test_a_search_that_is_interrupted_and_killed_has_a_model_and_repeats_nothing_when_resumed(sales: Path) -> None:
    command = ("auto", "sales.csv", *COLUMNS, "--budget", "30m", "--jobs", "1", "-m", "nlinear,dlinear,auto_theta")
    run = sales / "run"
    process = start(*command, "-o", "run", cwd=sales)
    wait_until(process, lambda: len(results_in(run)) >= 1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=_PATIENCE)
    if process.returncode:  # it may have been faster than the signal
        assert process.returncode == 130, errors
        assert "Resume with: nd auto resume run" in errors
    first = {path: path.stat().st_mtime_ns for name in results_in(run) for path in (run / "results" / name).iterdir()}
    process = start("auto", "resume", "run", cwd=sales)
    wait_until(process, lambda: len(results_in(run)) >= 2)
    process.kill()
    process.communicate(timeout=_PATIENCE)
    so_far = neuro_divergent.load(run)
    made = so_far.predict(levels=[80])
    assert made.height == 4 * HORIZON
    assert np.isfinite(made["forecast"].to_numpy()).all()
    nd(*command, "-o", "run", "-q", cwd=sales)  # the same command goes on too
    assert {path: path.stat().st_mtime_ns for path in first} == first
    final = neuro_divergent.load(run)
    assert isinstance(final, neuro_divergent.AutoForecaster)
    complete = {row.candidate for row in final.results.rows if row.round == "full"}
    assert {"nlinear", "dlinear", "auto_theta"} <= complete


@pytest.mark.long
def test_a_budget_is_kept_in_worker_processes(sales: Path) -> None:
    began = time.monotonic()
    output, _ = nd("auto", "sales.csv", *COLUMNS, "--budget", "40s", "--preset", "fast", "--json", cwd=sales)
    passed = time.monotonic() - began
    spent = json.loads(output)["leaderboard"]["seconds"]
    assert spent < 1.05 * 40 + 20  # generous: other programs may run
    assert passed < 40 + 60
