"""Which directory a run is in."""

from __future__ import annotations

import glob
import shlex
import time
from pathlib import Path

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.pickle_guard import refuse_pickle
from neuro_divergent.interfaces.cli.found_runs import PLACES, TABLES, latest_model, looks_like_run
from neuro_divergent.runs.directory import MODEL, STATUS, RunDirectory
from neuro_divergent.runs.status import REMOVED
from neuro_divergent.runs.values import read_object

_MOST_BYTES = 1 << 20


def named_after(data: str, model: str) -> RunDirectory:
    """Return the usual place for a new run: ``runs/<data>-<model>-<time>``."""
    return RunDirectory(Path("runs") / f"{_stem(data, model)}-{time.strftime('%Y%m%d-%H%M%S')}")


def find_unfinished(data: str, model: str) -> RunDirectory:
    """Return the latest run of a table and a model, in the usual place, that has not come to its end."""
    pattern = f"{glob.escape(_stem(data, model))}-[0-9]*"
    found = [RunDirectory(path) for path in sorted(Path("runs").glob(pattern), reverse=True)]
    for directory in found:
        if directory.has_begun and not directory.is_finished:
            return directory
    raise InputError(
        f"{data}: no unfinished run of {model} in runs/. Leave out --resume to begin one, or name a run to go on with."
    )


def model_directory(path: Path, command: str = "nd predict") -> Path:
    """Return the model of a run directory, or the path itself if that is a model already.

    ``command`` is the one that was called, with a model and a table, for the message about a table without a model.
    """
    run = latest_model()
    if path.name.lower().endswith(TABLES) and not path.is_dir():
        missing = f"; no run is here yet: 'nd train {path}' makes one" if run is None else ""
        raise InputError(
            f"{path}: is a table; name the model before it, as in: {command} {run or 'RUN'} {path}{missing}"
        )
    refuse_pickle(path, "a model")
    for candidate in (path, path / MODEL):
        if (candidate / "model.json").is_file():
            return candidate
    if (read_object(path / STATUS, _MOST_BYTES) or {}).get(REMOVED) is True:
        study, trial = path.resolve().parent.parent, path.resolve().name.partition("-")[0].lstrip("0") or "0"
        raise InputError(
            f"{path}: its model was removed, because other trials of the study are better; train it again with: "
            f"nd search best {shlex.quote(str(study))} --trial {trial} --fit"
        )
    if looks_like_run(path):
        name = shlex.quote(str(path))
        raise InputError(
            f"{path}: has no model yet, because its training has not come to its end; 'nd train {name} --resume' goes "
            f"on, 'nd runs show {name}' says how it stands."
        )
    what = "is not a model or a run" if path.exists() else "not found"
    if not path.exists() and looks_like_run(named := PLACES[0] / path):
        raise InputError(f"{path}: not found. Did you mean '{named}'?")
    such = run or "runs/sales-nhits"
    raise InputError(f"{path}: {what}; give a directory that 'nd train' or save() wrote, such as {such}.")


def any_model_directory(path: Path) -> Path | None:
    """Return the model of any kind but a forecaster in a directory or run; ``None`` if there is no such model."""
    from neuro_divergent.core.storage.manifest import MANIFEST
    from neuro_divergent.forecasting.load import KINDS

    others = [name for name in KINDS if name != "model.json"]
    for candidate in (path / MODEL, path):
        if (candidate / MANIFEST).is_file() and any((candidate / name).is_file() for name in others):
            return candidate
    return None


def _stem(data: str, model: str) -> str:
    data = data.partition("?")[0] if "://" in data else data  # options of the address of a database
    return f"{Path(data).name.split('.')[0].strip('*?[]') or 'data'}-{model}"
