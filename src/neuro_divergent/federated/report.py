"""The report of a federation: what its directory says, as one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.formatting import (
    format_bytes,
    format_count,
    format_duration,
    format_number,
    format_percent,
)
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.federated.directory import CONFIG
from neuro_divergent.federated.figures import federation_figures
from neuro_divergent.federated.reading import FederationSummary, PrivacySummary, read_federation
from neuro_divergent.federated.round_reader import RoundRow
from neuro_divergent.reporting.report.facts import show_component
from neuro_divergent.reporting.report.federation import FederationPage, Rows, render_federation
from neuro_divergent.runs.values import count, number, part

_MOST_ROUNDS, _MOST_CLIENTS, _MOST_REFUSALS = 200, 1000, 50
_MOST_BYTES = 256 * 1024
# Figures and columns that tell who took part, or how many: with privacy this must stay with the server.
_SECRET_FIGURES = ("participation",)


def write_federation_report(directory: Path, page: Path) -> bytes:
    """Write the page of a federation, and return its content.

    With privacy the page does not say who took part in a round, how many did, or why an update was refused: the promise
    counts on nobody but the server knowing that.

    Args:
        directory: Directory of the federation; it need not be finished.
        page: File to write.

    Raises:
        StorageError: If the disk refuses.
    """
    content = render_federation(describe_page(read_federation(directory))).encode("utf-8")
    write_file(page, content)
    return content


def describe_page(federation: FederationSummary) -> FederationPage:
    """Return what the page of a federation says."""
    is_private = federation.privacy is not None
    figures = federation_figures(federation)
    shown = [figure for name, figure in figures.items() if not (is_private and name in _SECRET_FIGURES)]
    return FederationPage(
        name=federation.name,
        state=federation.state,
        message=federation.message,
        text=_summary(federation),
        numbers=_numbers(federation),
        figures=shown,
        privacy=[] if federation.privacy is None else _privacy_facts(federation.privacy),
        privacy_notes=[] if federation.privacy is None else _privacy_notes(federation, federation.privacy),
        scores=federation.scores,
        rounds=_private_rounds(federation) if is_private else _rounds(federation),
        refusals=Rows() if is_private else _refusals(federation),
        clients=Rows() if is_private else _clients(federation),
        facts=_facts(federation),
        toml=_settings_text(federation.path),
    )


def _summary(federation: FederationSummary) -> str:
    model = "The model" if federation.model is None else f"The model {federation.model}"
    ahead = "" if federation.horizon is None else f", for {format_count(federation.horizon, 'step')} ahead,"
    how = "" if federation.aggregation is None else f" by {federation.aggregation}"
    if not federation.round:
        return f"{model}{ahead} is to be trained{how}."
    clients = (
        "" if federation.num_clients is None else f" on the data of {format_count(federation.num_clients, 'client')}"
    )
    text = f"{model}{ahead} was trained{clients} in {format_count(federation.round, 'round')}{how}."
    losses = federation.losses
    if len(losses) > 1:
        text += f" The training loss went from {format_number(losses[0][1])} to {format_number(losses[-1][1])}."
    void = sum(row.is_void for row in federation.rows)
    if void:
        text += f" {format_count(void, 'round')} had too few updates and left the weights as they were."
    return text


def _numbers(federation: FederationSummary) -> list[tuple[str, str, str]]:
    total = federation.total_rounds
    found = [("Rounds", f"{federation.round:,}", "" if total is None else f"of {total:,} planned")]
    if federation.num_clients is not None:
        found.append(("Clients", f"{federation.num_clients:,}", "in the last round" if federation.rows else "known"))
    if federation.loss is not None:
        found.append(("Loss", format_number(federation.loss), "training, last round"))
    privacy = federation.privacy
    if privacy is not None:
        budget = "" if privacy.budget is None else f"of a budget of {format_number(privacy.budget)}"
        found.append(("Epsilon", format_number(privacy.epsilon or 0.0), budget))
        return found  # how long rounds take and how much is sent tells how many took part
    pace = federation.seconds_per_round
    if pace is not None:
        found.append(("Time", format_duration(pace), "per round, median"))
    traffic = federation.bytes_down + federation.bytes_up
    if traffic:
        found.append(("Traffic", format_bytes(traffic), f"{format_bytes(federation.bytes_up)} from clients"))
    return found


def _privacy_facts(privacy: PrivacySummary) -> list[tuple[str, str]]:
    used = "" if not privacy.budget or privacy.epsilon is None else f" ({format_percent(_used(privacy))} of it)"
    return [
        ("Unit", "one client with all of its data"),
        ("Budget", f"epsilon {format_number(privacy.budget)} with delta {format_number(privacy.delta)}"),
        ("Spent", f"epsilon {format_number(privacy.epsilon or 0.0)}{used}"),
        ("Charged", format_count(privacy.charges, "round")),
        ("Clipping", f"updates to a norm of {format_number(privacy.clip_norm)}"),
        ("Noise", f"{format_number(privacy.noise_multiplier)} times that norm"),
    ]


def _used(privacy: PrivacySummary) -> float:
    return (privacy.epsilon or 0.0) / (privacy.budget or 1.0)


def _privacy_notes(federation: FederationSummary, privacy: PrivacySummary) -> list[str]:
    notes = [
        "Whatever the server releases is almost as likely without the data of any one client: no probability differs "
        f"by more than a factor of exp({format_number(privacy.epsilon or 0.0)}), except with a probability of "
        f"{format_number(privacy.delta)}. The server itself is trusted.",
        "This page does not say who took part in a round, how many did, or why updates were refused: the promise "
        "counts on nobody but the server knowing that.",
    ]
    if federation.scores:
        notes.append(
            "The scores below are computed from the data of clients without noise. The promise does not cover them: "
            "pass this page on only where clients agree."
        )
    return notes


def _rounds(federation: FederationSummary) -> Rows:
    shown = federation.rows[-_MOST_ROUNDS:]
    columns = (
        "round", "asked", "took part", "no answer", "refused", "loss", "mean norm", "largest norm", "change", "sent",
        "received", "time",
    )  # fmt: skip
    return Rows(columns, [_round_cells(row) for row in shown], 1, _left_out(federation, shown))


def _round_cells(row: RoundRow) -> list[str]:
    return [
        _round_name(row),
        "" if row.sampled is None else f"{row.sampled:,}",
        *(f"{len(names):,}" for names in (row.participants, row.dropped, row.refused)),
        *("" if value is None else format_number(value) for value in _norms(row)),
        *("" if size is None else format_bytes(size) for size in (row.bytes_down, row.bytes_up)),
        "" if row.seconds is None else format_duration(row.seconds),
    ]


def _norms(row: RoundRow) -> tuple[float | None, ...]:
    return row.loss, row.mean_norm, row.max_norm, row.change


def _private_rounds(federation: FederationSummary) -> Rows:
    """Return what may be told of the rounds: nothing that depends on who took part, but what was released."""
    shown = federation.rows[-_MOST_ROUNDS:]
    rows = [
        [
            _round_name(row),
            *("" if value is None else format_number(value) for value in (row.change, row.epsilon)),
        ]
        for row in shown
    ]
    return Rows(("round", "change of the weights", "epsilon spent"), rows, 1, _left_out(federation, shown))


def _round_name(row: RoundRow) -> str:
    return f"{row.round:,} (void)" if row.is_void else f"{row.round:,}"


def _left_out(federation: FederationSummary, shown: Sequence[RoundRow]) -> str:
    left = len(federation.rows) - len(shown)
    return f"The last {len(shown):,} of {len(federation.rows):,} rounds." if left else ""


def _refusals(federation: FederationSummary) -> Rows:
    found = [
        [f"{row.round:,}", name, reason[:400]] for row in reversed(federation.rows) for name, reason in row.refused
    ]
    note = f"The last {_MOST_REFUSALS:,} of {len(found):,}." if len(found) > _MOST_REFUSALS else ""
    return Rows(("round", "client", "why"), found[:_MOST_REFUSALS], 3, note)


def _clients(federation: FederationSummary) -> Rows:
    rows = [
        [
            client.name,
            *(f"{number:,}" for number in (client.participated, client.dropped, client.refused)),
            "never" if client.last_round is None else f"round {client.last_round:,}",
        ]
        for client in federation.clients[:_MOST_CLIENTS]
    ]
    left = len(federation.clients) - len(rows)
    note = f"{format_count(left, 'more client is', 'more clients are')} not listed." if left else ""
    return Rows(("client", "took part", "no answer", "refused", "last answer"), rows, 1, note)


def _facts(federation: FederationSummary) -> list[tuple[str, str]]:
    settings = part(federation.settings, "federation")
    training = part(federation.settings, "training")
    task = part(federation.settings, "task")
    fraction = number(settings.get("participation"))
    deadline = number(settings.get("deadline"))
    found = [
        ("Model", show_component(federation.settings.get("model"))),
        ("Horizon", _steps(task.get("horizon"))),
        ("History", _steps(task.get("input_size"))),
        ("Aggregation", show_component(settings.get("aggregation"))),
        ("Rounds", show_component(settings.get("rounds"))),
        ("Local epochs", show_component(settings.get("local_epochs"))),
        ("Local steps", show_component(settings.get("local_steps"))),
        ("Optimizer of the clients", show_component(training.get("optimizer"))),
        ("Participation", "" if fraction is None else f"{format_percent(fraction)} of the clients in a round"),
        ("Clients needed", show_component(settings.get("min_clients"))),
        ("Deadline", "" if deadline is None else f"{format_duration(deadline)} for a round"),
        ("Personalization", show_component(settings.get("personalization"))),
        ("Seed", show_component(settings.get("seed"))),
        ("Begun", federation.created),
        ("Damaged", ", ".join(federation.damaged)),
    ]
    return [(word, meaning) for word, meaning in found if meaning]


def _steps(value: object) -> str:
    steps = count(value)
    return "" if steps is None else format_count(steps, "step")


def _settings_text(directory: Path) -> str:
    """Return the settings as they are for people; nothing if they cannot be read or are very long."""
    try:
        text = read_file(directory / CONFIG, limit=_MOST_BYTES).decode("utf-8")
    except (NeuroDivergentError, ValueError):
        return ""
    return "".join(letter for letter in text if letter.isprintable() or letter == "\n").strip()
