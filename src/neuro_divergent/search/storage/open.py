"""Opens the storage that a study names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import StorageError
from neuro_divergent.search.dependency import load_optuna

JOURNAL, DATABASE = "journal.log", "study.db"
_SQLITE_PATIENCE = 60.0  # seconds that a process waits for another one's transaction


def open_storage(address: str, directory: Path) -> Any:
    """Return the storage of Optuna at an address; ``directory`` is that of the study.

    Raises:
        StorageError: If it cannot be opened.
    """
    optuna = load_optuna()
    if address == "journal":
        from neuro_divergent.search.storage.journal import JournalFile

        return optuna.storages.JournalStorage(JournalFile(directory / JOURNAL))
    options: dict[str, Any] = {}
    if address.startswith("sqlite"):
        path = address.partition(":///")[2] or str(directory / DATABASE)
        address, options = f"sqlite:///{Path(path).resolve()}", {"connect_args": {"timeout": _SQLITE_PATIENCE}}
    else:
        load_optuna("psycopg")
        address = f"postgresql+psycopg://{address.partition('://')[2]}"
        options = {"pool_pre_ping": True}
    try:
        return optuna.storages.get_storage(optuna.storages.RDBStorage(address, engine_kwargs=options))
    except Exception as error:  # every database has errors of its own
        if type(error).__module__.partition(".")[0] not in ("sqlalchemy", "psycopg", "sqlite3", "alembic"):
            raise
        raise StorageError(f"{address}: cannot be opened: {str(error).splitlines()[0]}") from error
