"""Submitting the job of a federation until it is done."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from neuro_divergent.core.errors import ConfigError, InputError, MissingDependencyError, ProcessLostError
from neuro_divergent.federated.transport.nvflare.job_log import problem_in, rounds_in

try:
    from nvflare.fuel.flare_api.api_spec import (
        AuthenticationError,
        AuthorizationError,
        InvalidJobDefinition,
        SubmitTokenConflict,
    )
    from nvflare.fuel.flare_api.flare_api import Session, new_secure_session
except ImportError as error:
    raise MissingDependencyError(
        f"federations over NVIDIA FLARE need nvflare: pip install 'neuro-divergent[nvflare]' ({error})."
    ) from None

_DONE, _ABORTED = "FINISHED:COMPLETED", "FINISHED:ABORTED"
_FINISHED, _FORGOTTEN = "FINISHED", "FINISHED:FORGOTTEN"
_ACTIVE = ("DISPATCHED", "RUNNING")
_REFUSALS = (AuthenticationError, AuthorizationError, InvalidJobDefinition, SubmitTokenConflict)
_CONNECT = 10.0  # seconds
T = TypeVar("T")


def submit(
    job: str | Path,
    kit: str | Path,
    user: str,
    *,
    attempts: int = 5,
    poll: float = 2.0,
    patience: float = 600.0,
    observe: Callable[[str, str], None] = lambda job, status: None,
) -> str:
    """Submit a job, wait until it is done, and submit it again whenever it died.

    NVIDIA FLARE loses a job when its server or one of its clients is killed. The rounds that are complete are in the
    directory of the server, and the next job goes on after them. While the server cannot be reached, this waits for it.

    Args:
        job: Directory of the job.
        kit: Directory of the startup kit of an administrator.
        user: Name of the administrator.
        attempts: Jobs in a row that may end without a further complete round.
        poll: Seconds between two looks at the job.
        patience: Seconds for which the server may be away.
        observe: Called with the id of a job and its status whenever that changed.

    Returns:
        The id of the job that was done.

    Raises:
        InputError: If the job was aborted by somebody, or NVIDIA FLARE does not accept it.
        ConfigError: If the job meets an error that the next one would meet as well.
        ProcessLostError: If too many jobs in a row made no progress, or the server is away for too long.
    """
    if not (Path(job) / "meta.json").is_file():
        raise InputError(f"{job}: is no job: there is no meta.json.")
    if not (Path(kit) / "startup" / "fed_admin.json").is_file():
        raise InputError(f"{kit}: is no startup kit of an administrator: there is no startup/fed_admin.json.")
    console = _Console(Path(kit).resolve(), user, poll, patience)
    try:
        return _submit(console, Path(job).resolve(), attempts, observe)
    finally:
        console.close()


def _submit(console: _Console, job: Path, attempts: int, observe: Callable[[str, str], None]) -> str:
    best, idle = 0, 0
    while True:
        name, status = _run(console, job, observe)
        if status == _DONE:
            return name
        if status == _ABORTED:
            raise InputError(f"job {name} was aborted.")
        log = console.log(name)
        if problem := problem_in(log):
            raise ConfigError(f"job {name}: {problem}")
        rounds = rounds_in(log)
        idle = 0 if rounds > best else idle + 1
        best = max(best, rounds)
        if idle >= attempts:
            raise ProcessLostError(
                f"{idle} jobs in a row ended without a further complete round; the last is {name} with {status}. "
                f"'nvflare job logs {name}' has its log."
            )


def _run(console: _Console, job: Path, observe: Callable[[str, str], None]) -> tuple[str, str]:
    """Submit a job once and wait for its end; return its id and its status."""
    token = uuid.uuid4().hex  # the same job is not accepted twice, if the answer to the first submission was lost
    name = console.ask(lambda session: str(session.submit_job(str(job), submit_token=token)))
    seen = ""
    while not seen.startswith(_FINISHED):
        status = console.ask(lambda session: _status(session, name))
        if status != seen:
            seen = status
            observe(name, status)
        else:
            time.sleep(console.poll)
    return name, seen


def _status(session: Session, name: str) -> str:
    """Return the status of a job.

    A server that was killed and started again still says that its jobs run, and forgot them.
    """
    meta = session.get_job_meta(name)
    status = str(meta.get("status"))
    scheduled = max(float(meta.get(key) or 0.0) for key in ("submit_time", "last_schedule_time"))
    if status in _ACTIVE and float(session.get_system_info().server_info.start_time) > scheduled:
        return _FORGOTTEN
    return status


class _Console:
    """A session with the server, which is opened again when the server was gone."""

    def __init__(self, kit: Path, user: str, poll: float, patience: float) -> None:
        self._kit, self._user, self.poll, self._patience = kit, user, poll, patience
        self._session: Session | None = None

    def ask(self, question: Callable[[Session], T]) -> T:
        """Ask until the server answers.

        Raises:
            InputError: If the server refuses.
            ProcessLostError: If it does not answer for too long.
        """
        began = time.monotonic()
        while True:
            try:
                if self._session is None:
                    self._session = new_secure_session(self._user, str(self._kit), timeout=_CONNECT)
                return question(self._session)
            except _REFUSALS as error:
                raise InputError(f"the server refuses: {error}.") from None
            except Exception as error:  # of many kinds, if a server is killed or has just started
                self.close()
                if time.monotonic() - began > self._patience:
                    raise ProcessLostError(f"the server did not answer for {self._patience:g} s: {error}.") from error
                time.sleep(self.poll)

    def log(self, name: str) -> str:
        """Return what the server logged of a job."""
        logs = self.ask(lambda session: session.get_job_logs(name)).get("logs", {})
        return "\n".join(str(text) for text in logs.values())

    def close(self) -> None:
        """Close the session, if there is one."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(Exception):
                session.close()
