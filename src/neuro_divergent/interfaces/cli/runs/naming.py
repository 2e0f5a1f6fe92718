"""How a run is named on the command line: by its path, or by its name in the directory of runs."""

from __future__ import annotations

from pathlib import Path


def find_run(name: str, root: Path) -> Path:
    """Return the directory of a run."""
    from neuro_divergent.core.errors import InputError, did_you_mean
    from neuro_divergent.runs.status import is_run

    path = Path(name)
    is_here = bool(name) and is_run(path)
    is_there = name not in ("", ".", "..") and path.name == name and is_run(root / name)
    if is_here and is_there and path.resolve() != (root / name).resolve():
        raise InputError(f"{name}: there is one here and one in {root}. Write ./{name} or {root / name}.")
    if is_here or is_there:
        return path if is_here else root / name
    known = [item.name for item in root.iterdir() if is_run(item)] if root.is_dir() else []
    what = "is not a run" if name and path.exists() else "not found"
    close = did_you_mean(name, known)
    raise InputError(f"{name}: {what}, and {root} holds no run of that name.{close} 'nd runs {root}' lists all.")


def find_runs(names: list[str], root: Path) -> list[Path]:
    """Return the directories of runs, each once."""
    found = [find_run(name, root) for name in names]
    return list({path.resolve(): path for path in found}.values())


def labels_of(paths: list[Path]) -> list[str]:
    """Return short names that tell runs apart: those of their directories, or their paths where two are equal."""
    names = [path.resolve().name for path in paths]
    return [name if names.count(name) == 1 else str(path) for name, path in zip(names, paths, strict=True)]
