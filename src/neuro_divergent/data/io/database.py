"""Rows of a SQL query, from any database that SQLAlchemy knows and whose driver is installed.

An address such as ``postgresql://reader@host/shop`` may not hold a password: it is stored with runs and shown in
messages. ``$NAME`` in its place is read from the environment when the connection is made, and never stored.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, quote_plus

import polars as pl

from neuro_divergent.core.errors import DataError, MissingDependencyError, NeuroDivergentError
from neuro_divergent.core.memory import memory_limit
from neuro_divergent.core.packages import load_package
from neuro_divergent.data.io.address import refuse_password, variable_of, without_password
from neuro_divergent.data.io.table import Table, first_line

_ROWS = 1 << 18  # rows that are fetched together
_MOST_TABLES = 10


def read_query(address: str, query: str | None, wanted: list[str] | None) -> Table:
    """Return the wanted columns, or all of them, of the rows of a query.

    No transaction is committed. SQLite files and PostgreSQL are opened for reading alone; of other databases, use an
    account that may only read.

    Raises:
        DataError: If the query fails or gives no rows, or more than fit into a quarter of the memory.
        ConfigError: If the address holds a password.
        MissingDependencyError: If SQLAlchemy or the driver is not installed.
    """
    refuse_password(address)
    name = without_password(address)

    def fail(reason: str) -> DataError:
        return DataError(f"{name}: {reason}")

    frames: list[pl.DataFrame] = []
    size = 0
    with connected(address, fail) as connection:
        if query is None:
            raise fail(f'which rows? Pass query="SELECT ..." (--query "SELECT ..."){_tables(connection)}')
        for frame in query_batches(query, connection):
            size += int(frame.estimated_size())
            if size > memory_limit() / 4 * 2**30:
                limit = f"{memory_limit() / 4:.2f} GiB, a quarter of the memory"
                raise fail(f"the query gives more than {limit}. Write its rows to Parquet files, and read those")
            frames.append(frame)
    if not size:
        raise fail("no data rows")
    try:
        found = pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise fail(f"a column has values of several types ({first_line(error)}); cast it in the query") from None
    chosen = found if wanted is None else found.select(column for column in found.columns if column in wanted)
    return Table(chosen, name, "polars", tuple(found.columns))


def query_batches(query: str, connection: Any, rows: int = _ROWS) -> Iterator[pl.DataFrame]:
    """Yield the rows of a query, some at a time; the first frame comes also where there are none."""
    sqlalchemy = load_package("sqlalchemy", "reading databases needs", "lifecycle")
    batches: Any = pl.read_database(
        sqlalchemy.text(query.strip().rstrip(";")),
        connection,
        iter_batches=True,
        batch_size=rows,
        infer_schema_length=None,
    )
    yield from batches


@contextmanager
def connected(address: str, fail: Callable[[str], Exception]) -> Iterator[Any]:
    """Give a connection for reading to the database at an address.

    Args:
        address: As SQLAlchemy has it; ``$NAME`` is read from the environment.
        fail: Makes the error from a reason.

    Raises:
        Exception: What ``fail`` returns, if the database or the query refuses.
        MissingDependencyError: If SQLAlchemy or the driver is not installed.
    """
    sqlalchemy = load_package("sqlalchemy", "reading databases needs", "lifecycle")
    scheme, separator, rest = address.partition("://")
    options: dict[str, Any] = {}
    if scheme in ("postgresql", "postgres"):
        load_package("psycopg", "reading PostgreSQL needs", "postgresql")
        scheme = "postgresql+psycopg"
    if scheme.startswith("sqlite"):
        options["creator"] = _sqlite(rest, fail)
        rest = "/"
    rest = _with_password(rest, fail)
    try:
        engine = sqlalchemy.create_engine(f"{scheme}{separator}{rest}", **options)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise fail("is no address of a database; write sqlite:///shop.db or postgresql://user@host/database") from None
    except ImportError as error:
        raise MissingDependencyError(
            f"{without_password(address)}: its driver is not installed ({first_line(error)})"
        ) from None
    try:
        with engine.connect().execution_options(stream_results=True) as connection:
            if scheme.startswith("postgresql"):
                connection = connection.execution_options(postgresql_readonly=True)
            yield connection
    except NeuroDivergentError:
        raise
    except (sqlalchemy.exc.SQLAlchemyError, pl.exceptions.PolarsError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        raise fail(f"the database refuses: {reason}") from None
    finally:
        engine.dispose()


def _sqlite(rest: str, fail: Callable[[str], Exception]) -> Callable[[], Any]:
    """Return what opens a SQLite file for reading only; SQLite itself would create one that is not there."""
    import sqlite3

    path = rest.removeprefix("/").partition("?")[0]
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        raise fail(f"{path or 'the file'} not found") from None
    if not stat.S_ISREG(mode):
        raise fail("is not a regular file")
    return lambda: sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)


def _with_password(rest: str, fail: Callable[[str], Exception]) -> str:
    """Return the rest of an address with the password from the environment variable that it names, if it does."""
    account, _, host = rest.rpartition("@")
    user, _, password = account.partition(":")
    name = variable_of(password)
    if name is None:
        return rest
    if name not in os.environ:
        raise fail(f"the environment variable {name}, which the address names, is not set")
    return f"{user}:{quote_plus(os.environ[name])}@{host}"


def _tables(connection: Any) -> str:
    """Return which tables there are, as far as the database tells."""
    sqlalchemy = load_package("sqlalchemy", "reading databases needs", "lifecycle")
    try:
        inspector = sqlalchemy.inspect(connection)
        names = [*inspector.get_table_names(), *inspector.get_view_names()]
    except sqlalchemy.exc.SQLAlchemyError:
        return ""
    shown = ", ".join(names[:_MOST_TABLES]) + (", ..." if len(names) > _MOST_TABLES else "")
    return f"; there are the tables {shown}" if names else ""
