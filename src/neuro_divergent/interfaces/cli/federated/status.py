"""A federation on the terminal: its state, its clients and its last rounds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.formatting import (
    format_bytes,
    format_count,
    format_duration,
    format_number,
    format_percent,
)

if TYPE_CHECKING:
    from rich.table import Table

    from neuro_divergent.federated.reading import FederationSummary, PrivacySummary
    from neuro_divergent.federated.round_reader import RoundRow

_MOST_ROUNDS, _MOST_CLIENTS = 10, 20


def show_status(path: Path, *, as_json: bool = False) -> None:
    """Show the state of a federation, what its clients did and its last rounds.

    Args:
        path: Directory of the federation.
        as_json: Whether to write everything that is known as a JSON document instead.

    Raises:
        InputError: If there is no federation.
    """
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.federated.reading import is_federation, read_federation
    from neuro_divergent.interfaces.cli.screen import Screen

    if not is_federation(path):
        what = "is not a federation" if path.exists() else "not found"
        raise InputError(f"{path}: {what}; give a directory that 'nd federated run' or 'nd federated server' wrote.")
    found, screen = read_federation(path), Screen(as_json=as_json)
    screen.facts(_facts(found))
    if found.rows:
        screen.say("", _round_table(found.rows[-_MOST_ROUNDS:], is_private=found.privacy is not None))
    if found.clients:
        screen.say("", _client_table(found))
        left = len(found.clients) - _MOST_CLIENTS
        if left > 0:
            screen.say(f"{format_count(left, 'more client', 'more clients')}; --json has them all.")
    screen.result(found.to_dict())


def _facts(found: FederationSummary) -> list[tuple[str, str]]:
    ahead = "" if found.horizon is None else f", {format_count(found.horizon, 'step')} ahead"
    how = "" if found.aggregation is None else f", by {found.aggregation}"
    rows = [
        ("federation", str(found.path)),
        ("state", found.state + (f": {found.message}" if found.message else "")),
        ("round", _progress(found)),
        ("model", f"{found.model or 'unknown'}{ahead}{how}"),
        ("clients", "unknown" if found.num_clients is None else f"{found.num_clients:,}"),
    ]
    if found.holder is not None:
        rows.append(("process", str(found.holder)))
    if found.loss is not None:
        rows.append(("loss", f"{format_number(found.loss)} (training, last round)"))
    if found.privacy is not None:
        rows.append(("privacy", _privacy(found.privacy)))
    if found.bytes_down or found.bytes_up:
        rows.append(
            ("traffic", f"{format_bytes(found.bytes_down)} to clients, {format_bytes(found.bytes_up)} from them")
        )
    if found.damaged:
        rows.append(("damaged", ", ".join(found.damaged)))
    return rows


def _progress(found: FederationSummary) -> str:
    text = f"{found.round:,}" + ("" if found.total_rounds is None else f" of {found.total_rounds:,}")
    if found.seconds_per_round is not None:
        text += f", {format_duration(found.seconds_per_round)} each"
    if found.seconds_left is not None:
        text += f", about {format_duration(found.seconds_left)} left"
    return text


def _privacy(privacy: PrivacySummary) -> str:
    spent, budget = privacy.epsilon or 0.0, privacy.budget
    used = f" ({format_percent(spent / budget)})" if budget else ""
    noise = "" if privacy.noise_multiplier is None else f", noise {format_number(privacy.noise_multiplier)}"
    return (
        f"epsilon {format_number(spent)} of {format_number(budget)}{used}, delta {format_number(privacy.delta)}{noise}"
    )


def _round_table(rounds: tuple[RoundRow, ...], *, is_private: bool) -> Table:
    from rich.text import Text

    from neuro_divergent.interfaces.cli.screen import new_table

    titles = ["round", "took part", "no answer", "refused"]
    titles += ["epsilon"] if is_private else ["loss", "mean norm", "largest"]
    titles += ["change", "time", ""]
    table = new_table(*titles, right=titles[:-1], fixed=titles[:-1], overflow="fold")
    for row in rounds:
        numbers = (row.epsilon,) if is_private else (row.loss, row.mean_norm, row.max_norm)
        asked = "" if row.sampled is None else f" of {row.sampled:,}"
        reasons = "; ".join(f"{name}: {reason}" for name, reason in row.refused[:3])
        table.add_row(
            f"{row.round:,}",
            f"{len(row.participants):,}{asked}",
            f"{len(row.dropped):,}",
            f"{len(row.refused):,}",
            *("" if value is None else format_number(value) for value in (*numbers, row.change)),
            "" if row.seconds is None else format_duration(row.seconds),
            Text("; ".join(text for text in ("void" if row.is_void else "", reasons) if text)),
        )
    return table


def _client_table(found: FederationSummary) -> Table:
    """Return the clients, those that miss the most rounds first."""
    from rich.text import Text

    from neuro_divergent.interfaces.cli.screen import new_table

    titles = ("client", "took part", "no answer", "refused", "last answer", "age")
    table = new_table(*titles, right=titles[1:], fixed=titles[1:], overflow="fold")
    ordered = sorted(found.clients, key=lambda client: -(client.dropped + client.refused))
    now = time.time()
    for client in ordered[:_MOST_CLIENTS]:
        table.add_row(
            Text(client.name),
            f"{client.participated:,}",
            f"{client.dropped:,}",
            f"{client.refused:,}",
            "never" if client.last_round is None else f"round {client.last_round:,}",
            "" if client.last_time is None else format_duration(now - client.last_time),
        )
    return table
