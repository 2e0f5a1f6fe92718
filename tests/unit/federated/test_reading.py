"""Whatever is in the directory of a federation, it is read, and what is sound in it is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.federated.directory import FederationDirectory
from neuro_divergent.federated.reading import FederationReader, find_federations, is_federation, read_federation
from neuro_divergent.federated.round_log import RoundLog, read_rows
from tests.dashboard.conftest import tree_digest
from tests.dashboard.federation_maker import CLIENTS, PRIVACY, FederationMaker
from tests.unit.federated.tables import federation as small_federation

FILES = ("federation.json", "status.json", "rounds.jsonl", "ledger.jsonl", "scores.json", "lock")


def test_federation_that_trained_is_read_as_it_was_trained(tmp_path: Path) -> None:
    trained = small_federation(3).fit(run=tmp_path / "run")
    found = read_federation(tmp_path / "run")
    assert (found.state, found.round, found.total_rounds, found.num_clients) == ("finished", 3, 3, 3)
    assert found.losses == [(row["round"], row["loss"]) for row in trained.rounds]
    assert [row.to_dict() for row in found.rows] == trained.rounds
    assert found.loss == trained.rounds[-1]["loss"]
    assert [(item.name, item.participated, item.last_round) for item in found.clients] == [
        ("client-0", 3, 3), ("client-1", 3, 3), ("client-2", 3, 3),
    ]  # fmt: skip
    assert (found.model, found.horizon, found.aggregation) == ("nlinear", 4, "fedavg")
    assert found.has_model
    assert (found.privacy, found.damaged, found.message) == (None, (), "")
    assert found.seconds_per_round is not None
    assert found.seconds_left is None  # it does not run


def test_private_federation_tells_budget_noise_and_charges(tmp_path: Path) -> None:
    small_federation(3, privacy=PRIVACY).fit(run=tmp_path / "run")
    privacy = read_federation(tmp_path / "run").privacy
    assert privacy is not None
    assert (privacy.budget, privacy.delta, privacy.clip_norm, privacy.charges) == (8.0, 1e-3, 1.0, 3)
    assert privacy.epsilon == pytest.approx(8.0, rel=1e-3)
    assert privacy.noise_multiplier is not None
    assert privacy.noise_multiplier > 0.2


def test_state_is_running_while_the_lock_is_held_and_then_what_was_written(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run", rounds=4)
    with made.opened("finished"):
        found = read_federation(made.path)
        assert (found.state, found.round) == ("running", 0)
        assert found.holder is not None
        made.run(2)
        running = read_federation(made.path)
        assert running.seconds_left == pytest.approx(2 * running.seconds_per_round)
    assert read_federation(made.path).state == "finished"
    assert read_federation(made.make(3).path).state == "interrupted"


def test_error_and_interruption_are_told_apart(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run")
    with pytest.raises(ZeroDivisionError), made.opened():
        raise ZeroDivisionError("by nothing")
    found = read_federation(made.path)
    assert (found.state, found.message) == ("failed", "by nothing")
    with pytest.raises(KeyboardInterrupt), made.opened():
        raise KeyboardInterrupt
    assert read_federation(made.path).state == "interrupted"


def test_federation_whose_process_is_gone_was_killed(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run").make(2, state="running")
    assert read_federation(made.path).state == "killed"
    (made.path / "status.json").unlink()
    assert read_federation(made.path).state == "killed"


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"state": "running"', '{"state": "lost"}', '{"state": NaN}'])
def test_status_that_cannot_be_read_is_damaged(tmp_path: Path, content: str) -> None:
    made = FederationMaker(tmp_path / "run").make(2)
    (made.path / "status.json").write_text(content)
    assert read_federation(made.path).state == "damaged"
    with RunLock(made.path / "lock"):
        assert read_federation(made.path).state == "running"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 99}', '{"format": 1, "config": 3, "chosen": {}}'])
def test_settings_that_cannot_be_read_are_damaged_and_the_rounds_still_shown(tmp_path: Path, content: str) -> None:
    made = FederationMaker(tmp_path / "run").make(2)
    (made.path / "federation.json").write_text(content)
    found = read_federation(made.path)
    assert (found.state, found.settings, found.damaged) == ("damaged", {}, ("federation.json",))
    assert found.message
    assert str(tmp_path) not in found.message
    assert (found.round, found.total_rounds, len(found.clients)) == (2, None, 4)


def test_rounds_that_are_half_written_or_damaged_are_left_out(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run", rounds=4).make(3)
    rows = made.path / "rounds.jsonl"
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(
        lines[0] + b'{"round": \xff\n' + b"[" * 100_000 + b"\n" + b'{"round": true}\n' + lines[1] + lines[2][:-9]
    )
    assert [row.round for row in read_federation(made.path).rows] == [1, 2]


def test_round_that_was_done_again_counts_once_with_its_last_row(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run").make(2)
    with (made.path / "rounds.jsonl").open("a") as file:
        file.write(json.dumps({**made.row(2), "loss": 0.125}) + "\n")
    assert read_federation(made.path).losses[-1] == (2, 0.125)
    assert [row["round"] for row in read_rows(made.path / "rounds.jsonl")] == [1, 2]


def test_rounds_are_known_from_their_directories_where_the_rows_are_lost(tmp_path: Path) -> None:
    small_federation(3).fit(run=tmp_path / "run")
    (tmp_path / "run" / "rounds.jsonl").unlink()
    found = read_federation(tmp_path / "run")
    assert (found.round, found.rows, found.loss, found.num_clients) == (3, (), None, None)


def test_clients_are_counted_by_what_they_did(tmp_path: Path) -> None:
    made = FederationMaker(
        tmp_path / "run", rounds=5, dropped={2: ["west"], 5: ["west"]}, refused={3: {"east": "too large"}}
    ).make()
    clients = {item.name: item for item in read_federation(made.path).clients}
    assert sorted(clients) == sorted(CLIENTS)
    west, east = clients["west"], clients["east"]
    assert (west.participated, west.dropped, west.refused, west.last_round) == (3, 2, 0, 4)
    assert (east.participated, east.dropped, east.refused, east.last_round) == (4, 0, 1, 5)
    assert (east.reason, west.reason) == ("too large", "")
    assert west.last_time == made.row(4)["time"]


def test_clients_of_the_settings_that_never_took_part_are_listed(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run").make(1)
    document = json.loads((made.path / "federation.json").read_text())
    document["config"]["clients"] = {"absent": "absent.csv"}
    (made.path / "federation.json").write_text(json.dumps(document))
    absent = next(item for item in read_federation(made.path).clients if item.name == "absent")
    assert (absent.participated, absent.last_round) == (0, None)


def test_traffic_and_pace_are_those_of_the_rounds(tmp_path: Path) -> None:
    found = read_federation(FederationMaker(tmp_path / "run", rounds=3).make().path)
    assert (found.bytes_down, found.bytes_up) == (3 * 4 * 1500, 3 * 4 * 1600)
    assert found.seconds_per_round == pytest.approx(2.0)


def test_charge_of_a_round_without_a_row_is_spent(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run", rounds=3, privacy=PRIVACY).make(1, state="running")
    before = read_federation(made.path).privacy
    with (made.path / "ledger.jsonl").open("a") as file:
        charge = {"round": 2, "attempt": 1, "participation": 1.0, "noise_multiplier": 0.5}
        file.write(json.dumps({**charge, "time": "2026-01-01T00:00:00+00:00"}) + "\n")
    after = read_federation(made.path).privacy
    assert before is not None
    assert after is not None
    assert (before.charges, after.charges) == (1, 2)
    assert after.epsilon > before.epsilon
    assert after.noise_multiplier == 0.5


def test_damaged_ledger_is_named(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run", privacy=PRIVACY).make(1)
    (made.path / "ledger.jsonl").write_text("nothing\n")
    found = read_federation(made.path)
    assert found.damaged == ("ledger.jsonl",)
    assert found.privacy is not None
    assert found.privacy.epsilon is not None  # from the row


def test_scores_are_read_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run").make(1).score(("global", "local"))
    assert len(read_federation(made.path).scores) == 8
    assert read_federation(made.path).scores[0] == {
        "client": "east", "model": "global", "part": "test", "windows": 3, "mae": 1.0, "rmse": 1.3, "mase": None,
        "skill": 0.3,
    }  # fmt: skip
    (made.path / "scores.json").write_text('[1, {"client": 3}, {"client": "a", "model": "global", "mae": "much"}]')
    assert [row["mae"] for row in read_federation(made.path).scores] == [None]
    (made.path / "scores.json").write_text('{"scores": []}')
    assert read_federation(made.path).damaged == ("scores.json",)


def test_names_that_would_steer_a_terminal_are_made_harmless(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run", clients=["a\x1b[2Jb\nc", "\ud800"]).make(0)
    (made.path / "rounds.jsonl").write_text(json.dumps(made.row(1)) + "\n")
    assert [item.name for item in read_federation(made.path).clients] == ["?", "a?[2Jb c"]


def test_reader_finds_what_is_added_and_a_file_that_is_replaced(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run", rounds=9)
    reader = FederationReader(made.path)
    with made.opened():
        assert reader.read().rows == ()
        made.run(2)
        first = reader.read()
        assert [row.round for row in first.rows] == [1, 2]
        assert reader.read().rows is first.rows
        made.run(5)
        assert [row.round for row in reader.read().rows] == [1, 2, 3, 4, 5]
        RoundLog(made.path / "rounds.jsonl", 3)  # as a server does that goes on after round 3
        assert [row.round for row in reader.read().rows] == [1, 2, 3]
    assert reader.read().to_dict() == read_federation(made.path).to_dict()
    (made.path / "rounds.jsonl").unlink()
    assert reader.read().rows == ()


def test_line_that_is_being_written_comes_with_its_end(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run").make(1)
    reader = FederationReader(made.path)
    line = json.dumps(made.row(2)).encode() + b"\n"
    with (made.path / "rounds.jsonl").open("ab", buffering=0) as file:
        file.write(line[:20])
        assert [row.round for row in reader.read().rows] == [1]
        file.write(line[20:])
        assert [row.round for row in reader.read().rows] == [1, 2]


def test_federations_are_found_by_their_file_and_links_are_not_followed(tmp_path: Path) -> None:
    one = FederationMaker(tmp_path / "runs" / "b").make(1)
    FederationMaker(tmp_path / "runs" / "a").make(1)
    FederationMaker(tmp_path / "runs" / ".hidden").make(1)
    FederationMaker(tmp_path / "elsewhere").make(1)
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "runs" / "empty").mkdir()
    assert [path.name for path in find_federations(tmp_path / "runs")] == ["a", "b"]
    assert find_federations(tmp_path / "nowhere") == []
    assert is_federation(one.path)
    assert not is_federation(tmp_path / "runs" / "empty")


def test_directory_that_is_not_there_is_read_without_an_error(tmp_path: Path) -> None:
    found = read_federation(tmp_path / "nowhere")
    assert (found.state, found.round, found.clients) == ("damaged", 0, ())


def test_reading_needs_no_torch() -> None:
    program = "import sys, neuro_divergent.federated.reading; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        "format", "config", "chosen", "created", "federation", "privacy", "epsilon", "delta", "rounds", "clients",
        "model", "name", "state", "message", "time", "round", "seconds", "participants", "refused", "dropped", "loss",
        "client", "mae", "noise_multiplier", "participation", "attempt",
    ]
)  # fmt: skip
OBJECTS = st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES, max_size=3))
CONTENT = st.binary(max_size=40) | st.one_of(OBJECTS, st.lists(OBJECTS, max_size=3)).map(
    lambda value: json.dumps(value, ensure_ascii=True).encode() + b"\n"
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(contents=st.dictionaries(st.sampled_from(FILES), CONTENT, min_size=1), held=st.booleans())
def test_no_content_raises_an_error(tmp_path: Path, contents: dict[str, bytes], held: bool) -> None:
    for name in FILES:
        (tmp_path / name).unlink(missing_ok=True)
    lock = RunLock(tmp_path / "lock")
    if held:
        lock.__enter__()
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    check(tmp_path)
    assert (read_federation(tmp_path).state == "running") is held
    lock.__exit__(None, None, None)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a federation that is well."""
    made = FederationMaker(
        tmp_path_factory.mktemp("sound") / "run", rounds=4, privacy=PRIVACY, refused={2: {"east": "too large"}}
    ).make()
    made.score()
    return {name: (made.path / name).read_bytes() for name in FILES}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(data=st.data())
def test_no_change_of_a_byte_raises_an_error(tmp_path: Path, sound: dict[str, bytes], data: st.DataObject) -> None:
    for name, content in sound.items():
        (tmp_path / name).write_bytes(content)
    name = data.draw(st.sampled_from(FILES[:-1]))
    content = bytearray(sound[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    (tmp_path / name).write_bytes(bytes(content[:cut]))
    check(tmp_path)


def check(path: Path) -> None:
    """Read a federation, and everything that is made of it."""
    from neuro_divergent.federated.report import describe_page
    from neuro_divergent.interfaces.dashboard.federations import FederationView
    from neuro_divergent.interfaces.dashboard.response import to_json
    from neuro_divergent.reporting.report.federation import render_federation

    found = read_federation(path)
    json.dumps(found.to_dict(), allow_nan=False)
    json.dumps(found.to_dict(), ensure_ascii=False).encode("utf-8")
    render_federation(describe_page(found)).encode("utf-8")
    view = FederationView(found)
    to_json([view.details(), view.rounds, view.clients()])


def test_things_in_the_place_of_files_hang_nobody(tmp_path: Path) -> None:
    for name in FILES[:-1]:
        (tmp_path / name).mkdir() if name == "status.json" else os.mkfifo(tmp_path / name)
    check(tmp_path)
    found = read_federation(tmp_path)
    assert found.state == "damaged"
    assert set(found.damaged) == {"federation.json", "status.json", "scores.json"}


def test_directory_is_only_read(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run").make(2).score()
    before = tree_digest(made.path)
    check(made.path)
    assert tree_digest(made.path) == before
    assert FederationDirectory(made.path).config() == made.config
