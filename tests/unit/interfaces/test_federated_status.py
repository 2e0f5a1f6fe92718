"""What ``nd federated status`` shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.federated.status import show_status
from tests.dashboard.federation_maker import PRIVACY, FederationMaker

Captured = pytest.CaptureFixture[str]


def lines_of(capsys: Captured) -> list[str]:
    """Return what was shown, each line without what is between its words."""
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_state_rounds_and_clients_are_shown(tmp_path: Path, capsys: Captured) -> None:
    made = FederationMaker(tmp_path / "run", dropped={11: ["west"]}, refused={12: {"east": "a norm of 9"}}).make()
    show_status(made.path)
    lines = lines_of(capsys)
    assert f"federation {made.path}" in "\n".join(lines)
    for line in ("state finished", "round 12 of 12, 2 s each", "model nlinear, 4 steps ahead, by fedavg", "clients 4"):
        assert line in lines
    assert "11 3 of 4 1 0 0.291 0.0455 0.0727 0.0364 1.8 s" in lines
    assert "12 3 of 4 0 1 0.283 0.0417 0.0667 0.0333 1.8 s east: a norm of 9" in lines
    assert not [line for line in lines if line.startswith("2 4 of 4")]  # the last ten only
    order = [line.split()[0] for line in lines[-4:]]
    assert order == ["east", "west", "north", "south"]  # those that miss rounds first


def test_privacy_is_shown_instead_of_the_loss(tmp_path: Path, capsys: Captured) -> None:
    show_status(FederationMaker(tmp_path / "run", privacy=PRIVACY).make(3).path)
    lines = lines_of(capsys)
    assert "privacy epsilon 4 of 8 (50 %), delta 0.001, noise 2" in lines
    assert "state interrupted" in lines
    assert not [line for line in lines if line.startswith("loss")]


def test_federation_that_runs_names_its_process_and_the_time_left(tmp_path: Path, capsys: Captured) -> None:
    made = FederationMaker(tmp_path / "run", rounds=8)
    with made.opened():
        made.run(3)
        show_status(made.path)
    lines = lines_of(capsys)
    assert "state running" in lines
    assert "round 3 of 8, 2 s each, about 10 s left" in lines
    assert [line for line in lines if line.startswith("process this process since")]


def test_json_has_everything(tmp_path: Path, capsys: Captured) -> None:
    made = FederationMaker(tmp_path / "run", clients=[f"client-{place}" for place in range(30)]).make(2).score()
    show_status(made.path, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["round"], len(found["clients"]), len(found["rounds"])) == ("interrupted", 2, 30, 2)
    assert found["rounds"][0] == made.row(1)
    show_status(made.path)
    assert "10 more clients; --json has them all." in lines_of(capsys)


def test_damaged_files_are_named(tmp_path: Path, capsys: Captured) -> None:
    made = FederationMaker(tmp_path / "run").make(2)
    (made.path / "federation.json").write_text("{")
    show_status(made.path)
    lines = lines_of(capsys)
    assert "damaged federation.json" in lines
    assert "round 2, 2 s each" in lines


def test_directory_without_a_federation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a federation"):
        show_status(tmp_path)
    with pytest.raises(InputError, match="not found"):
        show_status(tmp_path / "nowhere")
