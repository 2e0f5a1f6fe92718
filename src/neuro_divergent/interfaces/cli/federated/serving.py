"""``nd federated server`` and ``nd federated client``: a federation across machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen

EXAMPLES = """\b
Examples:
  nd federated server hospitals/server --port 8443
  nd federated client hospitals/clients/north --server https://federation.example.org:8443 --data north.parquet
"""


def server_command(
    directory: Annotated[Path, typer.Argument(help="Directory of the server that 'nd federated init' made.")],
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "0.0.0.0",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 for one that is free.", min=0, max=65535)] = 8443,
    output: Annotated[
        Path | None,
        typer.Option(help="Directory of the federation; one that was interrupted goes on. Default: run, beside."),
    ] = None,
    clients: Annotated[
        int | None,
        typer.Option(help="Clients to wait for before the first round; default: all that the settings list.", min=1),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    farewell: Annotated[
        float, typer.Option(help="Seconds that clients have to fetch the final weights.", min=0)
    ] = 60.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run the rounds for clients on other machines; killed or interrupted, the same command goes on."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.federated.config_file import read_config
    from neuro_divergent.interfaces.cli.federated.running import RoundLines, say_budget
    from neuro_divergent.interfaces.cli.interruption import interruptible
    from neuro_divergent.interfaces.cli.screen import Screen

    file = directory / "federation.toml"
    if not file.is_file():
        raise InputError(f"{file}: not found; 'nd federated init' makes it.")
    config = read_config(file, settings or [])
    place = output or directory / "run"
    screen = Screen(quiet=quiet)
    from neuro_divergent.federated.transport.https.remote_server import RemoteServer

    server = RemoteServer(config, place, directory, host=host, port=port, expected=clients, farewell=farewell)
    privacy, federation = config.federation.privacy, config.federation
    if privacy is not None:
        from neuro_divergent.privacy.budget_meaning import explain_budget

        expected = clients or len(config.clients) or federation.min_clients
        size = server.shared.layout.size
        say_budget(screen, explain_budget(privacy, federation.participation, federation.rounds, expected, size))
    lines = RoundLines(screen, federation.rounds)
    with interruptible("nd federated server", directory):
        server.run(
            listening=lambda number: screen.say(f"Listening at {host}:{number}; rounds are in {place}"),
            observe=lines,
            waits=_Waiting(screen),
        )
    from neuro_divergent.federated.report import write_federation_report

    write_federation_report(place, place / "report.html")
    screen.say(f"Model: {place / 'model'}  Report: {place / 'report.html'}")


class _Waiting:
    """Says whom the server waits for, when that changes and takes long."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._said: tuple[str, ...] | None = None
        self._calls = 0

    def __call__(self, names: Sequence[str]) -> None:
        self._calls = self._calls + 1 if tuple(names) == self._said else 0
        self._said = tuple(names)
        if self._calls == 10:  # about ten seconds
            self._screen.say(f"waiting for clients; there: {', '.join(names) or 'none'}")


def client_command(
    certificates: Annotated[Path, typer.Argument(help="Directory with the certificate of this client.")],
    server: Annotated[str, typer.Option(help="Address of the server, such as https://federation.example.org:8443.")],
    data: Annotated[str, typer.Option(help="Table of this client; it stays here.")],
    output: Annotated[
        Path | None, typer.Option(help="Directory for the results. Default: results, in that of the certificate.")
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Also train a model on this table alone, to compare with.")
    ] = False,
    patience: Annotated[
        float, typer.Option(help="Seconds to try again for while the server does not answer.", min=0)
    ] = 3600.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Take part with a table that stays here; killed or interrupted, the same command joins again."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.federated.running import say_scores
    from neuro_divergent.interfaces.cli.interruption import interruptible
    from neuro_divergent.interfaces.cli.screen import Screen

    if not certificates.is_dir():
        what = "is not a directory" if certificates.exists() else "not found"
        raise InputError(f"{certificates}: {what}; 'nd federated init' makes the one to hand to a client.")
    place = output or certificates / "results"
    screen = Screen(quiet=quiet)
    from neuro_divergent.federated.transport.https.remote_client import RemoteClient

    client = RemoteClient(server, certificates, data, state=place / "state", patience=patience, tell=screen.say)
    with interruptible(f"nd federated client {certificates} --server {server} --data", Path(data)):
        weights = client.run()
    from neuro_divergent.federated.client_models import adapt, personalized, score_client
    from neuro_divergent.federated.scores import mean_scores, write_scores

    own = client.client
    assert own is not None
    wants_personal = own.shared.config.federation.personalization is not None
    model = (personalized if wants_personal else adapt)(own, weights)
    place.mkdir(parents=True, exist_ok=True)
    model.save(place / "model")
    scores = score_client(own, weights, local=local)
    write_scores(scores, place)
    say_scores(screen, mean_scores(scores), scores)
    screen.say(f"Model of this client: {place / 'model'}; forecast with: nd predict {place / 'model'}")
