"""The directory of an ensemble that is being trained: its settings, and a run for each member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.core.errors import ConfigError, DataError, InputError, NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_file, write_file
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.ensemble.plan import EnsemblePlan
from neuro_divergent.forecasting.warm_start import Initial, load_initial
from neuro_divergent.runs.directory import MODEL, RunDirectory, fingerprint

FORMAT = 1
PLAN = "ensemble.json"
SNAPSHOTS = "snapshots"
INITIAL = "initial"
_LIMIT = 16 * 1024**2


@dataclass(frozen=True)
class EnsembleRun:
    """The directory: ``ensemble.json``, a run directory for each member, and the whole in ``model`` in the end."""

    path: Path

    @property
    def model(self) -> Path:
        """Where the trained ensemble is written."""
        return self.path / MODEL

    @property
    def snapshots(self) -> Path:
        """Where weights from the ends of cycles are written."""
        return self.path / SNAPSHOTS

    @property
    def is_finished(self) -> bool:
        """Whether the trained ensemble is there."""
        return self.model.is_dir()

    def member(self, number: int) -> RunDirectory:
        """Return the directory of a member, counted from 0."""
        return RunDirectory(self.path / f"member-{number + 1}")

    def initials(self, count: int) -> list[Initial | None]:
        """Return the models that the members were to start from, ``None`` for members without one."""
        return [load_initial(path) if (path := self._initial(number)).exists() else None for number in range(count)]

    def begin(self, plan: EnsemblePlan, panel: Panel, initials: Sequence[Initial | None] = ()) -> None:
        """Write the models to start from and the settings, before training starts.

        Raises:
            InputError: If the place is taken.
        """
        if (self.path / PLAN).exists():
            raise InputError(f"{self.path}: exists already; resume it with Ensemble.resume, or choose another place.")
        RunDirectory(self.path).check_free()
        for number, initial in enumerate(initials):
            if initial is not None:
                initial.save(self._initial(number))
        document = {"format": FORMAT, "version": __version__, "plan": plan.to_dict(), "data": fingerprint(panel)}
        write_file(self.path / PLAN, strict_json.dumps(document, indent=1))

    def plan(self) -> EnsemblePlan:
        """Return the stored settings.

        Raises:
            InputError: If there is no such run.
            UntrustedFileError: If it is damaged or was written by a newer version.
        """
        try:
            return EnsemblePlan.from_dict(self._document()["plan"])
        except ConfigError as error:
            raise UntrustedFileError(f"{self.path / PLAN}: does not describe an ensemble ({error}).") from error

    def require_same_data(self, panel: Panel) -> None:
        """Refuse to resume with other data.

        Raises:
            DataError: If a number, name or time is different.
        """
        before = self._document()["data"]
        if before != fingerprint(panel, before.get("sha256") if isinstance(before, dict) else None):
            raise DataError(f"{self.path}: the data have changed since the run began. Begin a new run.")

    def _initial(self, number: int) -> Path:
        return self.path / INITIAL / f"member-{number + 1}"

    def _document(self) -> dict[str, Any]:
        path = self.path / PLAN
        if not path.is_file():
            raise InputError(f"{self.path}: there is no ensemble to resume.")
        document = strict_json.loads(read_file(path, limit=_LIMIT), str(path), _LIMIT)
        version = document.get("format") if isinstance(document, dict) else None
        if type(version) is not int or version < 1 or not isinstance(document.get("plan"), dict):
            raise UntrustedFileError(f"{path}: does not describe an ensemble.")
        if version > FORMAT:
            raise NewerFormatError(path, version, FORMAT)
        return document  # type: ignore[no-any-return]
