"""README and the page of features say what the code does: their commands and their Python run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
FEATURES = (ROOT / "docs" / "guides" / "features.md").read_text("utf-8")


def blocks(language: str, page: str = FEATURES) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with the files that the README speaks of."""
    days, random = 260, np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "store": [name for name in "AB" for _ in range(days)],
            "date": [date(2024, 1, 1) + timedelta(days=day) for _ in "AB" for day in range(days)],
            "units": 50 + 10 * np.sin(np.arange(2 * days) * 2 * np.pi / 7) + random.normal(0, 1, 2 * days),
        }
    )
    frame.write_csv(tmp_path / "sales.csv")
    frame.write_csv(tmp_path / "newer.csv")
    return tmp_path


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = set(re.findall(r"\bmake ([a-z0-9-]+)", README))
    assert {"demo", "test"} <= named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert not [link for link in links if "://" not in link and not (ROOT / link).exists()]


def test_readme_fits_on_a_screen_and_its_code_is_that_of_the_page_of_features() -> None:
    assert len(README.split()) < 350
    (command,) = (line for block in blocks("sh", README) for line in block.splitlines() if line.startswith("nd "))
    assert command in FEATURES
    (code,) = blocks("python", README)
    assert blocks("python")[0].startswith(code)


def test_page_of_features_lists_the_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    section = FEATURES.split("## Extras")[1].split("\n## ")[0]
    named = {
        name
        for row in re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
        for name in re.findall(r"`([a-z0-9]+)`", row)
    }
    assert named == set(extras) - {"test", "docs", "browser", "dev", "bench"}


@pytest.mark.long
def test_commands_of_the_page_of_features_run(place: Path) -> None:
    lines = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    commands = [part.strip() for line in lines if line.startswith("nd ") for part in line.split("&&")]
    assert {shlex.split(command)[1] for command in commands} == {
        "demo",
        "train",
        "predict",
        "export",
        "serve",
        "evaluate",
        "compare",
        "auto",
        "search",
        "models",
        "runs",
        "dashboard",
        "report",
        "doctor",
        "presets",
        "schedule",
        "hardware",
        "init",
    }
    for command in commands:
        words = shlex.split(command)
        if words[1] in ("dashboard", "serve"):
            continue  # they go on until somebody ends them; tests/dashboard and tests/integration/serving do
        if words[1] == "train" and words[2].endswith(".csv"):
            words += ["--max-steps", "5", "--threads", "1", "--model", "nlinear", "--output", "runs/readme", "--quiet"]
        elif words[:3] == ["nd", "train", "run.toml"]:
            text = (place / "run.toml").read_text("utf-8")
            (place / "run.toml").write_text(re.sub(r'path = "[^"]*"', 'path = "sales.csv"', text), "utf-8")
            words += ["--target", "units", "--time", "date", "--id", "store", "--horizon", "7", "--max-steps", "5"]
            words += ["--threads", "1", "--model", "nlinear", "--quiet"]
        elif words[1] == "compare":
            words += ["--max-steps", "5", "--splits", "1", "--input-size", "28"]
        elif words[1] == "auto":
            words[words.index("--budget") + 1] = "5s"
        elif words[1] == "search":
            words[words.index("--trials") + 1] = "2"
            words += ["--max-steps", "5", "--threads", "1", "--model", "nlinear", "--quiet"]
        elif words[1:3] == ["hardware", "precision"]:
            words += ["--model", "nlinear", "--steps", "2"]
        elif words[1] == "demo":
            words += ["--model", "nlinear", "--quiet"]
        words = [word.replace("<run>", "readme") for word in words]
        result = subprocess.run(
            [sys.executable, "-m", "neuro_divergent.interfaces.cli.main", *words[1:]],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"


def test_python_of_the_page_of_features_runs(place: Path) -> None:
    first, second, third = blocks("python")
    preparation = """
import numpy, polars, torch
from datetime import timedelta
frame = polars.read_csv("sales.csv", try_parse_dates=True).rename({"store": "unique_id", "date": "ds", "units": "y"})
y = polars.col("y")
frame = frame.with_columns(price=2.0 + y * 0.01, visitors=y * 3, region=polars.lit("north"))
last = frame.group_by("unique_id").agg(polars.col("ds").max(), price=polars.lit(2.5))
next_prices = polars.concat([last.with_columns(polars.col("ds") + timedelta(days=day)) for day in range(1, 25)])
any_torch_module = torch.nn.Linear(2, 2)
x, y = torch.randn(40, 2), torch.randint(0, 2, (40,))
"""
    quick = second.replace("max_steps=2000", "max_steps=5, threads=1")
    assert quick != second
    script = "\n".join(
        [
            first.replace("horizon=28)", "horizon=28, training=nd.TrainingConfig(max_steps=5, threads=1))"),
            preparation,
            quick,
            third,
        ]
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=place, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert result.returncode == 0, result.stderr
    assert "lo-95" in result.stdout
    assert (place / "model" / "model.safetensors").exists()
