"""What each machine decides by itself: where its table is, and where it keeps what must outlive a job."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from pydantic import field_validator

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.federated.client_name import check_name

SETTINGS = "neuro_divergent.toml"
_PACKAGE = "neuro_divergent.federated.transport.nvflare"
CONTROLLER, EXECUTOR = f"{_PACKAGE}.controller.FederationController", f"{_PACKAGE}.executor.FederationExecutor"
_LOCAL, _RESOURCES, _ALLOWED = "local", "resources.json", "class_allow_list"


class Site(Config):
    """Settings of a machine, in ``local/neuro_divergent.toml`` of its startup kit.

    A job names a federation, never a path: a client takes part only in those that it has a table for.

    Attributes:
        directory: Where federations are kept, each in a directory with its name: on the server the rounds, on a client
            what it keeps from round to round, and the final model.
        tables: On a client: path of the table for each federation, by name.
    """

    directory: str
    tables: dict[str, str] = {}  # noqa: RUF012

    @field_validator("tables")
    @classmethod
    def _names(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            check_name(name)
        return value

    @classmethod
    def read(cls, local: Path) -> Site:
        """Read the settings of a machine.

        Args:
            local: The directory ``local`` of its startup kit.

        Raises:
            ConfigError: If there are none, or they are wrong.
        """
        path = local / SETTINGS
        if not path.is_file():
            raise ConfigError(f"{SETTINGS}: is missing in the directory 'local' of this machine's startup kit.")
        return cls.from_toml(path)

    def place(self, federation: str) -> Path:
        """Return the directory of a federation."""
        return Path(self.directory) / check_name(federation)

    def table(self, federation: str) -> str:
        """Return the path of the table for a federation.

        Raises:
            ConfigError: If this client takes no part in it.
        """
        if federation not in self.tables:
            raise ConfigError(f"tables: {SETTINGS} of this client has no table for the federation {federation!r}.")
        return self.tables[federation]


def prepare_site(kit: str | Path, settings: Site) -> None:
    """Make a provisioned startup kit ready for federations: write the settings, and allow the classes of a job.

    NVIDIA FLARE builds only classes in a list of each machine, ``class_allow_list`` in ``local/resources.json``.

    Args:
        kit: Directory of the startup kit of a server or client, with ``startup`` and ``local``.
        settings: Settings of the machine.

    Raises:
        InputError: If it is no startup kit.
    """
    local = Path(kit) / _LOCAL
    resources = local / _RESOURCES
    if not resources.is_file():
        default = local / f"{_RESOURCES}.default"
        if not default.is_file():
            raise InputError(f"{kit}: is no startup kit: there is no {_LOCAL}/{_RESOURCES}.default.")
        shutil.copyfile(default, resources)
    document: dict[str, Any] = json.loads(resources.read_text("utf-8"))
    allowed = document.setdefault(_ALLOWED, [])
    allowed.extend(name for name in (CONTROLLER, EXECUTOR) if name not in allowed)
    write_file(resources, json.dumps(document, indent=2).encode())
    write_file(local / SETTINGS, settings.to_toml().encode())
