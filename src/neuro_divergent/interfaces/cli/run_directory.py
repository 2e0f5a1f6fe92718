"""Which directory a run is in, and how tables are written."""

from __future__ import annotations

import glob
import io
import time
from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.atomic import write_file
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.foreign import refuse_foreign
from neuro_divergent.forecasting.run_directory import MODEL, RunDirectory

if TYPE_CHECKING:
    import polars as pl


def named_after(data: str, model: str) -> RunDirectory:
    """Return the usual place for a new run: ``runs/<data>-<model>-<time>``."""
    return RunDirectory(Path("runs") / f"{_stem(data, model)}-{time.strftime('%Y%m%d-%H%M%S')}")


def find_unfinished(data: str, model: str) -> RunDirectory:
    """Return the latest run of a table and a model, in the usual place, that has not come to its end.

    Raises:
        InputError: If there is none.
    """
    pattern = f"{glob.escape(_stem(data, model))}-[0-9]*"
    found = [RunDirectory(path) for path in sorted(Path("runs").glob(pattern), reverse=True)]
    for directory in found:
        if directory.has_begun and not directory.is_finished:
            return directory
    raise InputError(
        f"{data}: no unfinished run of {model} in runs/. Leave out --resume to begin one, or name a run to go on with."
    )


def write_table(path: Path, frame: pl.DataFrame) -> Path:
    """Write a table as CSV or Parquet, by the ending of the name, complete or not at all; return the name.

    Raises:
        InputError: If the ending is neither.
        StorageError: If the disk refuses.
    """
    check_table_name(path)
    buffer = io.BytesIO()
    if path.suffix == ".csv":
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    write_file(path, buffer.getvalue())
    return path


def check_table_name(path: Path) -> None:
    """Refuse names that do not say which kind of table to write."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: write forecasts to a .csv or a .parquet file.")


def model_directory(path: Path) -> Path:
    """Return the model of a run directory, or the path itself if that is a model already.

    Raises:
        InputError: If there is neither.
    """
    refuse_foreign(path, "a model")
    for candidate in (path, path / MODEL):
        if (candidate / "model.json").is_file():
            return candidate
    what = "is not a model or a run" if path.exists() else "not found"
    raise InputError(f"{path}: {what}; give a directory that 'nd train' or save() wrote, such as runs/sales-nhits.")


def _stem(data: str, model: str) -> str:
    return f"{Path(data).name.split('.')[0].strip('*?[]') or 'data'}-{model}"
