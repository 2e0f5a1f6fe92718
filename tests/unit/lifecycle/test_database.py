"""The database of several processes: transactions, waiting, forks, versions of tables and where it refuses to be."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from neuro_divergent.core.errors import ConfigError, InputError, NewerFormatError, StorageError
from neuro_divergent.lifecycle import database as module
from neuro_divergent.lifecycle.database import Database, sqlite_path
from neuro_divergent.lifecycle.file_system import file_system_type, is_network_type, refuse_network
from tests.postgresql import new_database

METADATA = sa.MetaData()
COUNTER = sa.Table("counter", METADATA, sa.Column("id", sa.Integer, primary_key=True), sa.Column("value", sa.Integer))
CHILD = sa.Table("child", METADATA, sa.Column("parent", sa.ForeignKey(COUNTER.c.id)))
MOUNTS = """\
21 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 21 0:40 / /mnt/team\\040share rw,relatime - nfs4 server:/team rw
31 21 0:41 / /mnt/win rw - cifs //server/x rw
32 21 0:42 / /mnt/ssh rw - fuse.sshfs me@host: rw
33 21 0:43 / /mnt/over rw - fuse.fuse-overlayfs overlay rw
34 30 0:44 / /mnt/team\\040share/fast rw - xfs /dev/sdb rw
"""


def opened(place: Path | str, **options: Any) -> Database:
    return Database.open(place, METADATA, part="test", **options)


@pytest.fixture
def database(tmp_path: Path) -> Any:
    with opened(tmp_path / "test.db") as made:
        with made.write() as connection:
            connection.execute(sa.insert(COUNTER).values(id=1, value=0))
        yield made


@pytest.fixture(scope="module")
def server(postgresql: str) -> str:
    return new_database(postgresql, "database_test")


def value(database: Database) -> int:
    with database.read() as connection:
        return int(connection.scalar(sa.select(COUNTER.c.value)) or 0)


def increment(connection: sa.Connection) -> None:
    """Read and write, which loses counts where two transactions do so at once."""
    before = connection.scalar(sa.select(COUNTER.c.value)) or 0
    connection.execute(sa.update(COUNTER).values(value=before + 1))


def count(path: str, times: int) -> None:
    with opened(Path(path)) as database:
        for _ in range(times):
            database.transact(increment)


def test_sqlite_uses_a_write_ahead_log_full_flushes_and_foreign_keys(database: Database, tmp_path: Path) -> None:
    with database.read() as connection:
        found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in
                 ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")}  # fmt: skip
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 120_000}


def test_a_transaction_that_raises_leaves_nothing(database: Database) -> None:
    def work(connection: sa.Connection) -> None:
        increment(connection)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.transact(work)
    assert value(database) == 0


def test_a_dangling_reference_is_refused(database: Database) -> None:
    with pytest.raises(sa.exc.IntegrityError), database.write() as connection:
        connection.execute(sa.insert(CHILD).values(parent=7))


def test_a_reader_sees_one_state_and_does_not_wait_for_a_writer(database: Database) -> None:
    with database.read() as reader:
        before = reader.scalar(sa.select(COUNTER.c.value))
        database.transact(increment)
        assert reader.scalar(sa.select(COUNTER.c.value)) == before
    assert value(database) == 1


def test_processes_and_threads_lose_no_increment(database: Database) -> None:
    assert database.path is not None
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=count, args=(str(database.path), 20)) for _ in range(2)]
    threads = [threading.Thread(target=lambda: [database.transact(increment) for _ in range(20)]) for _ in range(3)]
    for worker in (*processes, *threads):
        worker.start()
    for worker in (*processes, *threads):
        worker.join()
    assert value(database) == 100


def open_at_once(address: str | Path) -> None:
    """Open a new database from several threads, each with connections of its own."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            opened(address).close()
        except BaseException as error:  # noqa: BLE001 to show it in the test
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_new_database_is_opened_by_several_at_once(tmp_path: Path) -> None:
    for number in range(5):
        open_at_once(tmp_path / str(number) / "new.db")


def test_a_new_postgresql_is_opened_by_several_at_once(postgresql: str) -> None:
    open_at_once(new_database(postgresql, "opened_at_once"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_opens_connections_of_its_own(database: Database) -> None:
    database.transact(increment)
    program = (
        "import os, sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from tests.unit.lifecycle.test_database import increment, opened, value\n"
        "database = opened(Path(sys.argv[1])); database.transact(increment)\n"
        "child = os.fork()\n"
        "if child == 0:\n    database.transact(increment); os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "database.transact(increment); print(value(database))\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program, str(database.path), str(root)], capture_output=True, text=True
    )
    assert done.stdout.strip() == "4", done.stderr


def test_a_writer_that_waits_too_long_names_the_holder(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    failed: list[StorageError] = []

    def write() -> None:
        try:
            database.transact(increment)
        except StorageError as error:
            failed.append(error)

    with database.write():
        other = threading.Thread(target=write)
        other.start()
        other.join()
    assert "waited 0 s for another writer" in str(failed[0])


def test_tables_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    opened(tmp_path / "a.db", version=2).close()
    with pytest.raises(NewerFormatError, match="format 2, this version reads up to 1"):
        opened(tmp_path / "a.db", version=1)


def test_one_database_holds_several_sets_of_tables(tmp_path: Path) -> None:
    opened(tmp_path / "a.db").close()
    other = sa.MetaData()
    sa.Table("other", other, sa.Column("id", sa.Integer, primary_key=True))
    with Database.open(tmp_path / "a.db", other, part="other", version=3) as database, database.read() as connection:
        assert set(sa.inspect(connection).get_table_names()) == {"nd_schema", "counter", "child", "other"}


def test_nothing_is_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not found"):
        opened(tmp_path / "sub" / "a.db", create=False)
    assert not (tmp_path / "sub").exists()
    sqlite3.connect(tmp_path / "b.db").close()
    with pytest.raises(InputError, match="has no tables of the test"):
        opened(tmp_path / "b.db", create=False)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("text" * 1000)
    with pytest.raises(StorageError, match="cannot be opened"):
        opened(tmp_path / "a.db")


@pytest.mark.parametrize(
    ("address", "path"),
    [("models/a.db", "models/a.db"), ("sqlite:///a.db", "a.db"), ("sqlite:////tmp/a.db", "/tmp/a.db")],
)
def test_addresses_of_sqlite(address: str, path: str) -> None:
    assert sqlite_path(address) == Path(path)


@pytest.mark.parametrize(
    "address", ["mysql://me:secret@host/db", "sqlite://", "oracle+x://host?password=secret", "s3://bucket/x"]
)
def test_other_addresses_are_refused_without_showing_the_password(address: str) -> None:
    with pytest.raises(ConfigError, match=r"sqlite:///path/to/file.db, or postgresql://") as error:
        sqlite_path(address)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/a.db", "ext4"), ("/mnt/team share/a.db", "nfs4"), ("/mnt/team share/fast/a.db", "xfs"),
        ("/mnt/win", "cifs"), ("/mnt/ssh/x/y", "fuse.sshfs"), ("/mnt/windows/a.db", "ext4"),
    ],
)  # fmt: skip
def test_the_file_system_of_a_path_is_that_of_the_deepest_mount(path: str, kind: str) -> None:
    assert file_system_type(Path(path), MOUNTS) == kind


def test_sqlite_on_network_file_systems_is_refused_with_postgresql_named() -> None:
    for path in ("/mnt/team share/a.db", "/mnt/win/a.db", "/mnt/ssh/a.db", "//server/share/a.db"):
        with pytest.raises(InputError, match=r"network file system.*postgresql://"):
            refuse_network(Path(path), MOUNTS)
    for path in ("/a.db", "/mnt/over/a.db", "/mnt/team share/fast/a.db"):
        refuse_network(Path(path), MOUNTS)
    assert not any(map(is_network_type, ("ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", "apfs")))


def test_the_root_of_this_machine_has_a_known_type() -> None:
    if not Path("/proc/self/mountinfo").exists():
        pytest.skip("no list of mounts")
    assert file_system_type(Path("/")) is not None


def test_postgresql_transactions_lose_no_increment(server: str) -> None:
    with opened(server) as database:
        assert database.path is None
        with database.write() as connection:
            connection.execute(sa.insert(COUNTER).values(id=1, value=0))

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.select(COUNTER).with_for_update())
            increment(connection)

        threads = [threading.Thread(target=lambda: [database.transact(work) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert value(database) == 80


def test_a_deadlock_of_postgresql_is_repeated(server: str) -> None:
    with opened(server) as database:
        with database.write() as connection:
            connection.execute(sa.delete(COUNTER))
            connection.execute(sa.insert(COUNTER), [{"id": 1, "value": 0}, {"id": 2, "value": 0}])
        both = threading.Barrier(2)
        calls = []

        def work(first: int, connection: sa.Connection) -> None:
            calls.append(first)
            for place in (first, 3 - first):
                connection.execute(sa.update(COUNTER).where(COUNTER.c.id == place).values(value=COUNTER.c.value + 1))
                if len(calls) <= 2 and place == first:
                    both.wait(10)

        threads = [
            threading.Thread(target=lambda first=first: database.transact(lambda c: work(first, c))) for first in (1, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with database.read() as connection:
            assert list(connection.scalars(sa.select(COUNTER.c.value))) == [2, 2]
        assert len(calls) == 3


def test_a_lost_connection_is_repeated_only_where_that_is_harmless(server: str) -> None:
    def break_it(connection: sa.Connection) -> None:
        calls.append(1)
        if len(calls) == 1:
            own = connection.scalar(sa.text("SELECT pg_backend_pid()"))
            with opened(server) as other, other.write() as killer:
                killer.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": own})
        connection.execute(sa.text("SELECT 1"))

    with opened(server) as database:
        calls: list[int] = []
        with pytest.raises(StorageError, match="the database refuses"):
            database.transact(break_it)
        assert len(calls) == 1
        calls.clear()
        database.transact(break_it, idempotent=True)
        assert len(calls) == 2


def test_a_postgresql_that_is_not_there_is_an_error_of_storage_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StorageError, match="refuses") as error:
        opened("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(error.value)
