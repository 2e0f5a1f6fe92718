"""Pipelines in TOML files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from neuro_divergent.core.config import Config, read_toml
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.forecasting.run_config import DataConfig
from neuro_divergent.lifecycle.pipeline.function_reference import modules_from
from neuro_divergent.lifecycle.pipeline.function_stage import stage
from neuro_divergent.lifecycle.pipeline.stage import Stage
from neuro_divergent.lifecycle.pipeline.step import Step

_OWN = ("stage", "function", "name", "inputs", "outputs", "on_error", "cache")


class PipelineFile(Config):
    """The content of a pipeline file.

    Attributes:
        name: Name for people.
        directory: Directory of the pipeline; named after the file if left out.
        on_error: What happens if a stage fails.
        data: The table and the roles of its columns.
        sources: Further tables by name.
        stages: The stages: ``stage`` or ``function``, and their settings.
    """

    name: str | None = None
    directory: str | None = None
    on_error: str | dict[str, Any] = "stop"
    data: dict[str, Any] = Field(default_factory=dict)
    sources: dict[str, str] = Field(default_factory=dict)
    stages: tuple[dict[str, Any], ...]


def read_pipeline(path: Path, directory: str | Path | None = None) -> dict[str, Any]:
    """Read a pipeline file, and return the arguments of ``Pipeline``.

    Raises:
        ConfigError: If something in it is not right, with the name of the stage.
    """
    values = PipelineFile.from_dict(read_toml(path))
    here = path.resolve().parent
    data = DataConfig.from_dict(values.data)
    with modules_from(here):
        steps = [read_stage(table, here, position) for position, table in enumerate(values.stages, 1)]
    place = Path(directory) if directory is not None else _directory(path, values.directory)
    return {
        "stages": steps,
        "data": None if data.path is None else _seen_from(here, data.path),
        "sources": {name: _seen_from(here, item) for name, item in values.sources.items()},
        "directory": place,
        "on_error": values.on_error,
        "name": values.name or path.stem,
        **dict(data.schema_fields),
    }


def read_stage(table: Mapping[str, Any], here: Path, position: int) -> Step:
    """Return the stage that a table of a file describes; paths in it are seen from a directory.

    Raises:
        ConfigError: If something in it is not right.
    """
    own = {key: table[key] for key in _OWN if key in table}
    rest = {key: value for key, value in table.items() if key not in _OWN}
    kind, function = own.pop("stage", None), own.pop("function", None)
    place = f"stage {own.get('name') or kind or function or position!r}"
    if (kind is None) == (function is None):
        raise ConfigError(f'{place}: write stage = "training" or function = "package.module:name", one of them.')
    try:
        if function is not None:
            if ":" not in str(function):
                raise ConfigError(f"function: {function!r} is not written as package.module:name.")
            return stage(str(function), settings=rest, **own)
        work = Stage.from_dict({**rest, "name": str(kind)})
        return stage(work.seen_from(here), **own)
    except InputError as error:
        raise ConfigError(f"{place}: {error}") from error
    except TypeError as error:
        raise ConfigError(f"{place}: {error}") from error


def directory_of(path: Path) -> Path:
    """Return the directory of the pipeline of a file, without looking at its stages."""
    said = read_toml(path).get("directory")
    return _directory(path, said if isinstance(said, str) else None)


def _directory(path: Path, said: str | None) -> Path:
    return path.resolve().parent / (said or f"{path.stem}-pipeline")


def _seen_from(here: Path, path: str) -> str:
    return str(here / path)
