"""The directory of a search: finished tasks, from which an interrupted search resumes, and the best model so far.

DIR/  auto.json   settings and fingerprint of the data      progress.json   time spent
      results/<candidate>-<round>-<digest>/                   out-of-fold forecasts and costs of a task
      networks/<candidate>-<round>/                           a fitted network
      model/                                                  the best model so far, replaced as better ones come
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError, NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import clear_leftovers, read_directory, read_json, write_directory, write_file
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.runs.directory import MODEL
from neuro_divergent.search.auto.backtest import FitResult, FitTask
from neuro_divergent.search.auto.files import COMMAND, LEADERBOARD, PROGRESS, SETTINGS

FORMAT = 1
_RESULTS, _NETWORKS = "results", "networks"
_LOCK = "lock"


@dataclass(frozen=True, eq=False)
class StoredResult:
    """A finished task.

    Attributes:
        name: Candidate.
        round: Round of the search.
        series: Series that were forecast.
        result: What it gave; ``None`` if it failed.
        reason: Why it failed.
    """

    name: str
    round: str
    series: Any
    result: FitResult | None
    reason: str | None


@dataclass(frozen=True)
class SearchDirectory:
    """The directory of a search."""

    path: Path

    @property
    def model(self) -> Path:
        """Where the best model so far is."""
        return self.path / MODEL

    @property
    def has_begun(self) -> bool:
        """Whether a search was begun here."""
        return (self.path / SETTINGS).is_file()

    @property
    def is_finished(self) -> bool:
        """Whether the search came to its end."""
        return (self.path / LEADERBOARD).is_file()

    def network(self, name: str, round_name: str) -> Path:
        """Return the place of a fitted network."""
        return self.path / _NETWORKS / f"{name}-{round_name}"

    @contextmanager
    def opened(self, settings: dict[str, Any]) -> Iterator[None]:
        """Lock the directory, and begin or resume a search in it.

        Raises:
            InputError: If it holds a search with other settings or data, or something else, or another process uses it.
        """
        others = [item for item in self.path.iterdir() if item.name != COMMAND] if self.path.exists() else []
        if not self.has_begun and others:
            raise InputError(f"{self.path}: is not empty and holds no search; choose another directory.")
        self.path.mkdir(parents=True, exist_ok=True)
        with RunLock(self.path / _LOCK):
            clear_leftovers(self.path)
            if self.has_begun:
                before = self.settings()
                different = [key for key, value in settings.items() if before.get(key) != value]
                if different:
                    raise InputError(
                        f"{self.path}: holds a search with another {different[0]}; choose another directory, or remove "
                        "this one."
                    )
            else:
                document = {"format": FORMAT, "version": __version__, **settings}
                write_file(self.path / SETTINGS, strict_json.dumps(document, indent=1))
            for name in (_RESULTS, _NETWORKS):
                if (self.path / name).is_dir():
                    clear_leftovers(self.path / name)
            yield

    def settings(self) -> dict[str, Any]:
        """Return the settings that the search was begun with.

        Raises:
            InputError: If there is no search.
            UntrustedFileError: If the file is damaged or of a newer version.
        """
        if not self.has_begun:
            raise InputError(f"{self.path}: there is no search; 'nd auto FILE --output DIR' begins one.")
        document = read_json(self.path / SETTINGS)
        version = document.get("format") if isinstance(document, dict) else None
        if type(version) is not int or version < 1:
            raise UntrustedFileError(f"{self.path / SETTINGS}: does not describe a search.")
        if version > FORMAT:
            raise NewerFormatError(self.path / SETTINGS, version, FORMAT)
        assert isinstance(document, dict)
        return document

    def progress(self) -> dict[str, Any]:
        """Return what was noted on the way; empty at the beginning."""
        path = self.path / PROGRESS
        found = read_json(path) if path.is_file() else {}
        return found if isinstance(found, dict) else {}

    def note(self, **values: Any) -> None:
        """Note values such as the time spent, in addition to those noted before."""
        write_file(self.path / PROGRESS, strict_json.dumps({**self.progress(), **values}, indent=1))

    def save(self, task: FitTask, outcome: FitResult | str) -> None:
        """Write the result of a task, or why there is none."""
        digest = hashlib.sha256(task.series.tobytes()).hexdigest()[:16]
        path = self.path / _RESULTS / f"{task.candidate.name}-{task.round}-{digest}"
        document: dict[str, Any] = {"name": task.candidate.name, "round": task.round, "reason": None, "result": None}
        tensors = {"series": torch.from_numpy(np.ascontiguousarray(task.series))}
        if isinstance(outcome, str):
            document["reason"] = outcome
        else:
            tensors["forecasts"] = torch.from_numpy(np.ascontiguousarray(outcome.forecasts))
            document["result"] = {name: value for name, value in asdict(outcome).items() if name != "forecasts"}
        files = [("result.json", strict_json.dumps(document)), ("result.safetensors", dump_tensors(tensors))]
        write_directory(path, files, whatever_is_there=True)

    def results(self) -> list[StoredResult]:
        """Return all finished tasks; a damaged one counts as not done."""
        folder = self.path / _RESULTS
        found = []
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not path.is_dir() or path.name.startswith("."):
                continue
            try:
                files = read_directory(path)
                document = strict_json.loads(files["result.json"], str(path))
                tensors = load_tensors(files["result.safetensors"], str(path))
                made = document["result"]
                result = None if made is None else FitResult(forecasts=tensors["forecasts"].numpy(), **made)
                series = tensors["series"].numpy()
                found.append(StoredResult(document["name"], document["round"], series, result, document["reason"]))
            except (UntrustedFileError, KeyError, TypeError):
                continue
        return found
