"""Files that are complete or absent, and known to be the ones that were written."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import StorageError, UntrustedFileError

MANIFEST = "manifest.json"


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Fill a temporary directory inside the block; it becomes ``path`` when the block ends without an error.

    Every file is flushed to the disk and listed with its SHA-256 in a manifest before the rename, and the rename is
    flushed after it. A directory already at ``path`` is moved away first and deleted last.

    Raises:
        StorageError: If the disk refuses; ``path`` is then as it was.
    """
    path = path.absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}.") from error
    try:
        work.chmod(0o755)
        yield work
        _seal(work)
        _swap(work, path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
        _flush_directory(path.parent)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}.") from error


def verify_directory(path: Path) -> None:
    """Check every file of a directory against its manifest.

    Raises:
        UntrustedFileError: If the manifest is missing or a file is missing, additional or different.
    """
    manifest = read_json(path / MANIFEST)
    listed = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(listed, dict):
        raise UntrustedFileError(f"{path / MANIFEST}: not a manifest.")
    present = {file.name for file in path.iterdir()} - {MANIFEST}
    if present != set(listed):
        raise UntrustedFileError(f"{path}: holds {sorted(present)}, the manifest lists {sorted(listed)}.")
    for name, digest in listed.items():
        if _digest(path / name) != digest:
            raise UntrustedFileError(f"{path / name}: SHA-256 differs from manifest; the file was altered or damaged.")


def read_json(path: Path) -> Any:
    """Read a JSON file, with an error that names it."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UntrustedFileError(f"{path}: not found.") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UntrustedFileError(f"{path}: not valid JSON ({error}).") from None
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}.") from error


def _seal(directory: Path) -> None:
    """Flush all files and write the manifest."""
    files = sorted(directory.iterdir())
    manifest = {"files": {file.name: _digest(file) for file in files}}
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=2), "utf-8")
    for file in (*files, directory / MANIFEST):
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
    _flush_directory(directory)


def _swap(work: Path, path: Path) -> None:
    """Put a finished directory in its place."""
    if path.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}-old-", dir=path.parent))
        path.rename(old / path.name)
        work.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    else:
        work.rename(path)
    _flush_directory(path.parent)


def _flush_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
