"""Inputs and outputs of stages: tables, values of JSON, models and files, each with a digest of its content."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import MANIFEST, new_directory, read_file, verify_directory, write_directory
from neuro_divergent.core.storage.manifest import is_name

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["table", "value", "model", "file", "directory"]
KINDS: tuple[str, ...] = get_args(Kind)
TABLE, VALUE = "table.parquet", "value.json"
_ACCEPTED = (
    "outputs are tables (polars, pandas, Arrow), values of JSON (text, finite numbers, lists, dicts), "
    "fitted models, and paths of files or directories"
)
# Parts of a model that differ from one training to the next although the model is the same.
_INCIDENTAL = ("history", "environment", "seconds")


@dataclass(frozen=True)
class Artifact:
    """An input or output of a stage.

    Attributes:
        kind: What it is.
        digest: SHA-256 of its content: of values, not of how and when they were computed.
        path: Its directory; ``None`` for data that are given to a pipeline.
        source: Returns the content of data that are given to a pipeline.
    """

    kind: Kind
    digest: str
    path: Path | None = None
    source: Callable[[], Any] | None = None

    @property
    def file(self) -> Path:
        """The path to hand on: the file of a table, value or file, the directory of a model or directory."""
        assert self.path is not None
        if self.kind in ("model", "directory"):
            return self.path
        names = {"table": TABLE, "value": VALUE}
        if self.kind in names:
            return self.path / names[self.kind]
        return next(item for item in sorted(self.path.iterdir()) if item.name != MANIFEST)

    @property
    def bytes(self) -> int:
        """Size of its files."""
        return 0 if self.path is None else sum(item.stat().st_size for item in self.path.iterdir())

    def load(self) -> Any:
        """Return a polars table, a value, a loaded model, or the path of a file or directory."""
        if self.source is not None:
            return self.source()
        if self.kind == "table":
            return self.table()
        if self.kind == "value":
            return strict_json.loads(read_file(self.file), str(self.file))
        if self.kind == "model":
            from neuro_divergent.forecasting.load import load

            return load(self.file)
        return self.file

    def table(self) -> pl.DataFrame:
        """Return the table that it is.

        Raises:
            InputError: If it is something else.
        """
        import polars as pl

        if self.kind != "table":
            raise InputError(f"a table is needed, and what is given is a {self.kind}.")
        if self.source is not None:
            return cast(pl.DataFrame, self.source())
        return pl.read_parquet(self.file, memory_map=False)

    def describe(self) -> dict[str, Any]:
        """Return kind, digest and size as plain values."""
        return {"kind": self.kind, "digest": self.digest, "bytes": self.bytes}


@dataclass(frozen=True)
class Tree:
    """An output that is a copy of a directory, where not all of its content tells one from another.

    Attributes:
        path: The directory.
        digest: What stands for its content.
    """

    path: Path
    digest: str


def write_artifact(path: Path, value: Any) -> Artifact:
    """Write an output to a directory with a manifest, complete or not at all.

    Raises:
        InputError: If it is nothing that can be an output.
        StorageError: If the disk refuses.
    """
    if _is_table(value):
        frame = as_frame(value)
        content = _parquet(frame)
        write_directory(path, [(TABLE, content)], whatever_is_there=True)
        return Artifact("table", hashlib.sha256(content).hexdigest(), path)
    if isinstance(value, Tree):
        _copy(value.path, path)
        return Artifact("directory", value.digest, path)
    if isinstance(value, Path):
        return _write_path(path, value)
    if hasattr(value, "to_files") and hasattr(value, "predict"):
        write_directory(path, value.to_files(), whatever_is_there=True)
        return Artifact("model", model_digest(path), path)
    content = _json(value)
    write_directory(path, [(VALUE, content)], whatever_is_there=True)
    return Artifact("value", value_digest(value), path)


def read_artifact(path: Path, description: Mapping[str, Any]) -> Artifact:
    """Return an output that was written before, after comparing its files with their manifest.

    Raises:
        UntrustedFileError: If a file is missing, additional or different, or the description is not one.
        StorageError: If it cannot be read.
    """
    kind, digest = description.get("kind"), description.get("digest")
    if kind not in KINDS or not isinstance(digest, str):
        raise UntrustedFileError(f"{path}: is described as {dict(description)!r}.")
    verify_directory(path)
    return Artifact(cast(Kind, kind), digest, path)


def value_digest(value: Any) -> str:
    """Return a SHA-256 of a value of JSON; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def table_digest(frame: pl.DataFrame) -> str:
    """Return a SHA-256 of the content of a table: names and types of columns, and all values in their order."""
    return hashlib.sha256(_parquet(frame)).hexdigest()


def model_digest(path: Path) -> str:
    """Return a SHA-256 of a saved model without its timings and the machine that it was trained on."""
    digest = hashlib.sha256()
    for item in sorted(path.iterdir()):
        if item.name == MANIFEST:
            continue
        digest.update(f"{item.name}\0".encode())
        if item.suffix == ".json":
            content = _lasting(strict_json.loads(read_file(item), str(item), constants=True))
            digest.update(value_digest(content).encode())
        else:
            with item.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def as_frame(value: Any) -> pl.DataFrame:
    """Return a table of polars, pandas or Arrow as a polars table."""
    import polars as pl

    from neuro_divergent.data.io.native import read_frame

    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    return value if isinstance(value, pl.DataFrame) else read_frame(value, None).frame


def _is_table(value: Any) -> bool:
    import polars as pl

    root = type(value).__module__.partition(".")[0]
    return isinstance(value, (pl.DataFrame, pl.LazyFrame)) or (
        root in ("pandas", "pyarrow") and type(value).__name__ in ("DataFrame", "Table", "RecordBatch")
    )


def _parquet(frame: pl.DataFrame) -> bytes:
    import polars as pl

    buffer = io.BytesIO()
    try:
        frame.rechunk().write_parquet(buffer)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError) as error:
        types = ", ".join(f"{name}: {dtype}" for name, dtype in frame.schema.items() if dtype == pl.Object)
        reason = types or str(error).splitlines()[0]
        raise InputError(
            f"a table cannot be written as Parquet ({reason}); give its columns types that files have."
        ) from error
    return buffer.getvalue()


def _json(value: Any) -> bytes:
    try:
        return strict_json.dumps(value, indent=1)
    except InputError as error:
        reason = str(error).removeprefix("cannot be written as JSON: ").rstrip(".")
        raise InputError(f"a {type(value).__name__} cannot be kept ({reason}); {_ACCEPTED}.") from error


def _write_path(target: Path, source: Path) -> Artifact:
    if source.is_file():
        if not is_name(source.name) or source.name == MANIFEST:
            raise InputError(f"{source.name!r} cannot be the name of an output; use letters, digits, '.', '_' and '-'.")
        _copy_files(target, [source])
        with source.open("rb") as file:
            return Artifact("file", hashlib.file_digest(file, "sha256").hexdigest(), target)
    if not source.is_dir():
        raise InputError(f"{source}: is no file or directory, so it cannot be an output.")
    _copy(source, target)
    if _is_model(target):
        return Artifact("model", model_digest(target), target)
    digest = hashlib.sha256()
    for item in sorted(target.iterdir()):
        with item.open("rb") as file:
            digest.update(f"{item.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\0".encode())
    return Artifact("directory", digest.hexdigest(), target)


def _copy(source: Path, target: Path) -> None:
    files = sorted(source.iterdir())
    for item in files:
        if not item.is_file() or not is_name(item.name):
            raise InputError(f"{item}: a directory that is an output holds files only, with plain names.")
    _copy_files(target, [item for item in files if item.name != MANIFEST])


def _copy_files(target: Path, files: list[Path]) -> None:
    with new_directory(target) as work:
        for item in files:
            shutil.copyfile(item, work / item.name)


def _is_model(path: Path) -> bool:
    from neuro_divergent.forecasting.load import KINDS as MODELS

    return any((path / name).is_file() for name in MODELS)


def _lasting(value: Any) -> Any:
    """Return a description without what differs from one training to the next."""
    if isinstance(value, dict):
        return {key: _lasting(item) for key, item in value.items() if key not in _INCIDENTAL}
    return [_lasting(item) for item in value] if isinstance(value, list) else value
