"""Which directory a run is in, and what is written there at its end."""

from __future__ import annotations

import glob
import io
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.atomic import write_file
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.foreign import refuse_foreign
from neuro_divergent.forecasting.run_directory import CONFIG, MODEL, RunDirectory

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.interfaces.outcome import Outcome


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


def write_run(directory: RunDirectory, outcome: Outcome, page: str) -> dict[str, str]:
    """Write all that came out of a run and return the files by what they hold."""
    forecaster, evaluation, path = outcome.forecaster, outcome.evaluation, directory.path
    scores = {
        "parameters": forecaster.num_parameters,
        "seconds": outcome.seconds,
        "notes": outcome.notes,
        **({} if evaluation is None else evaluation.to_dict()),
    }
    forecaster.save(path / MODEL)
    files = {
        "model": path / MODEL,
        "config": _text(path / CONFIG, outcome.config.to_toml()),
        "environment": _text(path / "environment.json", _json(forecaster.environment)),
        "scores": _text(path / "scores.json", _json(scores)),
        "history": write_table(path / "history.parquet", forecaster.history),
        "report": _text(path / "report.html", page),
    }
    if outcome.forecasts is not None:
        files["forecasts"] = write_table(path / "forecasts.csv", outcome.forecasts)
    if evaluation is not None:
        files["backtest"] = write_table(path / "backtest.parquet", evaluation.forecasts)
    return {name: str(file) for name, file in files.items()}


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


def _text(path: Path, content: str) -> Path:
    write_file(path, content.encode("utf-8"))
    return path


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n"
