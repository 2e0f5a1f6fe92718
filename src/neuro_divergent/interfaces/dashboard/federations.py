"""Federations among the runs: what a list shows of them, and what their page shows."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.formatting import format_count
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.federated.directory import CONFIG, FEDERATION, LEDGER, LOCK, MODEL, ROUNDS, ROWS, SCORES, STATUS
from neuro_divergent.federated.reading import FederationReader, FederationSummary
from neuro_divergent.federated.round_reader import RoundRow

# Files that the description of a federation without a lock depends on: while none of them changes, it is reused.
_FILES = (FEDERATION, STATUS, ROWS, LEDGER, SCORES, LOCK, ROUNDS, MODEL)
_MOST_NAMES = 20  # of a round that are sent
_MOST_BYTES = 1024**2

Json = dict[str, Any]
Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True)
class FederationEntry:
    """A federation, as it was when it was last read."""

    id: str
    path: Path
    row: Json
    stamp: Stamp
    summary: FederationSummary
    reader: FederationReader

    @property
    def is_held(self) -> bool:
        """Whether a process works on it."""
        return self.summary.state == "running"


def describe_federation(key: str, path: Path, known: FederationEntry | None) -> FederationEntry:
    """Describe the federation in a directory, unless its files are unchanged since it was ``known``."""
    stamp = _stamp(path)
    if known is not None and known.stamp == stamp and not known.is_held:
        return known
    reader = FederationReader(path) if known is None else known.reader
    summary = reader.read()
    return FederationEntry(key, path, _row(key, summary), stamp, summary, reader)


class FederationView:
    """What the page of a federation shows.

    Args:
        federation: The federation, as it was read.
    """

    def __init__(self, federation: FederationSummary) -> None:
        self.federation = federation

    def details(self) -> Json:
        """Return how is trained, and how far it is."""
        found = self.federation
        return {
            "path": str(found.path),
            "created": found.created,
            "aggregation": found.aggregation,
            "settings": found.settings,
            "config": _text(found.path / CONFIG),
            **self.progress(),
        }

    def progress(self) -> Json:
        """Return what changes with every round, without the rounds."""
        found = self.federation
        return {
            "num_clients": found.num_clients,
            "privacy": None if found.privacy is None else asdict(found.privacy),
            "bytes_down": found.bytes_down,
            "bytes_up": found.bytes_up,
            "seconds_per_round": found.seconds_per_round,
            "has_model": found.has_model,
            "has_scores": bool(found.scores),
            "damaged": list(found.damaged),
        }

    @cached_property
    def rounds(self) -> dict[int, Json]:
        """The rounds by number, as plain values; of many clients, the first names."""
        return {row.round: round_values(row) for row in self.federation.rows}

    def clients(self) -> Json:
        """Return what each client did, and the scores of its models."""
        found = self.federation
        return {"clients": [asdict(client) for client in found.clients], "scores": list(found.scores)}


def round_values(row: RoundRow) -> Json:
    """Return a round as plain values: how many clients did what, and some of their names."""
    return {
        **{name: getattr(row, name) for name in _SHOWN},
        "participants": len(row.participants),
        "dropped": {"number": len(row.dropped), "names": list(row.dropped[:_MOST_NAMES])},
        "refused": {"number": len(row.refused), "reasons": [list(item) for item in row.refused[:_MOST_NAMES]]},
    }


_SHOWN = (
    "round", "time", "seconds", "clients", "sampled", "is_void", "change", "loss", "mean_norm", "max_norm",
    "bytes_down", "bytes_up", "epsilon",
)  # fmt: skip


def _row(key: str, found: FederationSummary) -> Json:
    """Return what a list shows of a federation, with the fields that it shows of a run."""
    return {
        "kind": "federation",
        "id": key,
        "name": found.name,
        "state": found.state,
        "message": found.message,
        "step": found.round,
        "total_steps": found.total_rounds,
        "phase": None,
        "quiet": None,
        "time": found.time,
        "model": found.model,
        "data": None if found.num_clients is None else format_count(found.num_clients, "client"),
        "horizon": found.horizon,
        "metric": None if found.loss is None else "training loss of the last round",
        "best": found.loss,
        "score": None,
        "seconds_left": found.seconds_left,
        "samples_per_second": None,
    }


def _text(path: Path) -> str:
    try:
        return read_file(path, limit=_MOST_BYTES).decode("utf-8", "replace")
    except NeuroDivergentError:
        return ""


def _stamp(path: Path) -> Stamp:
    return tuple(_stamp_of(f"{path}/{name}") for name in _FILES)


def _stamp_of(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
