"""A server and clients of NVIDIA FLARE as processes of this machine, with certificates and TLS."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from neuro_divergent.federated.transport.nvflare.site import Site, prepare_site

SERVER, ADMINISTRATOR, PROJECT = "localhost", "admin@example.com", "federations"
_MODULES = "nvflare.private.fed.app."
_GONE = 20.0  # seconds within which processes that were killed are gone


class System:
    """Provisions a server, clients and an administrator below a directory, and runs them.

    Args:
        root: The directory.
        tables: Path of the table of each client.
        federation: Name of the federation that they have tables for.
    """

    def __init__(self, root: Path, tables: dict[str, Path], federation: str) -> None:
        self.root = root
        self.clients = sorted(tables)
        self._environment = {**os.environ, "OMP_NUM_THREADS": "1", "HOME": str(root)}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._started: set[int] = set()
        self._provision()
        for name in (SERVER, *self.clients):
            own = {federation: str(tables[name])} if name in tables else {}
            prepare_site(self.kit(name), Site(directory=str(self.directory(name)), tables=own))
        self._shorten_waits()

    def kit(self, name: str) -> Path:
        """Return the startup kit of a participant."""
        return self.root / "workspace" / PROJECT / "prod_00" / name

    def directory(self, name: str) -> Path:
        """Return where a participant keeps what outlives jobs."""
        return self.root / "kept" / name

    def start(self, *names: str) -> None:
        """Start the processes of participants."""
        for name in names:
            kind, module = ("server", "server_train") if name == SERVER else ("client", "client_train")
            own = ["uid=" + name] if kind == "client" else []
            command = [sys.executable, "-u", "-m", f"{_MODULES}{kind}.{module}", "-m", str(self.kit(name))]
            command += ["-s", f"fed_{kind}.json", "--set", "secure_train=true", *own, "org=example"]
            command += ["config_folder=config", "heart_beat_interval=2"]
            with (self.root / f"{name}.log").open("ab") as log:
                self._processes[name] = subprocess.Popen(
                    command, env=self._environment, stdout=log, stderr=log, start_new_session=True
                )

    def job_process(self, name: str) -> psutil.Process | None:
        """Return the process of the job at a participant, if there is one."""
        with suppress(psutil.Error):
            children = psutil.Process(self._processes[name].pid).children(recursive=True)
            self._started.update(child.pid for child in children)
            for child in children:
                if any("worker_process" in part or "runner_process" in part for part in child.cmdline()):
                    return child
        return None

    def kill(self, name: str, *, only_job: bool = False) -> bool:
        """Kill the process of the job at a participant, and its main process as well unless told otherwise.

        The main process is started again, as the script that NVIDIA FLARE provisions for that does.
        """
        job = self.job_process(name)
        if only_job and job is None:
            return False
        if not only_job:
            self._processes[name].kill()
            self._processes[name].wait()
        if job is not None:
            with suppress(psutil.NoSuchProcess):
                job.kill()
                job.wait(_GONE)
        if not only_job:
            self.start(name)
        return True

    def stop(self) -> None:
        """Kill all processes and wait until they are gone."""
        for name, process in self._processes.items():
            job = self.job_process(name)
            process.kill()
            process.wait()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if job is not None:
                with suppress(psutil.NoSuchProcess):
                    job.kill()
        end = time.monotonic() + _GONE
        while (left := self.leftovers()) and time.monotonic() < end:
            for process_left in left:
                with suppress(psutil.NoSuchProcess):
                    process_left.kill()
            time.sleep(0.1)

    def leftovers(self) -> list[psutil.Process]:
        """Return the processes of NVIDIA FLARE that have the directory in their command line."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            command = process.info["cmdline"] or []
            if any(part.startswith(_MODULES) for part in command) and any(str(self.root) in part for part in command):
                found.append(process)
        return found

    def _provision(self) -> None:
        clients = [{"name": name, "type": "client", "org": "example"} for name in self.clients]
        server = {"name": SERVER, "type": "server", "org": "example"}
        ports = {"fed_learn_port": _free_port(), "admin_port": _free_port()}
        administrator = {"name": ADMINISTRATOR, "type": "admin", "org": "example", "role": "project_admin"}
        builders = [
            {"path": "nvflare.lighter.impl.workspace.WorkspaceBuilder"},
            {
                "path": "nvflare.lighter.impl.static_file.StaticFileBuilder",
                "args": {"config_folder": "config", "scheme": "grpc"},
            },
            {"path": "nvflare.lighter.impl.cert.CertBuilder"},
            {"path": "nvflare.lighter.impl.signature.SignatureBuilder"},
        ]
        project = {
            "api_version": 3,
            "name": PROJECT,
            "participants": [{**server, **ports}, *clients, administrator],
            "builders": builders,
        }
        path = self.root / "project.yml"
        path.write_text(json.dumps(project))  # JSON is YAML
        command = [sys.executable, "-m", "nvflare.cli", "provision", "-p", str(path)]
        command += ["-w", str(self.root / "workspace"), "--force"]
        subprocess.run(command, env=self._environment, check=True, capture_output=True, cwd=self.root, timeout=120)

    def _shorten_waits(self) -> None:
        """Keep everything below the directory, and look after jobs and clients more often than usual."""
        path = self.kit(SERVER) / "local" / "resources.json"
        text = path.read_text().replace("/tmp/nvflare", str(self.root / "nvflare"))
        document: dict[str, Any] = json.loads(text)
        document["servers"][0].update(heart_beat_timeout=15, admin_timeout=5.0)
        for component in document["components"]:
            if component["id"] == "job_scheduler":
                component["args"].update(max_jobs=1, max_schedule_count=1000)
                component["args"].update(min_schedule_interval=1.0, max_schedule_interval=1.0)
        path.write_text(json.dumps(document))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
