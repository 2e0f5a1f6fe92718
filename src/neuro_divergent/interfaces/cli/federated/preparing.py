"""``nd federated init``: a directory with settings and certificates for a federation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  nd federated init hospitals --clients north,south,west --host federation.example.org
  nd federated init hospitals --clients east      (one more, later)
"""
_SETTINGS = """# A federation. 'nd federated server' reads this file; clients get the settings from the server.

[federation]
aggregation = "fedavg"
rounds = 50
local_epochs = 5
participation = 1.0
# min_clients = 2         # a round with fewer updates changes nothing
# deadline = 600          # seconds after which a round does not wait for more updates

# [federation.privacy]    # a budget for each client; see docs/guides/privacy.md
# epsilon = 3.0
# delta = 1e-5

[model]
name = "nlinear"

[task]
horizon = 12
input_size = 36

[data]                    # columns of the tables, the same for all clients
target = "y"
time = "ds"
# frequency = "1h"

[training]
batch_size = 32

[clients]                 # who may take part; where the data are is known to them alone
"""


def init_command(
    directory: Annotated[Path, typer.Argument(help="Directory to make, or to add clients to.")],
    clients: Annotated[str, typer.Option(help="Names of clients, separated by commas.")],
    host: Annotated[
        list[str] | None,
        typer.Option(help="Name or address by which clients reach the server; may be repeated.", show_default=False),
    ] = None,
    days: Annotated[float, typer.Option(help="How long certificates are valid.", min=1)] = 825,
) -> None:
    """Make settings and certificates: a directory for the server, and one to hand to each client."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.federated.client_name import check_name
    from neuro_divergent.federated.transport.https.certificates import KEY, Authority

    names = [check_name(name.strip()) for name in clients.split(",") if name.strip()]
    if not names:
        raise InputError("--clients: name at least one.")
    known = [name for name in names if (directory / "clients" / name / KEY).exists()]
    if known:
        raise InputError(f"client {known[0]!r} has a certificate in {directory / 'clients' / known[0]} already.")
    authority = Authority(directory / "authority")
    server = directory / "server"
    if not (server / KEY).exists():
        authority.issue_server(server, host or ["localhost", "127.0.0.1"], days=days)
    settings = server / "federation.toml"
    if not settings.exists():
        settings.write_text(_SETTINGS, "utf-8")
    with settings.open("a", encoding="utf-8") as file:
        for name in names:
            authority.issue_client(directory / "clients" / name, name, days=days)
            file.write(f'"{name}" = ""\n')
    typer.echo(f"{server}: settings and certificate of the server; edit {settings}.")
    for name in names:
        typer.echo(f"{directory / 'clients' / name}: to be handed to {name}; its key must stay secret.")
    typer.echo(f"{directory / 'authority'}: lets clients in; keep it away from the server.")
    typer.echo(f"Then: nd federated server {server}")
