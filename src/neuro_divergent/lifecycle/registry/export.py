"""Writes a version to a directory that other programs read."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import flush_directory, write_directory, write_file
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.lifecycle.registry.model_version import ModelVersion
from neuro_divergent.runs.directory import MODEL

FORMATS = ("directory", "mlflow")
VERSION = "version.json"
MLMODEL, REQUIREMENTS = "MLmodel", "requirements.txt"
_LOADER = "neuro_divergent.lifecycle.registry.mlflow_flavor"
_MLFLOW = "3.1.0"  # the oldest version whose format this is


def export_version(version: ModelVersion, path: Path, layout: str) -> Path:
    """Write a version to a new directory, complete or not at all, and return its path.

    Raises:
        InputError: If there is something at ``path``.
        UntrustedFileError: If the stored files were altered.
        StorageError: If the disk refuses.
    """
    path = path.absolute()
    if os.path.lexists(path):
        raise InputError(f"{path}: exists already; choose another path.")
    others = {VERSION: strict_json.dumps(version.to_dict(), indent=1), **version.evidence_files()}
    if layout == "mlflow":
        others |= {MLMODEL: _mlmodel(version), REQUIREMENTS: _requirements(version)}
    return _write(path, version.files(), others)


def _write(path: Path, model: Mapping[str, bytes], others: Mapping[str, bytes]) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
    except OSError as error:
        raise storage_error(path, "written", error) from error
    try:
        work.chmod(0o755)
        for name, content in others.items():
            write_file(work / name, content)
        write_directory(work / MODEL, model.items())
        work.rename(path)
        flush_directory(path.parent)
    except OSError as error:
        raise storage_error(path, "written", error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return path


def _mlmodel(version: ModelVersion) -> bytes:
    """Return the description that MLflow reads; it is YAML, of which JSON is a part."""
    python = (version.environment or {}).get("python") or platform.python_version()
    document: dict[str, Any] = {
        "flavors": {
            "python_function": {
                "loader_module": _LOADER,
                "data": MODEL,
                "python_version": python,
                "env": {"virtualenv": None},
            },
            "neuro_divergent": {
                "data": MODEL,
                "kind": version.kind,
                "name": version.name,
                "version": version.version,
                "number": version.number,
                "digest": version.digest,
                "neuro_divergent_version": __version__,
            },
        },
        "mlflow_version": _MLFLOW,
        "model_uuid": version.digest[:32],
        "utc_time_created": version.created.replace("T", " ").partition("+")[0],
        "metadata": {"scores": version.scores, "tags": version.tags},
    }
    return strict_json.dumps(document, indent=1)


def _requirements(version: ModelVersion) -> bytes:
    packages = (version.environment or {}).get("packages") or {}
    names = {"neuro-divergent": __version__, **{name: found for name, found in packages.items() if found}}
    names["neuro-divergent"] = names.get("neuro-divergent") or __version__
    return "".join(f"{name}=={str(found).partition('+')[0]}\n" for name, found in names.items()).encode()
