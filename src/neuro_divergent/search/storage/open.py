"""Opens the storage that a study names."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import StorageError
from neuro_divergent.search.dependency import load_optuna

JOURNAL, DATABASE = "journal.log", "study.db"
_SQLITE_PATIENCE = 60.0  # seconds that a process waits for another one's transaction
_ATTEMPTS, _PAUSE = 6, 0.25  # to open a database whose tables another process is creating


def open_storage(address: str, directory: Path) -> tuple[Any, Callable[[], None]]:
    """Return the storage of Optuna at an address, and what closes its connections; ``directory`` is that of the study.

    Raises:
        StorageError: If it cannot be opened.
    """
    optuna = load_optuna()
    if address == "journal":
        from neuro_divergent.search.storage.journal import JournalFile

        return optuna.storages.JournalStorage(JournalFile(directory / JOURNAL)), lambda: None
    options: dict[str, Any] = {}
    if address.startswith("sqlite"):
        path = address.partition(":///")[2] or str(directory / DATABASE)
        address, options = f"sqlite:///{Path(path).resolve()}", {"connect_args": {"timeout": _SQLITE_PATIENCE}}
    else:
        load_optuna("psycopg")
        address = f"postgresql+psycopg://{address.partition('://')[2]}"
        options = {"pool_pre_ping": True}
    database = _open_database(address, options)

    def close() -> None:
        database.remove_session()
        database.engine.dispose()

    return optuna.storages.get_storage(database), close


def _open_database(address: str, options: dict[str, Any]) -> Any:
    """Open a database and create the tables that it does not have.

    Several processes that do so at once get in each other's way; all but one of them find the tables the next time.
    """
    storages = load_optuna().storages
    for attempt in range(_ATTEMPTS):
        try:
            return storages.RDBStorage(address, engine_kwargs=options)
        except Exception as error:  # every database has errors of its own
            if type(error).__module__.partition(".")[0] not in ("sqlalchemy", "psycopg", "sqlite3", "alembic"):
                raise
            if attempt == _ATTEMPTS - 1:
                raise StorageError(f"{address}: cannot be opened: {str(error).splitlines()[0]}") from error
            time.sleep(_PAUSE)
    raise AssertionError
