"""Loading panels: stored ones, tables in parts, and tables that are too large for the memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.available_memory import available_memory
from neuro_divergent.core.errors import ConversionWarning, DataError, DataWarning
from neuro_divergent.data import load
from neuro_divergent.data.conversion.cache import cache_directory
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema


@pytest.fixture
def table() -> pl.DataFrame:
    return Synthetic(num_series=7, length=40, seed=3).frame()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ND_PANEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_stored_panel_is_opened(table: pl.DataFrame, tmp_path: Path) -> None:
    expected = build_panel(table, Schema())
    expected.save(tmp_path / "panel")
    for source in (tmp_path / "panel", str(tmp_path / "panel")):
        loaded = load_panel(source, Schema())
        assert loaded.is_memory_mapped
        assert loaded.to_frame().equals(expected.to_frame())
    same = load_panel(tmp_path / "panel", Schema(target="y", frequency=str(expected.frequency), encoding="latin-1"))
    assert same.schema == expected.schema


def test_fields_that_are_about_using_a_panel_are_taken(table: pl.DataFrame, tmp_path: Path) -> None:
    build_panel(table, Schema()).save(tmp_path / "panel")
    loaded = load_panel(tmp_path / "panel", Schema(short="drop", unknown_category="unknown"))
    assert loaded.schema.short == "drop"
    assert loaded.schema.unknown_category == "unknown"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "z"}, "target='y', not 'z'"),
        ({"frequency": "7d"}, "frequency=None, not '7d'"),
        ({"missing": "zero", "past": "p"}, r"past=\(\), not \('p',\), missing='error', not 'zero'"),
    ],
)
def test_a_schema_that_contradicts_a_stored_panel_is_refused(
    given: dict[str, str], message: str, table: pl.DataFrame, tmp_path: Path
) -> None:
    build_panel(table, Schema()).save(tmp_path / "panel")
    with pytest.raises(DataError, match=message):
        load_panel(tmp_path / "panel", Schema(**given))


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_table_too_large_for_the_memory_is_converted_once(
    shuffled: bool, table: pl.DataFrame, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = table.sample(fraction=1.0, shuffle=True, seed=1) if shuffled else table
    path = tmp_path / "sales.parquet"
    stored.write_parquet(path)
    monkeypatch.setattr(load, "available_memory", lambda: 1000)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        loaded = load_panel(path, Schema())
    assert [item.category for item in seen] == [ConversionWarning, *[DataWarning] * shuffled]
    message = str(seen[0].message)
    assert "1.12 kB as a panel" in message
    assert f"is converted to {cache}" in message
    assert f"'nd panel build \"{path}\" --output DIRECTORY'" in message
    assert loaded.is_memory_mapped
    assert loaded.to_frame().equals(build_panel(table, Schema()).to_frame())
    again = load_panel(path, Schema())  # without a warning, which would be an error
    assert again.directory == loaded.directory
    assert len([entry for entry in cache.iterdir() if entry.is_dir()]) == 1


def test_a_converted_table_is_converted_again_when_it_changed(
    table: pl.DataFrame, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sales.parquet"
    table.write_parquet(path)
    monkeypatch.setattr(load, "available_memory", lambda: 1000)
    with pytest.warns(ConversionWarning):
        load_panel(path, Schema())
    table.with_columns(y=-pl.col("y")).write_parquet(path)
    with pytest.warns(ConversionWarning):
        loaded = load_panel(path, Schema())
    assert np.array_equal(loaded.y, -build_panel(table, Schema()).y)
    with pytest.warns(ConversionWarning):
        load_panel(path, Schema(missing="mask"))  # another schema is another entry
    assert len([entry for entry in cache.iterdir() if entry.is_dir()]) == 2


def test_a_large_csv_file_is_converted(table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table.write_csv(tmp_path / "sales.csv")
    monkeypatch.setattr(load, "available_memory", lambda: 1000)
    with pytest.warns(ConversionWarning):
        loaded = load_panel(tmp_path / "sales.csv", Schema())
    assert loaded.to_frame().equals(build_panel(tmp_path / "sales.csv", Schema()).to_frame())


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ND_PANEL_CACHE", "/a")
    assert cache_directory() == Path("/a")
    monkeypatch.delenv("ND_PANEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache_directory() == Path("/b/neuro-divergent/panels")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/c")
    assert cache_directory() == Path("/c/.cache/neuro-divergent/panels")


SCRIPT = textwrap.dedent(
    """
    import sys, warnings
    from neuro_divergent.data import load
    from neuro_divergent.data.schema import Schema
    load.available_memory = lambda: 1000
    warnings.simplefilter("always")
    print(load.load_panel(sys.argv[1], Schema()).directory)
    """
)


@pytest.mark.long
def test_of_two_processes_one_converts_and_the_other_waits(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_parquet(tmp_path / "sales.parquet")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "sales.parquet")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    ends = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert len({out for out, _ in ends}) == 1
    assert sum("ConversionWarning" in said for _, said in ends) == 1


def test_limits_of_the_process_bound_the_memory_that_is_available(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import resource
        from neuro_divergent.core.available_memory import available_memory
        resource.setrlimit(resource.RLIMIT_DATA, (300 * 2**20,) * 2)
        print(available_memory())
        """
    )
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert 0 < int(found.stdout) < 300 * 2**20
    assert available_memory() is not None
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 5 kB\n")
    assert available_memory(root=tmp_path) == 5 * 1024
