"""Deletes runs, or what they hold that is not needed: checkpoints, or the model.

Nothing here needs torch.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import clear_leftovers, remove_directory, write_file
from neuro_divergent.core.storage.lock import RunLock, holder
from neuro_divergent.runs.diff import flatten_config, read_config
from neuro_divergent.runs.directory import CHECKPOINTS, LOCK, MODEL, PRETRAINED, RUN, STATUS
from neuro_divergent.runs.status import QUARANTINE, REMOVED, describe_run, is_run
from neuro_divergent.runs.values import read_object

_MOST_BYTES = 16 * 1024**2


def check_removable(path: Path) -> None:
    """Refuse what must not be deleted as a run.

    A directory is one if its ``run.json`` or ``status.json`` says so: that it holds a ``config.toml``, as many projects
    do, is not enough.

    Raises:
        InputError: If it is a link, not certainly a run, holds other runs or the current directory, or trains now.
    """
    if path.is_symlink():
        raise InputError(f"{path}: is a link; name the directory it leads to.")
    if not _is_certainly_run(path):
        what = "is not certainly a run; if it is one, remove it by hand" if is_run(path) else "is not a run"
        raise InputError(f"{path}: {what}. It is not deleted.")
    here = Path.cwd()
    place = path.resolve()
    if place == here or place in here.parents:
        raise InputError(f"{path}: is or holds the current directory. Go elsewhere first.")
    for item in sorted(path.iterdir()):
        if item.name not in (CHECKPOINTS, MODEL, PRETRAINED) and item.is_dir() and is_run(item):
            raise InputError(f"{path}: holds another run, {item.name}. Delete or move that first.")
    if (who := holder(path / LOCK)) is not None:
        stop = "" if who.pid is None else f", or stop it with: kill {who.pid}"
        raise InputError(f"{path}: in use by {who}; wait for it{stop}.")


def delete_run(path: Path) -> int:
    """Delete a run and return how many bytes that freed; checkpoints at another place are left there.

    Its directory is complete or absent at every moment, and nobody begins to train in it meanwhile.
    """
    check_removable(path)
    size = size_of(path)
    with RunLock(path / LOCK):
        remove_directory(path.absolute())
    return size


def delete_checkpoints(path: Path) -> int:
    """Delete the checkpoints of a run but the best and the last, and all quarantined ones; return the bytes freed."""
    check_removable(path)
    place = path / CHECKPOINTS
    configured = flatten_config(read_config(path)).get("checkpoints.directory", "none")
    if configured not in ("", "none") and Path(str(configured)).resolve() != place.resolve():
        raise InputError(f"{path}: its checkpoints are in {configured}, which is not touched.")
    if place.is_symlink():
        raise InputError(f"{place}: is a link; checkpoints at another place are not touched.")
    with RunLock(path / LOCK):
        before = size_of(place)
        run = describe_run(path)
        complete = [item.name for item in run.checkpoints if item.is_complete]
        kept = {item.name for item in run.checkpoints if item.is_best} | set(complete[-1:])
        with suppress(FileNotFoundError):
            for item in run.checkpoints:
                if item.name not in kept and (place / item.name).is_dir():
                    remove_directory((place / item.name).absolute())
            if not (place / QUARANTINE).is_symlink():
                remove_directory((place / QUARANTINE).absolute())
            clear_leftovers(place)
        return before - size_of(place)


def delete_model(path: Path) -> int:
    """Delete the model of a finished run, and return how many bytes that freed; all else stays."""
    size = size_of(path / MODEL)
    # Said first, so that a run without a model is never taken for a damaged one.
    status = read_object(path / STATUS, _MOST_BYTES) or {}
    write_file(path / STATUS, strict_json.dumps({**status, REMOVED: True}, indent=2) + b"\n")
    remove_directory((path / MODEL).absolute())
    return size


def size_of(path: Path) -> int:
    """Return how many bytes the files in a directory have; what links lead to does not count."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += (Path(folder) / name).lstat().st_size
    return total


def _is_certainly_run(path: Path) -> bool:
    """Whether it holds one of the files that only a run has."""
    marks = ((RUN, {"format", "config"}), (STATUS, {"state", "pid", "host"}))
    return any(keys <= set(read_object(path / name, _MOST_BYTES) or {}) for name, keys in marks)
