from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from neuro_divergent.core.errors import DataError, InputError, UntrustedFileError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.interfaces.cli.panel import app


def run(*arguments: object) -> str:
    """Run a command and return what it shows; errors are raised as the main command gets them."""
    done = CliRunner().invoke(app, [str(item) for item in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "unique_id": np.repeat(["a", "b", "c"], 20),
            "ds": [*range(20)] * 3,
            "y": np.arange(60.0),
            "weather": ["sun", "rain"] * 30,
            "size": np.repeat([1.0, 2.0, 3.0], 20),
        }
    )


@pytest.fixture
def panel(frame: pl.DataFrame, tmp_path: Path) -> Path:
    known = frame.filter((pl.col("unique_id") != "b") & (pl.col("ds") < 15))
    build_panel(known, Schema(future="weather", static="size", calendar=())).save(tmp_path / "panel")
    return tmp_path / "panel"


def test_info_shows_what_the_panel_has_of_its_columns_and_sizes(panel: Path) -> None:
    text = run("info", panel)
    for part in (
        "rows       30", "series     2 of 15 rows", "times      0 to 14", "frequency  1", "id         unique_id",
        "future     weather (2 categories)", "static     size", "parts      1", "8 bytes per row",
    ):  # fmt: skip
        assert part in text
    found = json.loads(run("info", panel, "--json"))
    assert (found["rows"], found["series"], found["parts"], found["format"]) == (30, 2, 1, 2)
    assert found["columns"]["future"] == ["weather"]
    assert found["bytes"] == sum(path.stat().st_size for path in panel.iterdir() if path.name != "manifest.json")
    assert len(found["sha256"]) == 64


def test_append_adds_rows_and_says_how_many(panel: Path, frame: pl.DataFrame, tmp_path: Path) -> None:
    before = json.loads(run("info", panel, "--json"))["sha256"]
    frame.write_csv(tmp_path / "new.csv")
    with pytest.raises(DataError, match=r"series 'a': row 1, 0 is not after the last known time, 14.*--skip-known"):
        run("append", panel, tmp_path / "new.csv")
    text = run("append", panel, tmp_path / "new.csv", "--skip-known")
    assert "30 rows of 3 series, 1 of them new; 30 rows known before left out." in text
    assert Panel.open(panel).to_frame().equals(build_panel(frame, Schema(future="weather", static="size")).to_frame())
    found = json.loads(run("info", panel, "--json"))
    assert (found["rows"], found["series"], found["parts"], found["format"]) == (60, 3, 2, 3)
    assert found["sha256"] != before
    again = json.loads(run("append", panel, tmp_path / "new.csv", "--skip-known", "--json"))
    assert again == {
        "panel": str(panel), "part": None, "rows": 0, "series": 0, "new_series": 0, "skipped": 60,
    }  # fmt: skip


def test_append_takes_policies(panel: Path, frame: pl.DataFrame, tmp_path: Path) -> None:
    late = frame.filter((pl.col("unique_id") == "a") & (pl.col("ds") > 16))
    late.write_parquet(tmp_path / "late.parquet")
    with pytest.raises(InputError, match=r"Unknown policy --gaps 'forwards'\. Did you mean 'forward'"):
        run("append", panel, tmp_path / "late.parquet", "--gaps", "forwards")
    run("append", panel, tmp_path / "late.parquet", "--gaps", "forward")
    assert Panel.open(panel).y[14:20].tolist() == [14, 14, 14, 17, 18, 19]


def test_check_passes_what_was_written_and_refuses_a_changed_byte(
    panel: Path, frame: pl.DataFrame, tmp_path: Path
) -> None:
    frame.write_parquet(tmp_path / "new.parquet")
    run("append", panel, tmp_path / "new.parquet", "--skip-known")
    assert "14 files" in run("check", panel)
    found = json.loads(run("check", panel, "--json"))
    assert (found["parts"], found["files"]) == (2, 14)
    for name in ("y.float32", "panel.json", "parts/0001/future_x.float32", "parts.json"):
        content = (panel / name).read_bytes()
        place = content.rindex(b"1") if name == "parts.json" else len(content) // 2
        (panel / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(UntrustedFileError):
            run("check", panel)
        (panel / name).write_bytes(content)
    run("check", panel)
    (panel / "stray").write_text("x")
    with pytest.raises(UntrustedFileError, match="stray"):
        run("check", panel)


def test_compact_joins_the_parts(panel: Path, frame: pl.DataFrame, tmp_path: Path) -> None:
    assert "has one part already" in run("compact", panel)
    frame.write_parquet(tmp_path / "new.parquet")
    run("append", panel, tmp_path / "new.parquet", "--skip-known")
    before = Panel.open(panel).to_frame()
    assert "2 parts are one now" in run("compact", panel)
    assert Panel.open(panel).to_frame().equals(before)
    assert json.loads(run("info", panel, "--json"))["parts"] == 1


@pytest.mark.parametrize("command", ["info", "check", "compact", "append"])
def test_a_directory_without_a_panel_is_refused(command: str, tmp_path: Path) -> None:
    rest: list[Any] = ["x.csv"] if command == "append" else []
    with pytest.raises(DataError, match="not found, or not a saved panel"):
        run(command, tmp_path, *rest)
