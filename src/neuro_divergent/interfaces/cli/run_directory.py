"""Where a training run is written."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.atomic import write_file
from neuro_divergent.core.errors import InputError, StorageError

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.interfaces.outcome import Outcome

MODEL = "model"
CHECKPOINTS = "checkpoints"
CONFIG = "config.toml"


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one run.

    It holds ``config.toml``, ``environment.json``, ``history.parquet``, ``scores.json``, ``forecasts.csv``,
    ``backtest.parquet``, ``report.html``, ``model/`` and ``checkpoints/``.
    """

    path: Path

    @classmethod
    def named_after(cls, data: str, model: str) -> RunDirectory:
        """Return the usual place for a run: ``runs/<data>-<model>-<time>``."""
        stem = Path(data).name.split(".")[0].strip("*?[]") or "data"
        return cls(Path("runs") / f"{stem}-{model}-{time.strftime('%Y%m%d-%H%M%S')}")

    def check_free(self, *, replace: bool = False) -> None:
        """Refuse a place that is taken.

        Args:
            replace: Whether an earlier run may be written over.
        """
        try:
            is_free = not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir()))
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be read: {error.strerror or error}.") from error
        if not is_free and not (replace and (self.path / CONFIG).is_file()):
            raise InputError(f"{self.path}: exists already; choose another place with --output, or remove it.")

    @property
    def checkpoints(self) -> Path:
        """Where training writes its checkpoints."""
        return self.path / CHECKPOINTS

    def forget_checkpoints(self) -> None:
        """Remove the checkpoints of an earlier run that is written over."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the directory, and take it away again if the run does not come to its end.

        It is made before training, so that a place that cannot be written to is found out first.

        Raises:
            StorageError: If it cannot be made.
        """
        missing = [place for place in (self.path, *self.path.parents) if not place.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be written: {error.strerror or error}.") from error
        try:
            yield
        except BaseException:
            if self.path in missing:
                shutil.rmtree(self.path, ignore_errors=True)
            for place in missing[1:]:
                with suppress(OSError):  # someone else may have put something there meanwhile
                    place.rmdir()
            raise

    def write(self, outcome: Outcome, page: str) -> dict[str, str]:
        """Write everything and return the files by what they hold."""
        forecaster, evaluation = outcome.forecaster, outcome.evaluation
        scores = {
            "parameters": forecaster.num_parameters,
            "seconds": outcome.seconds,
            "notes": outcome.notes,
            **({} if evaluation is None else evaluation.to_dict()),
        }
        forecaster.save(self.path / MODEL)
        files = {
            "model": self.path / MODEL,
            "config": self._text(CONFIG, outcome.config.to_toml()),
            "environment": self._text("environment.json", _json(forecaster.environment)),
            "scores": self._text("scores.json", _json(scores)),
            "history": self._table("history.parquet", forecaster.history),
            "report": self._text("report.html", page),
        }
        if outcome.forecasts is not None:
            files["forecasts"] = self._table("forecasts.csv", outcome.forecasts)
        if evaluation is not None:
            files["backtest"] = self._table("backtest.parquet", evaluation.forecasts)
        return {name: str(path) for name, path in files.items()}

    def _text(self, name: str, content: str) -> Path:
        write_file(self.path / name, content.encode("utf-8"))
        return self.path / name

    def _table(self, name: str, frame: pl.DataFrame) -> Path:
        write_table(self.path / name, frame)
        return self.path / name


def write_table(path: Path, frame: pl.DataFrame) -> None:
    """Write a table as CSV or Parquet, by the ending of the name.

    Raises:
        InputError: If the ending is neither.
        StorageError: If the disk refuses.
    """
    check_table_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".csv":
            frame.write_csv(path)
        else:
            frame.write_parquet(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}.") from error


def check_table_name(path: Path) -> None:
    """Refuse names that do not say which kind of table to write."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: write forecasts to a .csv or a .parquet file.")


def model_directory(path: Path) -> Path:
    """Return the model of a run directory, or the path itself if that is a model already.

    Raises:
        InputError: If there is neither.
    """
    for candidate in (path, path / MODEL):
        if (candidate / "model.json").is_file():
            return candidate
    what = "is not a model or a run" if path.exists() else "not found"
    raise InputError(f"{path}: {what}; give a directory that 'nd train' or save() wrote, such as runs/sales-nhits.")


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n"
