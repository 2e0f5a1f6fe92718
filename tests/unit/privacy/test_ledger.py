"""A ledger has every charge on disk before anything is released, whenever a process is killed."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError, StorageError, UntrustedFileError
from neuro_divergent.privacy.accountant import Rounds, compute_epsilon, find_noise_multiplier
from neuro_divergent.privacy.ledger import Charge, Ledger

ONE = Rounds(0.8, 21.15)
OTHER = Rounds(0.5, 10.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def test_an_empty_ledger_has_spent_nothing_and_has_no_file(path: Path) -> None:
    ledger = Ledger(path)
    assert ledger.entries == ()
    assert ledger.spent(1e-5) == 0.0
    assert not path.exists()


def test_charges_survive_a_restart_with_attempts_counted(path: Path) -> None:
    ledger = Ledger(path)
    made = [ledger.charge(1, ONE), ledger.charge(2, ONE), ledger.charge(2, OTHER)]
    assert [(entry.round_number, entry.attempt) for entry in made] == [(1, 1), (2, 1), (2, 2)]
    again = Ledger(path)
    assert list(again.entries) == list(ledger.entries) == made
    assert again.charge(2, ONE).attempt == 3
    assert len(path.read_text("utf-8").splitlines()) == 4


def test_an_entry_is_one_line_of_json_with_the_time_in_utc(path: Path) -> None:
    before = datetime.now(UTC)
    Ledger(path).charge(7, ONE)
    entry = json.loads(path.read_text("utf-8"))
    assert list(entry) == ["round", "attempt", "participation", "noise_multiplier", "time"]
    assert (entry["round"], entry["attempt"], entry["participation"], entry["noise_multiplier"]) == (7, 1, 0.8, 21.15)
    assert abs((datetime.fromisoformat(entry["time"]) - before).total_seconds()) < 60


def test_what_was_spent_is_that_of_the_accountant(path: Path) -> None:
    ledger = Ledger(path)
    for number in range(5):
        ledger.charge(number, ONE)
    assert ledger.spent(1e-5) == compute_epsilon(ONE._replace(number=5), 1e-5)
    ledger.charge(5, OTHER)
    assert ledger.spent(1e-5) == compute_epsilon([ONE._replace(number=5), OTHER], 1e-5)


@pytest.mark.parametrize(("participation", "rounds", "epsilon"), [(0.8, 6, 1.0), (0.3, 9, 2.0), (1.0, 4, 0.5)])
def test_the_noise_of_a_budget_allows_the_planned_rounds_and_no_further(
    path: Path, participation: float, rounds: int, epsilon: float
) -> None:
    noise = find_noise_multiplier(epsilon=epsilon, delta=1e-5, participation=participation, rounds=rounds)
    ledger, one = Ledger(path), Rounds(participation, noise)
    assert ledger.allows(one._replace(number=rounds), epsilon=epsilon, delta=1e-5)
    for number in range(rounds):
        assert ledger.allows(one, epsilon=epsilon, delta=1e-5)
        ledger.charge(number, one)
    assert not ledger.allows(one, epsilon=epsilon, delta=1e-5)
    assert ledger.spent(1e-5) <= epsilon


def test_a_charge_reaches_the_disk_before_it_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    real = os.fsync

    def record(handle: int) -> None:
        place = Path(f"/proc/self/fd/{handle}").readlink() if Path("/proc/self/fd").exists() else path
        synced.append((place, path.read_bytes()))
        real(handle)

    monkeypatch.setattr(os, "fsync", record)
    ledger = Ledger(path)
    ledger.charge(1, ONE)
    assert [place for place, _ in synced] == [path, path.parent]  # a new file needs its directory as well
    assert all(content == path.read_bytes() for _, content in synced)
    synced.clear()
    ledger.charge(2, ONE)
    assert synced == [(path, path.read_bytes())]


def test_a_charge_that_the_disk_refuses_raises_and_the_next_one_works(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(path)
    ledger.charge(1, ONE)

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="No space left"):
            ledger.charge(2, ONE)
    assert len(ledger.entries) == 1
    ledger.charge(2, ONE)  # the line that may be there counts: rather too much than too little
    assert Ledger(path).entries == ledger.entries
    assert len(ledger.entries) >= 2


@settings(max_examples=60, deadline=None)
@given(data=st.data(), number=st.integers(0, 4))
def test_a_file_cut_at_any_byte_keeps_its_complete_lines_and_takes_charges(data: st.DataObject, number: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ledger.jsonl"
        ledger = Ledger(path)
        for count in range(number):
            ledger.charge(count, ONE if count % 2 else OTHER)
        content = path.read_bytes() if number else b""
        kept = content[: data.draw(st.integers(0, len(content)))]
        path.write_bytes(kept)
        cut = Ledger(path)
        complete = kept.count(b"\n")
        assert cut.entries == ledger.entries[:complete]
        made = cut.charge(99, ONE)
        assert Ledger(path).entries == (*ledger.entries[:complete], made)
        assert path.read_bytes().endswith(b"\n")


LINE = {"round": 2, "attempt": 1, "participation": 0.8, "noise_multiplier": 2.0, "time": "2026-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"[]",
        b"not json",
        b"\xff\xfe",
        b'{"round": 2, "round": 3}',
        json.dumps({**LINE, "extra": 1}).encode(),
        json.dumps({name: value for name, value in LINE.items() if name != "time"}).encode(),
        json.dumps({**LINE, "round": -1}).encode(),
        json.dumps({**LINE, "round": True}).encode(),
        json.dumps({**LINE, "attempt": 0}).encode(),
        json.dumps({**LINE, "attempt": 1.0}).encode(),
        json.dumps({**LINE, "participation": 0.0}).encode(),
        json.dumps({**LINE, "participation": "0.8"}).encode(),
        json.dumps({**LINE, "participation": True}).encode(),
        json.dumps({**LINE, "noise_multiplier": -1.0}).encode(),
        json.dumps({**LINE, "noise_multiplier": None}).encode(),
        json.dumps({**LINE, "time": "yesterday"}).encode(),
        json.dumps({**LINE, "time": 5}).encode(),
        json.dumps({**LINE, "time": "2026-01-01T00:00:00"}).encode(),
        json.dumps({**LINE, "time": "2026-01-01T00:00:00+02:00"}).encode(),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(path: Path, damaged: bytes) -> None:
    good = json.dumps(LINE).encode()
    path.write_bytes(good + b"\n" + damaged + b"\n" + good + b"\n")
    with pytest.raises(UntrustedFileError, match="line 2"):
        Ledger(path)


def test_a_file_that_lost_charges_is_refused(path: Path) -> None:
    ledger = Ledger(path)
    for number in range(3):
        ledger.charge(number, ONE)
    first = path.read_bytes().split(b"\n")[0] + b"\n"
    path.write_bytes(first)
    with pytest.raises(UntrustedFileError, match="3 charges"):
        ledger.charge(3, ONE)
    path.unlink()
    with pytest.raises(UntrustedFileError, match="3 charges"):
        ledger.charge(3, ONE)
    assert not path.exists()


def test_charges_of_another_process_are_seen(path: Path) -> None:
    mine, others = Ledger(path), Ledger(path)
    others.charge(1, ONE)
    assert mine.charge(1, ONE).attempt == 2


def test_links_are_refused(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    path.symlink_to(target)
    with pytest.raises(UntrustedFileError):
        Ledger(path)


def test_a_missing_directory_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Ledger(tmp_path / "missing" / "ledger.jsonl").charge(1, ONE)


@pytest.mark.parametrize(
    ("number", "rounds", "message"),
    [
        (-1, ONE, "round_number: -1"),
        (1, Rounds(0.8, 2.0, 3), "number: 3 rounds"),
        (1, Rounds(0.0, 2.0), "participation: 0.0"),
        (1, Rounds(0.8, float("nan")), "noise_multiplier: nan"),
    ],
)
def test_invalid_charges_are_refused_before_anything_is_written(
    path: Path, number: int, rounds: Rounds, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Ledger(path).charge(number, rounds)
    assert not path.exists()


def test_a_charge_has_names() -> None:
    assert Charge(1, 1, 0.8, 2.0, "now")._fields[:2] == ("round_number", "attempt")
