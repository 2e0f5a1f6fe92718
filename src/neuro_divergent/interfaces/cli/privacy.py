"""``nd privacy``: what a privacy budget means, and whether a federation keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.interfaces.cli.command_group import CommandGroup

EXAMPLES = """\b
Examples:
  nd privacy budget --epsilon 3 --delta 1e-5 --participation 0.8 --rounds 50 --clients 200 --weights 588
  nd privacy audit runs/stores
"""
app = typer.Typer(cls=CommandGroup, rich_markup_mode=None, no_args_is_help=True, epilog=EXAMPLES)


@app.callback()
def _privacy() -> None:
    """Plan the privacy budget of a federation, or audit it."""


@app.command("budget", epilog=EXAMPLES)
def budget_command(
    epsilon: Annotated[float, typer.Option(help="The budget of each client for all rounds together.", min=1e-6)],
    rounds: Annotated[int, typer.Option(help="Rounds of training.", min=1)],
    clients: Annotated[int, typer.Option(help="Clients of the federation.", min=1)],
    weights: Annotated[int, typer.Option(help="Weights of the network; 'nd models NAME' helps.", min=1)],
    delta: Annotated[float, typer.Option(help="Probability with which the promise may fail.")] = 1e-5,
    participation: Annotated[
        float, typer.Option(help="Probability with which a client takes part in a round.", max=1.0)
    ] = 1.0,
) -> None:
    """Say what a budget means before anything is trained: the noise it needs, and whether a model can learn."""
    from neuro_divergent.interfaces.cli.federated.running import say_budget
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.privacy.budget_meaning import explain_budget
    from neuro_divergent.privacy.client_level import ClientLevel

    privacy = ClientLevel(epsilon=epsilon, delta=delta)
    say_budget(Screen(), explain_budget(privacy, participation, rounds, clients, weights))


@app.command("audit", epilog=EXAMPLES)
def audit_command(
    directory: Annotated[Path, typer.Argument(help="Directory of a federation with privacy.")],
    trials: Annotated[int, typer.Option(help="Rounds with a canary client, and as many without.", min=200)] = 10_000,
    confidence: Annotated[float, typer.Option(help="Probability with which the bound holds.")] = 0.99,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Attack the server code with the settings of a federation; exit code 1 if its promise is disproved."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.federated.directory import LEDGER, FederationDirectory
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    config = FederationDirectory(directory).config()
    privacy = config.federation.privacy
    if privacy is None:
        raise InputError(f"{directory}: this federation promises no privacy, so there is nothing to audit.")
    screen = Screen(as_json=as_json)
    from neuro_divergent.federated.privacy_audit import audit_server
    from neuro_divergent.privacy.ledger import Ledger

    stopped = "Interrupted; an audit cannot be resumed. Fewer --trials take less time, and prove less."
    with ends_with(stopped), shown_progress(screen.messages):
        found = audit_server(config.federation, trials=trials, confidence=confidence)
    spent = Ledger(directory / LEDGER).spent(privacy.delta)
    screen.say(str(found), f"Charged so far: epsilon {spent:.3g} of {privacy.epsilon:g}, delta {privacy.delta:g}.")
    document = {"epsilon_lower": found.epsilon_lower, "claimed": found.claimed, "confidence": confidence}
    screen.result({**document, "trials": trials, "passes": found.passes, "spent": spent, "budget": privacy.epsilon})
    if not found.passes:
        raise typer.Exit(1)
