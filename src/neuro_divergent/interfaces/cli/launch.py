"""``nd launch``: the commands that start one training on several machines."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.interfaces.cli.options import AsJson, option

if TYPE_CHECKING:
    from neuro_divergent.training.nodes import Node

_RETRIES, _RETRIES_OF_RANGE = 3, 20
_SHARING = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
"""Variable without which a machine that joins later never learns where to meet the others (torch 2.13): the agents keep
the answer of their first meeting, and nobody writes it down for the newcomer."""
_MEETING = {"last_call_timeout": 5, "keep_alive_interval": 2, "keep_alive_max_attempt": 6}
"""Settings of torchrun's meeting: seconds to wait for more machines when the fewest are there, seconds between signs of
life, and how many of them may be missing before a machine counts as gone."""

EXAMPLES = """\b
Examples:
  nd launch run.toml
  nd launch run.toml -o /shared/runs/sales --nodes 1:3 --retries 10
"""


def launch(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A run as TOML with [[nodes]] (see docs/guides/distributed.md).")
    ],
    output: Annotated[
        Path | None, option("--output", "-o", metavar="DIRECTORY", text="Run directory, on storage that all see.")
    ] = None,
    nodes: Annotated[
        str | None,
        option("--nodes", metavar="MIN:MAX", text="Fewest and most machines that train; all of the file unless given."),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port of the main machine to meet at.")] = 29500,
    retries: Annotated[
        int | None,
        typer.Option(
            "--retries",
            min=0,
            help="Restarts from the last checkpoint, after a crash or when a machine joins or leaves "
            f"({_RETRIES}; {_RETRIES_OF_RANGE} with a range of machines).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the command to run on each machine."""
    import json

    from neuro_divergent.core.config import read_toml
    from neuro_divergent.interfaces.cli import session
    from neuro_divergent.interfaces.cli.train import naming

    with naming(file):
        config = session.check(read_toml(Path(file)), ())
        found = _ordered(config.nodes)
        place = output or Path("runs") / Path(file).stem
        count = _range(nodes, len(found))
        if retries is None:
            retries = _RETRIES_OF_RANGE if ":" in count else _RETRIES
        commands = {node.address: _command(node, found[0], file, place, count, port, retries) for node in found}
    if as_json:
        typer.echo(json.dumps([{"address": address, "command": command} for address, command in commands.items()]))
        return
    for node in found:
        processes = f"{node.devices} process{'es' if node.devices > 1 else ''}"
        typer.echo(f"# {node.address}, {processes}\n{shlex.join(commands[node.address])}\n")


def _ordered(nodes: tuple[Node, ...]) -> list[Node]:
    """Return the machines, the main one first."""
    if not nodes:
        raise ConfigError("nodes: no machine is named; add [[nodes]] with an address to the file.")
    if len({node.address for node in nodes}) < len(nodes):
        raise ConfigError("nodes: two have the same address; give one of them more devices instead.")
    if sum(node.role == "main" for node in nodes) > 1:
        raise ConfigError("nodes: more than one has the role main; processes meet at one machine.")
    return sorted(nodes, key=lambda node: node.role != "main")


def _range(text: str | None, count: int) -> str:
    """Return how many machines train, as torchrun takes it."""
    if text is None:
        return str(count)
    match = re.fullmatch(r"(\d+)(?::(\d+))?", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2] or match[1]):
        raise InputError(f"--nodes: {text!r} is not a range; write 2, or 1:3 for one to three machines.")
    return text


def _command(node: Node, main: Node, file: str, run: Path, nodes: str, port: int, retries: int) -> list[str]:
    meeting = {"is_host": "true" if node is main else "false", **_MEETING}
    return [
        *("env", f"{_SHARING}=1", "torchrun"),
        f"--nnodes={nodes}",
        f"--nproc-per-node={node.devices}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={main.address}:{port}",
        f"--rdzv-conf={','.join(f'{name}={value}' for name, value in meeting.items())}",
        f"--rdzv-id={run.name}",
        f"--local-addr={node.address}",
        f"--max-restarts={retries}",
        *("-m", "neuro_divergent", "train", file, "-o", str(run), "--resume"),
    ]
