"""Training on several machines with the commands that ``nd launch`` prints. Real agents of torchrun, real networks."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.runs.status import describe_run
from tests.integration.distributed.machines import (
    ENVIRONMENT,
    Agent,
    Namespaces,
    last_step,
    launch_commands,
    members,
    wait_for_world,
    wait_until,
)
from tests.integration.distributed.together import free_port, largest_difference

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="network namespaces and /proc of Linux"),
]

ND = [sys.executable, "-m", "neuro_divergent"]
STEPS = 40
MANY_STEPS = 1_000_000_000
TIMEOUT = 30.0
SETTINGS = """
[data]
path = "{table}"
[task]
horizon = 4
input_size = 12
[model]
name = "mlp"
hidden_size = 16
[training]
max_steps = {steps}
max_epochs = 1000000
precision = "float64"
early_stopping = "none"
[training.strategy]
name = "data_parallel"
timeout = {timeout}
[checkpoints]
every_steps = 5
every_epochs = "none"
"""


@pytest.fixture
def agents() -> Iterator[dict[str, Agent]]:
    """Agents by address, which are ended after the test."""
    running: dict[str, Agent] = {}
    yield running
    for agent in running.values():
        agent.close()


def write_run(path: Path, addresses: tuple[str, ...], steps: int) -> Path:
    table = path.parent / "series.csv"
    Synthetic(num_series=3, length=120, noise=0.3).frame().write_csv(table)
    nodes = "".join(f'[[nodes]]\naddress = "{address}"\n' for address in addresses)
    path.write_text(SETTINGS.format(table=table, steps=steps, timeout=TIMEOUT) + nodes, "utf-8")
    return path


def end_early(run: Path) -> None:
    """Ask for the end of training with what has been learned so far."""
    os.kill(members(run)[0].process, signal.SIGUSR1)


def weights(run: Path) -> dict[str, list[float]]:
    return {name: value.ravel().tolist() for name, value in load_file(run / "model" / "model.safetensors").items()}


@pytest.fixture(scope="module")
def namespaces_exist() -> None:
    reason = Namespaces.missing()
    if reason is not None:
        pytest.skip(reason)


@pytest.mark.usefixtures("namespaces_exist")
@pytest.mark.parametrize(
    ("delay", "loss"),
    [pytest.param(0.0, 0.0, id="plain"), pytest.param(0.02, 0.01, id="delayed and lossy", marks=pytest.mark.soak)],
)
def test_two_machines_give_the_weights_of_one_process(
    tmp_path: Path, agents: dict[str, Agent], delay: float, loss: float
) -> None:
    file = write_run(tmp_path / "run.toml", Namespaces.addresses, STEPS)
    run = tmp_path / "two"
    with Namespaces(delay, loss) as network:
        for address, command in launch_commands(file, run).items():
            agents[address] = Agent(network.inside(address, command), tmp_path / f"{address}.log")
        for agent in agents.values():
            assert agent.wait() == 0, agent.said()
    made = subprocess.run(
        [*ND, "train", str(file), "-o", str(tmp_path / "one"), "--quiet"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert largest_difference(weights(run), weights(tmp_path / "one")) < 1e-6


@pytest.mark.soak
@pytest.mark.usefixtures("namespaces_exist")
def test_a_cut_link_ends_all_with_a_message_and_the_same_commands_go_on(
    tmp_path: Path, agents: dict[str, Agent]
) -> None:
    file = write_run(tmp_path / "run.toml", Namespaces.addresses, MANY_STEPS)
    run = tmp_path / "run"
    printed = launch_commands(file, run, "--retries", "0")
    with Namespaces() as network:

        def start(part: str) -> None:
            for address, command in printed.items():
                agents[address] = Agent(network.inside(address, command), tmp_path / f"{part}-{address}.log")
            wait_for_world(run, 2, agents.values())

        start("first")
        network.cut()
        wait_until(lambda: not members(run), what="the end of all processes")
        main, other = (agents[address] for address in network.addresses)
        assert main.wait() == 1  # the only code that torchrun has for failures
        for agent in (main, other):
            lost = re.findall(
                "^error: lost contact with another process of this training: ", agent.said(), re.MULTILINE
            )
            assert len(lost) == 1, agent.said()
        reached = last_step(run)
        network.mend()
        assert other.wait() == 1  # torchrun waits for the main machine for as long as the system keeps the connection
        start("second")
        assert last_step(run) > reached
        end_early(run)
        for agent in agents.values():
            assert agent.wait() == 0, agent.said()
    assert describe_run(run).state == "finished"


def test_machines_join_leave_and_are_lost_while_training_goes_on(tmp_path: Path, agents: dict[str, Agent]) -> None:
    # The machine that joins first has the lower address, with which torchrun makes its process the first one.
    main, lower, higher = addresses = ("127.0.0.2", "127.0.0.1", "127.0.0.3")
    file = write_run(tmp_path / "run.toml", addresses, MANY_STEPS)
    run = tmp_path / "run"
    printed = launch_commands(file, run, "--nodes", "1:3", "--port", str(free_port()))

    def start(address: str) -> None:
        agents[address] = Agent(printed[address], tmp_path / f"{address}.log")

    for size, address in enumerate((main, lower, higher), start=1):
        start(address)
        wait_for_world(run, size, agents.values())
    reached = last_step(run)
    leaving = agents.pop(lower)  # in an orderly way
    leaving.process.terminate()
    leaving.wait()
    wait_for_world(run, 2, agents.values())
    agents.pop(higher).kill()  # without a word
    wait_for_world(run, 1, agents.values())
    start(lower)  # again
    wait_for_world(run, 2, agents.values())
    assert last_step(run) > reached
    end_early(run)
    for agent in agents.values():
        assert agent.wait() == 0, agent.said()
    assert describe_run(run).state == "finished"
