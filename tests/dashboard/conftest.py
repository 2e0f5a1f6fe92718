from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neuro_divergent.interfaces.dashboard.app import create_app
from neuro_divergent.interfaces.dashboard.settings import Settings
from tests.dashboard.client import TOKEN, Client
from tests.dashboard.run_maker import make_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A directory of three runs."""
    root = tmp_path / "runs"
    make_run(root / "first", age=30.0)
    make_run(root / "second", model="patchtst", rate=0.01, mae=1.0, age=20.0)
    make_run(root / "third", state="interrupted", age=10.0)
    return root


@pytest.fixture
def make_client() -> Iterator[Callable[..., Client]]:
    """Makes clients of a dashboard of a directory."""
    made: list[Client] = []

    def make(
        root: Path, *, token: str | None = None, client_host: str = "127.0.0.1:8765", **settings: object
    ) -> Client:
        app = create_app(Settings(root=root, token=TOKEN, **settings))  # type: ignore[arg-type]
        made.append(Client(app, token=token, host=client_host))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(runs: Path, make_client: Callable[..., Client]) -> Client:
    """A client of the dashboard of three runs, which does not know the token."""
    return make_client(runs)


def ids(client: Client) -> dict[str, str]:
    """Return the ids of runs by their names."""
    return {run["name"]: run["id"] for run in client.get("/api/runs", token=TOKEN).json()["runs"]}


def tree_digest(root: Path) -> str:
    """Return a digest of all names, links and contents below a directory."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        digest.update(os.fsencode(path) + b"\0" + f"{path.lstat().st_mode}".encode())
        if path.is_symlink():
            digest.update(os.fsencode(path.readlink()))
        elif path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
