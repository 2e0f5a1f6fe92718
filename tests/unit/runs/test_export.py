"""Runs as tables, read back by others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.io.table_file import write_table
from neuro_divergent.runs.export import table_of_histories, table_of_runs
from neuro_divergent.runs.history_reader import read_history
from tests.unit.runs.runs import make_run


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    first = make_run(tmp_path / "a", mae=0.1 + 0.2, batch=32)
    return [first, make_run(tmp_path / "b", mae=None, best=None, state="failed", steps=2, lr=1)]


def test_a_row_has_results_scores_and_settings(runs: list[Path], tmp_path: Path) -> None:
    rows = table_of_runs(["a", "b"], runs)
    for name in ("t.csv", "t.json", "t.parquet"):
        write_table(tmp_path / "out" / name, rows)
    first, second = json.loads((tmp_path / "out/t.json").read_text())
    assert (first["run"], first["state"], first["mae"], first["training.batch_size"]) == (
        "a",
        "finished",
        0.1 + 0.2,
        32,
    )
    assert first["training.optimizer.betas"] == [0.9, 0.999]
    assert (second["step"], second["best"], second["training.batch_size"]) == (2, None, "auto")
    assert "mae" not in second
    frame = pl.read_parquet(tmp_path / "out/t.parquet")
    assert frame["mae"].to_list() == [0.1 + 0.2, None]
    assert frame["training.optimizer.lr"].to_list() == [0.001, 1.0]
    assert frame["training.batch_size"].to_list() == ["32", "auto"]  # of two kinds, so it is text
    assert frame.schema["step"] == pl.Int64
    with (tmp_path / "out/t.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["run"] for row in found] == ["a", "b"]
    assert float(found[0]["mae"]) == 0.1 + 0.2
    assert json.loads(found[0]["training.optimizer.betas"]) == [0.9, 0.999]


def test_histories_are_below_each_other(runs: list[Path], tmp_path: Path) -> None:
    table = table_of_histories(["a", "b"], runs)
    assert table.columns[:2] == ["run", "step"]
    for name, run in zip("ab", runs, strict=True):
        assert_frame_equal(table.filter(pl.col("run") == name).drop("run"), read_history(run))
    for name in ("t.csv", "t.json", "t.parquet"):
        write_table(tmp_path / name, table)
    assert_frame_equal(pl.read_parquet(tmp_path / "t.parquet"), table)
    assert [row["train_loss"] for row in json.loads((tmp_path / "t.json").read_text())] == table["train_loss"].to_list()
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [float(row["train_loss"]) for row in csv.DictReader(file)] == table["train_loss"].to_list()


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv, \.parquet or \.json"):
        write_table(tmp_path / "t.xlsx", [])


def test_numbers_of_any_size_find_a_column(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", [{"a": 10**400, "b": 2**63, "c": True}, {"a": 1.5, "b": 1, "c": 1}])
    frame = pl.read_parquet(tmp_path / "t.parquet")
    assert frame.rows() == [(float("inf"), 2.0**63, "true"), (1.5, 1.0, "1")]
