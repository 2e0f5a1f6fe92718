"""Where runs are written, and what is left when they fail."""

from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.core.errors import InputError, StorageError
from neuro_divergent.data.io.table_file import write_table
from neuro_divergent.interfaces.cli.run_directory import model_directory, named_after
from neuro_divergent.runs.directory import RunDirectory


def test_names() -> None:
    path = named_after("data/sales.2024.csv.gz", "nhits").path
    assert path.parent == Path("runs")
    assert path.name.startswith("sales-nhits-20")
    assert named_after("data/*.csv", "nhits").path.name.startswith("data-nhits-")


def test_a_place_that_is_taken(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.check_free()
    run.path.mkdir()
    run.check_free()
    (run.path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        run.check_free()
    with pytest.raises(InputError, match="exists already"):
        RunDirectory(run.path / "notes.txt").check_free()


def test_a_failed_run_leaves_nothing(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "runs" / "a")

    def fail() -> None:
        with run.opened():
            (run.path / "half").write_text("")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not list(tmp_path.iterdir())


def test_a_failed_run_leaves_what_was_there_before(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "a")
    run.path.mkdir()
    with pytest.raises(KeyboardInterrupt), run.opened():
        raise KeyboardInterrupt
    assert run.path.is_dir()


def test_a_place_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"), RunDirectory(tmp_path / "file" / "run").opened():
        pass


def test_tables_by_their_ending(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    write_table(tmp_path / "new" / "a.csv", frame)
    write_table(tmp_path / "a.parquet", frame)
    assert pl.read_csv(tmp_path / "new" / "a.csv").equals(pl.read_parquet(tmp_path / "a.parquet"))
    with pytest.raises(InputError, match=r"\.csv, \.parquet or \.json"):
        write_table(tmp_path / "a.xlsx", frame)


def test_models_are_found_in_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not found"):
        model_directory(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not a model"):
        model_directory(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.json").write_text("{}")
    assert model_directory(tmp_path) == model_directory(tmp_path / "model") == tmp_path / "model"
