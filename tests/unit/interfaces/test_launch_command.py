"""``nd launch``: the commands for several machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.interfaces.cli.main import app

RUN = '[data]\npath = "sales.csv"\n[task]\nhorizon = 7\n'
NODES = '[[nodes]]\naddress = "10.0.0.2"\n[[nodes]]\naddress = "10.0.0.1"\nrole = "main"\ndevices = 2\n'


def launch(tmp_path: Path, nodes: str, *more: str) -> list[dict[str, list[str]]]:
    path = tmp_path / "run.toml"
    path.write_text(RUN + nodes)
    result = CliRunner().invoke(app, ["launch", str(path), "--json", *more], catch_exceptions=False)
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_every_machine_has_a_command_that_meets_at_the_main_one(tmp_path: Path) -> None:
    first, second = launch(tmp_path, NODES, "-o", "/shared/sales")
    assert [first["address"], second["address"]] == ["10.0.0.1", "10.0.0.2"]
    for node, devices, is_host in ((first, 2, "true"), (second, 1, "false")):
        command = node["command"]
        assert command[:3] == ["env", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1", "torchrun"]
        assert {"--nnodes=2", f"--nproc-per-node={devices}", "--rdzv-endpoint=10.0.0.1:29500"} <= set(command)
        assert [item for item in command if item.startswith(f"--rdzv-conf=is_host={is_host},")]
        assert f"--local-addr={node['address']}" in command
        at = command.index("-m")
        assert command[at:] == [
            *("-m", "neuro_divergent", "train", str(tmp_path / "run.toml"), "-o", "/shared/sales", "--resume"),
        ]


def test_a_range_of_machines_has_more_restarts_since_joining_and_leaving_cost_some(tmp_path: Path) -> None:
    assert "--max-restarts=3" in launch(tmp_path, NODES)[0]["command"]
    assert "--max-restarts=20" in launch(tmp_path, NODES, "--nodes", "1:3")[0]["command"]


def test_a_range_of_machines_and_restarts_are_passed_on(tmp_path: Path) -> None:
    command = launch(tmp_path, NODES, "--nodes", "1:3", "--retries", "9", "--port", "1234")[0]["command"]
    assert {"--nnodes=1:3", "--max-restarts=9", "--rdzv-endpoint=10.0.0.1:1234"} <= set(command)


@pytest.mark.parametrize(
    ("nodes", "more", "message"),
    [
        ("", [], "no machine is named"),
        (NODES + '[[nodes]]\naddress = "10.0.0.2"\n', [], "two have the same address"),
        (NODES + '[[nodes]]\naddress = "10.0.0.3"\nrole = "main"\n', [], "more than one has the role main"),
        ('[[nodes]]\nadress = "x"\n', [], "Did you mean 'address'"),
        (NODES, ["--nodes", "3:1"], "'3:1' is not a range"),
        (NODES, ["--nodes", "many"], "'many' is not a range"),
    ],
)
def test_what_cannot_be_launched_is_refused(tmp_path: Path, nodes: str, more: list[str], message: str) -> None:
    with pytest.raises((ConfigError, InputError), match=message):
        launch(tmp_path, nodes, *more)
