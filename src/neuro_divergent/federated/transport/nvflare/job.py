"""A federation as a job of NVIDIA FLARE."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.federated.client_name import check_name
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.transport.nvflare.site import CONTROLLER, EXECUTOR

FEDERATION = "federation.toml"
_APP = "app"


def write_job(
    directory: str | Path,
    config: FederationConfig,
    clients: Sequence[str],
    *,
    poll: float = 0.2,
    lost_after: float = 30.0,
    start_within: float = 120.0,
) -> Path:
    """Write a job that NVIDIA FLARE can run.

    Args:
        directory: Where to write it; its last part is the name of the federation, under which server and clients keep
            what must outlive a job.
        config: Settings of the federation, in which nothing may be left open that data would decide.
        clients: Names of the sites that take part.
        poll: Seconds between two questions of a client for a task.
        lost_after: Seconds without a sign of life after which a client is lost.
        start_within: The same for a client that has given none in this job: it may still be starting.

    Returns:
        The directory.

    Raises:
        ConfigError: If the network cannot be shared.
        InputError: If the directory has something else in it, or there are no clients.
    """
    place, names = Path(directory), sorted(check_name(name) for name in clients)
    federation = check_name(place.name)
    if not names or len(set(names)) < len(names):
        raise InputError("clients: give the name of each site once.")
    if place.exists() and any(path.name not in ("meta.json", _APP) for path in place.iterdir()):
        raise InputError(f"{place}: has something else in it; choose another directory.")
    if config.clients:
        config = config.replace(clients={})  # which are paths of tables on one machine
    SharedNetwork(config)
    needed = len(names) if config.federation.deadline is None else min(config.federation.min_clients, len(names))
    if needed < 1:
        raise ConfigError("min_clients: at least 1.")
    meta = {
        "name": federation,
        "resource_spec": {},
        "min_clients": needed,
        "mandatory_clients": names if config.federation.deadline is None else [],
        "deploy_map": {_APP: ["server", *names]},
    }
    arguments = {"federation": federation, "clients": names, "lost_after": lost_after, "start_within": start_within}
    workflow = {"id": "federation", "path": CONTROLLER, "args": arguments}
    folder = place / _APP / "config"
    folder.mkdir(parents=True, exist_ok=True)
    write_file(place / "meta.json", _document(meta))
    write_file(folder / "config_fed_server.json", _document(_server(workflow, poll)))
    write_file(folder / "config_fed_client.json", _document(_client(federation, poll)))
    write_file(folder / FEDERATION, config.to_toml().encode())
    return place


def _server(workflow: dict[str, Any], poll: float) -> dict[str, Any]:
    return {
        "format_version": 2,
        "server": {"heart_beat_timeout": 600, "task_request_interval": poll},
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [],
        "workflows": [workflow],
    }


def _client(federation: str, poll: float) -> dict[str, Any]:
    executor = {"path": EXECUTOR, "args": {"federation": federation}}
    return {
        "format_version": 2,
        "task_check_interval": max(poll, 0.2),
        "executors": [{"tasks": ["neuro_divergent_*"], "executor": executor}],
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [],
    }


def _document(values: dict[str, Any]) -> bytes:
    return json.dumps(values, indent=1).encode()
