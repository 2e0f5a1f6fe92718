"""Results of stages by key: complete or absent, so that a cache and a resume are one thing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.core.errors import NeuroDivergentError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import clear_leftovers, read_json, write_file
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.lifecycle.pipeline.artifact import Artifact, read_artifact, write_artifact
from neuro_divergent.lifecycle.pipeline.stage import StageContext
from neuro_divergent.lifecycle.pipeline.step import Step

RESULT, OUTPUTS, WORK = "result.json", "outputs", "work"
_FORMAT, _LIMIT = 1, 64 * 1024**2
_NAMES = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class KeptResult:
    """The result of a stage.

    Attributes:
        outputs: Outputs by name.
        notes: What people should know about it.
        tables: Small tables for the report.
        expires: Until when it is valid, in seconds since 1970; ``None`` for ever.
        seconds: How long the stage took.
    """

    outputs: Mapping[str, Artifact]
    notes: tuple[str, ...] = ()
    tables: tuple[dict[str, Any], ...] = ()
    expires: float | None = None
    seconds: float = 0.0


class ResultCache:
    """A directory with a directory for each key.

    ``outputs/`` of it has the outputs, each with a manifest; ``result.json`` is written last and names them, so a
    result without it is none. ``work/`` is what the stage itself has written on the way.

    Args:
        path: The directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self, key: str) -> KeptResult | None:
        """Return the result of a key after comparing it with its manifests; ``None`` if it is absent or damaged."""
        place = self.path / key
        try:
            document = read_json(place / RESULT, _LIMIT)
            if not isinstance(document, dict) or document.get("format") != _FORMAT or document.get("key") != key:
                return None
            outputs = document["outputs"]
            return KeptResult(
                outputs={name: read_artifact(place / OUTPUTS / name, item) for name, item in outputs.items()},
                notes=tuple(document["notes"]),
                tables=tuple(document["tables"]),
                expires=document["expires"],
                seconds=float(document["seconds"]),
            )
        except (NeuroDivergentError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def is_valid(self, result: KeptResult) -> bool:
        """Whether the time of a result is not up."""
        return result.expires is None or time.time() < result.expires

    def begin(self, key: str, *, is_resumable: bool) -> Path:
        """Make the directory that a stage works in, and return it; what an earlier start left stays if it is resumable.

        Raises:
            StorageError: If the disk refuses.
        """
        place = self.path / key
        try:
            (place / RESULT).unlink(missing_ok=True)
            if not is_resumable and (place / WORK).exists():
                shutil.rmtree(place / WORK)
            (place / WORK).mkdir(parents=True, exist_ok=True)
            (place / OUTPUTS).mkdir(exist_ok=True)
        except OSError as error:
            raise storage_error(place, "written", error) from error
        clear_leftovers(place)
        clear_leftovers(place / OUTPUTS)
        return place / WORK

    def finish(
        self, key: str, step: Step, values: Mapping[str, Any], context: StageContext, seconds: float
    ) -> KeptResult:
        """Write the outputs of a stage, then that they are complete.

        Raises:
            InputError: If the outputs are not those of the stage, or one cannot be kept.
            StorageError: If the disk refuses.
        """
        place = self.path / key
        outputs = {}
        for name in step.work.outputs:
            try:
                outputs[name] = write_artifact(place / OUTPUTS / name, values[name])
            except ValueError as error:
                if isinstance(error, NeuroDivergentError):
                    raise type(error)(f"output {name!r}: {error}") from error
                raise
        document = {
            "format": _FORMAT,
            "key": key,
            "stage": step.kind,
            "version": __version__,
            "created": time.time(),
            "seconds": seconds,
            "expires": context.expires,
            "notes": context.notes,
            "tables": context.tables,
            "outputs": {name: item.describe() for name, item in outputs.items()},
        }
        write_file(place / RESULT, strict_json.dumps(document, indent=1))
        return KeptResult(outputs, tuple(context.notes), tuple(context.tables), context.expires, seconds)

    def remove(self, key: str) -> None:
        """Remove a result and what its stage has written; one that is not there is fine.

        Raises:
            StorageError: If the disk refuses.
        """
        try:
            (self.path / key / RESULT).unlink(missing_ok=True)  # first: without it, the rest is no result
            if (self.path / key).exists():
                shutil.rmtree(self.path / key)
        except NotADirectoryError:
            raise UntrustedFileError(f"{self.path / key}: is not a directory.") from None
        except OSError as error:
            raise storage_error(self.path / key, "removed", error) from error

    def keys(self) -> list[str]:
        """Return all keys, also those whose result is not complete, the oldest first."""
        try:
            found = [item for item in self.path.iterdir() if len(item.name) == 64 and set(item.name) <= _NAMES]
        except FileNotFoundError:
            return []
        return [item.name for item in sorted(found, key=lambda item: item.stat().st_mtime)]

    def clean(self, keep: Collection[str]) -> list[str]:
        """Remove all results but some, and return the keys of those removed."""
        removed = [key for key in self.keys() if key not in keep]
        for key in removed:
            self.remove(key)
        return removed
