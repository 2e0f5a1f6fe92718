"""The directory of a federation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.core.errors import ConfigError, InputError, Interrupted, NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import is_leftover, read_json, write_file
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.training.state import differences

FEDERATION, CONFIG, LOCK, STATUS = "federation.json", "config.toml", "lock", "status.json"
ROUNDS, ROWS, LEDGER, CLIENTS, MODEL, SCORES = (
    "rounds", "rounds.jsonl", "ledger.jsonl", "clients", "model", "scores.json",
)  # fmt: skip
_FORMAT, _LIMIT = 1, 64 * 1024**2


@dataclass(frozen=True)
class FederationDirectory:
    """The directory of one federation.

    ``federation.json`` has the settings, for going on, and ``config.toml`` the same for people. ``rounds/`` has the
    last complete rounds, ``rounds.jsonl`` a row for each, and ``ledger.jsonl`` what was charged to the privacy budget.
    ``clients/`` has what clients of this process keep, ``model/`` the finished global model and ``scores.json`` the
    scores of the clients. While a process works on it, it holds ``lock``; ``status.json`` says how it ended.
    """

    path: Path

    @property
    def has_begun(self) -> bool:
        """Whether there is a federation to go on with."""
        return (self.path / FEDERATION).is_file()

    @contextmanager
    def opened(self, config: FederationConfig, chosen: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Hold the lock, write the settings or compare them, and write the status at the end.

        Args:
            config: The settings.
            chosen: What was chosen on this machine when the federation began.

        Yields:
            What was chosen when it began: ``chosen``, or what is stored.

        Raises:
            InputError: If something else is there, or another process works on it.
            ConfigError: If it was begun with other settings.
        """
        if not self.has_begun and self._has_other_files():
            raise InputError(f"{self.path}: exists already and is no federation; choose another directory.")
        self.path.mkdir(parents=True, exist_ok=True)
        with RunLock(self.path / LOCK):
            if self.has_begun:
                document = self.document()
                self._require_same(document["config"], config)
                chosen = document["chosen"]
            else:
                self._begin(config, chosen)
            self._write_status("running")
            try:
                yield chosen
            except BaseException as error:
                with suppress(OSError):
                    how = "interrupted" if isinstance(error, (Interrupted, KeyboardInterrupt)) else "failed"
                    self._write_status(how, str(error))
                raise

    def finish(self, state: str, message: str = "") -> None:
        """Write how the federation ended: ``finished`` or ``interrupted``."""
        self._write_status(state, message)

    def document(self) -> dict[str, Any]:
        """Return what ``federation.json`` holds.

        Raises:
            InputError: If there is no federation.
            UntrustedFileError: If the file is damaged or newer.
        """
        path = self.path / FEDERATION
        if not path.is_file():
            raise InputError(f"{self.path}: there is no federation; 'nd federated run FILE' begins one.")
        document = read_json(path, _LIMIT)
        if not isinstance(document, dict) or type(document.get("format")) is not int:
            raise UntrustedFileError(f"{path}: does not describe a federation.")
        if document["format"] > _FORMAT:
            raise NewerFormatError(path, document["format"], _FORMAT)
        if not isinstance(document.get("config"), dict) or not isinstance(document.get("chosen"), dict):
            raise UntrustedFileError(f"{path}: does not describe a federation.")
        return document

    def config(self) -> FederationConfig:
        """Return the settings that the federation was begun with."""
        return FederationConfig.from_dict(self.document()["config"])

    def _has_other_files(self) -> bool:
        """Whether there is a file that no process which was killed while it began a federation leaves."""
        if not self.path.exists():
            return False
        return any(not is_leftover(file.name) and file.name not in (LOCK, CONFIG) for file in self.path.iterdir())

    def _begin(self, config: FederationConfig, chosen: dict[str, Any]) -> None:
        document = {
            "format": _FORMAT,
            "version": __version__,
            "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "config": config.to_dict(),
            "chosen": chosen,
        }
        write_file(self.path / CONFIG, config.to_toml().encode())
        write_file(self.path / FEDERATION, strict_json.dumps(document, indent=1))

    def _require_same(self, before: dict[str, Any], config: FederationConfig) -> None:
        then, now = _comparable(before), _comparable(config.to_dict())
        if found := list(differences(then, now)):
            raise ConfigError(
                f"{self.path}: the settings differ from those the federation was begun with: {'; '.join(found)}. Use "
                "those, or another directory."
            )

    def _write_status(self, state: str, message: str = "") -> None:
        document = {"state": state, "message": message[:1000], "time": time.time()}
        write_file(self.path / STATUS, strict_json.dumps(document))


def _comparable(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that must not change: all but who the clients are, which may join later."""
    return {name: value for name, value in values.items() if name != "clients"}
