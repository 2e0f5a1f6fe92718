"""A conversion that was killed goes on, and its files are the same, byte for byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConversionWarning, InputError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.data.conversion import conversion, converter, journal
from neuro_divergent.data.conversion.conversion import convert
from neuro_divergent.data.conversion.journal import work_directory
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema

SCHEMA = Schema(past=("p",), static=("s",), missing="mask", gaps="forward")


class KilledError(BaseException):
    """Stands for a signal that ends the process."""


@pytest.fixture(params=["sorted", "shuffled", "csv"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    random = np.random.default_rng(7)
    ids, times = np.repeat(np.arange(9), 20), np.tile(np.arange(20), 9)
    names = pl.Series([f"store {number}" for number in ids])
    frame = pl.DataFrame(
        {"unique_id": names, "ds": times, "y": random.normal(size=180), "p": random.normal(size=180), "s": ids % 3}
    )
    frame = frame.with_columns(y=pl.when(pl.int_range(180) % 41 == 5).then(None).otherwise(pl.col("y")))
    frame = frame.filter(pl.int_range(180) % 37 != 6)
    if request.param != "sorted":
        frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    if request.param == "csv":
        frame.head(90).write_csv(tmp_path / "a.csv")
        frame.slice(90).write_csv(tmp_path / "b.csv")
        return f"{tmp_path}/*.csv"
    frame.write_parquet(tmp_path / "a.parquet")
    return f"{tmp_path}/a.parquet"


@contextmanager
def small_parts() -> Iterator[None]:
    with (
        patch.object(converter, "plan_rows", lambda *_: (25, 40)),
        patch.object(conversion, "_SECONDS_BETWEEN_RECORDS", 0.0),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def killed_at(moment: int) -> Iterator[None]:
    """Raise when the disk is flushed, or a name changes, for the n-th time."""
    left = moment

    def counted(usual):  # type: ignore[no-untyped-def]
        def call(*arguments, **named):  # type: ignore[no-untyped-def]
            nonlocal left
            left -= 1
            if not left:
                raise KilledError
            return usual(*arguments, **named)

        return call

    with (
        patch.object(os, "fsync", counted(os.fsync)),
        patch.object(Path, "rename", counted(Path.rename)),
        patch.object(Path, "unlink", counted(Path.unlink)),
    ):
        yield


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_conversion_stopped_at_any_moment_goes_on_to_the_same_bytes(source: str, tmp_path: Path) -> None:
    with small_parts():
        convert(source, tmp_path / "whole", SCHEMA)
        expected = contents(tmp_path / "whole")
        for moment in range(1, 400, 9):
            target = tmp_path / f"panel-{moment}"
            try:
                with killed_at(moment):
                    convert(source, target, SCHEMA)
                finished = True
            except KilledError:
                finished = False
                assert not target.exists() or contents(target) == expected
                convert(source, target, SCHEMA)
            assert contents(target) == expected
            assert not work_directory(target).exists()
            if finished:
                break
        assert finished
        assert moment > 40


def test_a_resumed_conversion_does_not_read_again_what_is_done(tmp_path: Path) -> None:
    frame = pl.DataFrame({"unique_id": np.repeat(np.arange(40), 5), "ds": [*range(5)] * 40, "y": np.arange(200.0)})
    frame.write_parquet(tmp_path / "a.parquet")
    target = tmp_path / "panel"
    stages: list[tuple[str, int]] = []
    with small_parts():
        with pytest.raises(KilledError), killed_at(25):
            convert(f"{tmp_path}/a.parquet", target, Schema())
        convert(f"{tmp_path}/a.parquet", target, Schema(), progress=lambda at: stages.append((at.stage, at.resumed)))
    assert stages[0][0] == "writing"
    assert stages[0][1] > 0


@pytest.mark.parametrize("change", ["file", "settings", "restart", "record"])
def test_an_unfinished_conversion_begins_again_where_it_cannot_go_on(change: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"unique_id": np.repeat(np.arange(40), 5), "ds": [*range(5)] * 40, "y": np.arange(200.0)})
    path, target = tmp_path / "a.parquet", tmp_path / "panel"
    frame.write_parquet(path)
    with small_parts(), pytest.raises(KilledError), killed_at(25):
        convert(str(path), target, Schema())
    if change == "file":
        frame.with_columns(y=-pl.col("y")).write_parquet(path)
    if change == "record":
        (work_directory(target) / journal._JOURNAL).write_bytes(b"{")
    schema = Schema(missing="mask") if change == "settings" else Schema()
    with patch.object(converter, "plan_rows", lambda *_: (25, 40)), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        convert(str(path), target, schema, restart=change == "restart")
    said = [str(item.message) for item in seen if item.category is ConversionWarning]
    reasons = {"file": "the files have changed", "settings": "the settings have changed", "record": "cannot be read"}
    assert len(said) == (change != "restart")
    assert all(reasons[change] in text for text in said)
    assert Panel.open(target).y[7] == (-7 if change == "file" else 7)


def test_two_processes_do_not_convert_to_the_same_place(tmp_path: Path) -> None:
    pl.DataFrame({"ds": [1, 2], "y": [1.0, 2.0]}).write_parquet(tmp_path / "a.parquet")
    work = work_directory(tmp_path / "panel")
    work.mkdir()
    with RunLock(work / "lock"), pytest.raises(InputError, match="in use by"):
        convert(f"{tmp_path}/a.parquet", tmp_path / "panel", Schema())


SCRIPT = textwrap.dedent(
    """
    import os, signal, sys, warnings
    from pathlib import Path
    from neuro_divergent.data.conversion import conversion, converter
    from neuro_divergent.data.schema import Schema
    source, target, moment = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    converter.plan_rows = lambda *_: (25, 40)
    conversion._SECONDS_BETWEEN_RECORDS = 0.0
    flush = os.fsync
    def count(handle):
        global moment
        moment -= 1
        if not moment:
            os.kill(os.getpid(), signal.SIGKILL)
        flush(handle)
    os.fsync = count
    warnings.simplefilter("ignore")
    conversion.convert(source, target, Schema(past=("p",), static=("s",), missing="mask", gaps="forward"))
    """
)


@pytest.mark.long
def test_a_killed_process_is_gone_on_with_to_the_same_bytes(source: str, tmp_path: Path) -> None:
    with small_parts():
        convert(source, tmp_path / "whole", SCHEMA)
    target = tmp_path / "panel"

    def run(moment: int) -> int:
        return subprocess.run([sys.executable, "-c", SCRIPT, source, str(target), str(moment)], check=False).returncode

    kills = 0
    for moment in (5, 13):
        if target.exists():
            break
        code = run(moment)
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
    assert target.exists() or run(10**6) == 0
    assert kills == 2
    assert contents(target) == contents(tmp_path / "whole")
