"""One database for several processes: SQLite in a file, or PostgreSQL.

``with database.write() as connection`` is one transaction that is complete or absent, and flushed to the disk before
the block ends. Writers of SQLite wait for each other at a file lock of the kernel: SQLite's own way of waiting, with
pauses that become longer, starves some processes for seconds.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from neuro_divergent.core.errors import ConfigError, InputError, NewerFormatError, StorageError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.lifecycle.dependency import load_sqlalchemy
from neuro_divergent.lifecycle.file_system import refuse_network

if TYPE_CHECKING:
    import sqlalchemy as sa

T = TypeVar("T")
_PATIENCE = 120.0  # seconds that a writer of SQLite waits for others
_ATTEMPTS, _PAUSE = 6, 0.1  # seconds, doubled after each attempt
_ABORTED = {"40001", "40P01"}  # PostgreSQL: serialization failure and deadlock; nothing of the transaction was kept
_WRITE = "nd_write"
_SCHEMAS = "nd_schema"


class Database:
    """Tables in SQLite or PostgreSQL that several processes read and write at the same time.

    Threads may share one; a forked process opens connections of its own.

    Attributes:
        address: Where it is, without a password, as messages show it.
        path: File of a SQLite database; ``None`` for PostgreSQL.
    """

    def __init__(self, engine: sa.Engine, address: str, path: Path | None) -> None:
        self.address = address
        self.path = path
        self._engine = engine
        self._process = os.getpid()

    @classmethod
    def open(
        cls, address: str | Path, metadata: sa.MetaData, *, part: str, version: int = 1, create: bool = True
    ) -> Self:
        """Open a database, and create the tables if they are not there yet.

        Args:
            address: Path of a SQLite file, ``sqlite:///path``, or ``postgresql://user@host/database``.
            metadata: The tables.
            part: Name of this set of tables; one database can hold several sets.
            version: Version of the tables.
            create: Whether a database or tables that are absent are made; refused if not.

        Raises:
            ConfigError: If the address is of another kind of database.
            InputError: If SQLite would be on a network file system, or nothing is there and ``create`` is off.
            MissingDependencyError: If SQLAlchemy or the driver is not installed.
            NewerFormatError: If the tables were made by a newer version.
            StorageError: If the database cannot be opened.
        """
        path = sqlite_path(address)
        if path is None:
            database = cls(_postgresql(str(address)), _without_password(str(address)), None)
        else:
            refuse_network(path)
            if not create and not path.is_file():
                raise InputError(f"{path}: not found.")
            database = cls(_sqlite(path), str(path), path)
        try:
            with database.read() as connection:
                found = _found_version(connection, part)
            if found is None and not create:
                raise InputError(f"{database.address}: has no tables of the {part}.")
            if found is None:
                found = database.transact(lambda connection: database._create(connection, metadata, part, version))
            if found > version:
                raise NewerFormatError(f"{database.address}, tables of the {part}", found, version)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Give a connection inside a transaction that may write; it is committed when the block ends without an error.

        Raises:
            StorageError: If the database refuses or cannot be reached; the transaction is then absent, except where the
                connection was lost during the commit, when it can be complete.
        """
        queue = nullcontext() if self.path is None else self._queue(self.path)
        with self._converted_errors(), self._connected() as connection, queue, _begun(connection):
            yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Give a connection that sees one state of the database; it does not wait for writers.

        Raises:
            StorageError: If the database cannot be read.
        """
        with self._converted_errors(), self._connected() as connection:
            if self.path is None:
                connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    def transact(self, work: Callable[[sa.Connection], T], *, idempotent: bool = False) -> T:
        """Run a function in a write transaction, again where PostgreSQL aborted it because of another one.

        Args:
            work: What to do with the connection; it may be called several times.
            idempotent: Whether it is also run again after a lost connection, when it can already have been committed.

        Raises:
            StorageError: If the database refuses.
        """
        pause = _PAUSE
        for attempt in range(_ATTEMPTS):
            try:
                with self.write() as connection:
                    return work(connection)
            except StorageError as error:
                if attempt == _ATTEMPTS - 1 or not _may_repeat(error.__cause__, idempotent=idempotent):
                    raise
                time.sleep(pause)
                pause *= 2
        raise AssertionError

    def close(self) -> None:
        """Close the connections; a later use opens new ones."""
        self._engine.dispose(close=self._process == os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        if self._process != os.getpid():  # connections of the parent must not be used, nor closed
            self._engine.dispose(close=False)
            self._process = os.getpid()
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _queue(self, path: Path) -> Iterator[None]:
        """Wait for the other writers of a file."""
        try:
            lock = RunLock(path.with_name(f"{path.name}.lock"), wait=_PATIENCE)
            lock.__enter__()
        except InputError as error:
            raise StorageError(f"{path}: waited {_PATIENCE:.0f} s for another writer. {error}.") from error
        try:
            yield
        finally:
            lock.__exit__()

    @contextmanager
    def _converted_errors(self) -> Iterator[None]:
        """Convert errors of the database into ours; a violated constraint is for the caller to understand."""
        errors = load_sqlalchemy("sqlalchemy.exc")
        try:
            yield
        except errors.IntegrityError:
            raise
        except errors.SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise StorageError(f"{self.address}: the database refuses: {reason}.") from error

    def _create(self, connection: sa.Connection, metadata: sa.MetaData, part: str, version: int) -> int:
        """Create the tables unless another process just did, and return their version."""
        sa = load_sqlalchemy()
        if self.path is None:  # two processes that create a table at once get in each other's way
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": zlib.crc32(_SCHEMAS.encode())})
        found = _found_version(connection, part)
        if found is not None:
            return found
        table = f"CREATE TABLE IF NOT EXISTS {_SCHEMAS} (part TEXT PRIMARY KEY, version INTEGER NOT NULL)"
        connection.execute(sa.text(table))
        metadata.create_all(connection)
        row = sa.text(f"INSERT INTO {_SCHEMAS} (part, version) VALUES (:part, :version)")
        connection.execute(row, {"part": part, "version": version})
        return version


def _found_version(connection: sa.Connection, part: str) -> int | None:
    """Return the version of a set of tables, or ``None`` if they are not there."""
    sa = load_sqlalchemy()
    if not sa.inspect(connection).has_table(_SCHEMAS):
        return None
    found: int | None = connection.scalar(sa.text(f"SELECT version FROM {_SCHEMAS} WHERE part = :part"), {"part": part})
    return found


def _begun(connection: sa.Connection) -> sa.RootTransaction:
    return connection.execution_options(**{_WRITE: True}).begin()


def sqlite_path(address: str | Path) -> Path | None:
    """Return the file of a SQLite database, or ``None`` for a PostgreSQL address.

    Raises:
        ConfigError: If it is neither.
    """
    if isinstance(address, Path) or "://" not in address:
        return Path(address)
    scheme, _, rest = address.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1 and "?" not in rest:
        return Path(rest[1:])
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        return None
    raise ConfigError(
        f"{_without_password(address)}: this kind of address is not supported. Give the path of a directory or SQLite "
        "file, sqlite:///path/to/file.db, or postgresql://user@host/database."
    )


def _sqlite(path: Path) -> sa.Engine:
    """Return the engine of a file, which is made if needed."""
    sqlalchemy = load_sqlalchemy()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _use_write_ahead_log(path)
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"{path}: cannot be opened: {error}.") from error
    engine: sa.Engine = sqlalchemy.create_engine(
        sqlalchemy.URL.create("sqlite", database=str(path.resolve())), connect_args={"timeout": _PATIENCE}
    )

    def connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions by itself
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=FULL")

    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(_WRITE)
        # A transaction that began with reading could not become a writer after another one wrote.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    sqlalchemy.event.listen(engine, "connect", connect)
    sqlalchemy.event.listen(engine, "begin", begin)
    return engine


def _use_write_ahead_log(path: Path) -> None:
    """Set the journal mode of a file, which remembers it."""
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        # SQLite does not wait where two processes change it at once.
        with RunLock(path.with_name(f"{path.name}.lock"), wait=_PATIENCE):
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode != "wal":
            raise StorageError(f"{path}: SQLite cannot use a write-ahead log there. Use a local disk.")
    finally:
        connection.close()


def _postgresql(address: str) -> sa.Engine:
    sqlalchemy = load_sqlalchemy()
    load_sqlalchemy("psycopg")
    try:
        url = sqlalchemy.make_url(f"postgresql+psycopg://{address.partition('://')[2]}")
    except sqlalchemy.exc.ArgumentError:
        raise ConfigError(
            f"{_without_password(address)}: is no address of a database. Write postgresql://user@host:5432/database."
        ) from None
    engine: sa.Engine = sqlalchemy.create_engine(
        url, pool_pre_ping=True, connect_args={"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
    )
    return engine


def _may_repeat(error: BaseException | None, *, idempotent: bool) -> bool:
    """Whether a transaction that ended with this error may be run again."""
    code = getattr(getattr(error, "orig", None), "sqlstate", None)
    return code in _ABORTED or (idempotent and bool(getattr(error, "connection_invalidated", False)))


def _without_password(address: str) -> str:
    scheme, _, rest = address.partition("://")
    account, at, host = rest.rpartition("@")
    return f"{scheme}://{account.partition(':')[0]}{at}{host.partition('?')[0]}"  # options can hold a password too
