"""``nd continuous``, and a source in PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.lifecycle.continuous.continuous import Continuous
from neuro_divergent.lifecycle.continuous.journal import Journal
from neuro_divergent.lifecycle.continuous.sources.sql import Sql
from tests.integration.lifecycle.continuous_world import small_world
from tests.postgresql import new_database

ND = Path(sys.executable).with_name("nd")


def nd(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ND), "continuous", *arguments], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory where the first tick was run by the command."""
    place = tmp_path_factory.mktemp("world")
    world = small_world(place, days=30, changes=None)
    world.begin()
    done = nd("tick", "load", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "Version 1 is the first champion." in done.stdout
    return place


def test_tick_without_new_rows_says_so_and_takes_little_time(world: Path) -> None:
    took = []
    for _ in range(3):
        before = os.times().children_user
        done = nd("tick", "load", cwd=world)
        took.append(os.times().children_user - before)
        assert done.stdout.strip() == "Nothing is new."
    assert min(took) < 2.0  # of the processor, while other tests run beside this one; 0.7 alone


def test_tick_without_new_rows_loads_neither_torch_nor_polars(world: Path) -> None:
    program = (
        "import sys; from neuro_divergent.lifecycle.continuous.continuous import Continuous; "
        "assert not Continuous('load').tick().steps; assert not {'torch', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=world, check=True)


def test_status_shows_champion_and_decisions_and_json_is_complete(world: Path) -> None:
    shown = nd("status", "load", cwd=world)
    assert "version 1 (full training)" in shown.stdout
    assert "Version 1 is the first champion." in shown.stdout
    document = json.loads(nd("status", "load", "--json", cwd=world).stdout)
    assert [item["kind"] for item in document["decisions"]] == ["training", "promoted"]
    assert document["attempts"][0]["version"] == 1


def test_a_second_tick_at_the_same_time_is_refused_and_counted(world: Path) -> None:
    continuous = Continuous(world / "load")
    with continuous._locked():
        refused = nd("tick", "load", cwd=world)
    assert refused.returncode == 2
    assert "another tick is under way" in refused.stderr
    with Journal(world / "load") as journal:
        assert journal.value("skipped") == 1


def test_init_writes_settings_that_can_be_read_and_refuses_to_overwrite_them(tmp_path: Path) -> None:
    arguments = ("init", "load", "--source", "in/*.csv", "--horizon", "6", "--target", "kwh")
    assert nd(*arguments, cwd=tmp_path).returncode == 0
    assert Continuous(tmp_path / "load").config.run.data.target == "kwh"
    assert "is there already" in nd(*arguments, cwd=tmp_path).stderr
    missing = nd("tick", "load", cwd=tmp_path)
    assert missing.returncode == 2
    assert "no file matches" in missing.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status", "nothing"), "nothing: not found"),
        (("init", "x"), "--source and --horizon are needed"),
        (("accept", "load", "7"), "has no continuous.toml"),
        (("run", "load", "--every", "often"), "'often' is not a duration"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = nd(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_train_by_hand_makes_a_challenger_or_a_rejected_version(world: Path) -> None:
    done = nd("train", "load", "--reason", "new tariff", cwd=world)
    assert done.returncode == 0, done.stderr
    assert "new tariff" in done.stdout
    document = json.loads(nd("status", "load", "--json", cwd=world).stdout)
    assert document["attempts"][-1]["state"] in ("shadow", "rejected")


def test_a_query_of_postgresql_gives_new_and_changed_rows_by_its_watermark(postgresql: str) -> None:
    import psycopg

    from neuro_divergent.data.schema import Schema

    address = new_database(postgresql, "continuous_source")
    begin = datetime(2026, 1, 1)
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE sales (shop TEXT, day TIMESTAMP, units DOUBLE PRECISION, changed TIMESTAMPTZ)")
        for hour in range(5):
            changed = datetime(2026, 2, 1, hour, tzinfo=UTC)
            row = ("a", begin.replace(hour=hour), float(hour), changed)
            connection.execute("INSERT INTO sales VALUES (%s, %s, %s, %s)", row)
    source = Sql(address=address, query="SELECT * FROM sales", watermark="changed")
    schema = Schema(target="units", time="day", id="shop")
    first = source.poll(None, schema)
    assert first is not None
    assert first.rows.height == 5
    assert first.rows.schema["day"] == pl.Datetime("us")
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE sales SET units = 99, changed = '2026-02-02T00:00:00Z' WHERE units = 1")
    second = source.poll(first.position, schema)
    assert second is not None
    assert sorted(second.rows["units"].to_list()) == [4.0, 99.0]  # the changed one, and the last one again
    assert source.poll(second.position, schema) is not None
    third = source.poll(second.position, schema)
    assert third is not None
    assert source.poll(third.position, schema) is None
