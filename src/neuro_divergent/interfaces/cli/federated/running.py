"""``nd federated run``: a federation whose clients are all in this process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.interfaces.cli.screen import Screen

EXAMPLES = """\b
Examples:
  nd federated run federation.toml
  nd federated run federation.toml --data stores.parquet --by store --output runs/stores
  nd federated run federation.toml --data panel.csv --set federation.rounds=20 --local
"""


def run_command(
    file: Annotated[Path, typer.Argument(help="Settings in TOML: federation, model, task, training, data, clients.")],
    data: Annotated[
        str | None, typer.Option(help="Table whose rows belong to several clients.", show_default=False)
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Column of --data that says whose rows they are; else each series is a client."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Directory; one that was interrupted goes on. Default: runs/federation-<time>."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Also train a model for each client alone, to compare with.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Train one model on the tables of several clients, as each would on its own machine."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.federated.config_file import read_config
    from neuro_divergent.interfaces.cli.interruption import interruptible
    from neuro_divergent.interfaces.cli.screen import Screen

    config = read_config(file, settings or [])
    if by is not None and data is None:
        raise InputError("--by divides the table of --data; give both.")
    if data is None and not config.clients:
        raise InputError(f"{file}: there are no clients; list them under [clients], or give a table with --data.")
    place = output or Path("runs") / f"federation-{time.strftime('%Y%m%d-%H%M%S')}"
    screen = Screen(quiet=quiet, as_json=as_json)
    from neuro_divergent.federated.federation import Federation

    federation = Federation(config)
    if data is not None:
        federation.add_clients(data, by=by)
    say_budget(screen, federation.describe_budget())
    screen.say(f"{len(federation.clients)} clients, {config.federation.rounds} rounds, in {place}")
    again = f"nd federated run {file} --output"
    with interruptible(again, place):
        federation.fit(run=place, observe=RoundLines(screen, config.federation.rounds))
    scores = federation.evaluate(local=local)
    from neuro_divergent.federated.scores import mean_scores, write_scores

    write_scores(scores, place)
    from neuro_divergent.federated.report import write_federation_report

    write_federation_report(place, place / "report.html")
    if screen.as_json:
        screen.result({"directory": str(place), "rounds": federation.rounds, "scores": scores.to_dicts()})
        return
    say_scores(screen, mean_scores(scores), scores)
    screen.say(f"Model: {place / 'model'}  Report: {place / 'report.html'}")


class RoundLines:
    """Says what happened in each round and how long the others take, but not more often than every half second."""

    def __init__(self, screen: Screen, rounds: int) -> None:
        self._screen = screen
        self._rounds = rounds
        self._last = 0.0
        self._first: tuple[int, float] | None = None

    def __call__(self, row: dict[str, Any]) -> None:
        now = time.monotonic()
        if self._first is None:  # the time of the first round, after the data were read, is not known
            self._first = (row["round"], now)
        if now - self._last < 0.5 and row["round"] < self._rounds:
            return
        self._last = now
        self._screen.say(describe_round(row, self._rounds) + self._time_left(row["round"], now))

    def _time_left(self, number: int, now: float) -> str:
        from neuro_divergent.core.formatting import format_duration

        first, began = self._first or (number, now)
        if not first < number < self._rounds:
            return ""
        return f", {format_duration((now - began) / (number - first) * (self._rounds - number))} left"


def describe_round(row: dict[str, Any], rounds: int) -> str:
    """Return the row of a round in words."""
    parts = [f"round {row['round']}/{rounds}", f"{len(row['participants'])} of {row['sampled']} clients"]
    if row["loss"] is not None:
        parts.append(f"loss {row['loss']:.4g}")
    if row["epsilon"] is not None:
        parts.append(f"epsilon {row['epsilon']:.3g}")
    if row["dropped"] or row["refused"]:
        parts.append(f"{len(row['dropped'])} dropped out, {len(row['refused'])} refused")
    if row["is_void"]:
        parts.append("void")
    return ", ".join(parts)


def say_budget(screen: Screen, meaning: Any) -> None:
    """Say what a privacy budget means, before training."""
    if meaning is None:
        return
    screen.say(*meaning.sentences)
    for warning in meaning.warnings:
        screen.warn(warning, is_severe=True)


def say_scores(screen: Screen, means: pl.DataFrame, scores: pl.DataFrame) -> None:
    """Show the scores: means over clients, and each client where there are few."""
    from neuro_divergent.interfaces.cli.federated.score_table import score_table

    screen.say(score_table(means, "Mean over clients"))
    if scores["client"].n_unique() <= 20:
        screen.say(score_table(scores, "Clients"))
