"""The state of a federation, read from its directory: how far it is, who takes part, and what was spent.

Nothing here takes part in training or waits for it, and nothing needs torch. Whatever is in the directory, half
written, damaged or foreign, reading it raises no error.
"""

from __future__ import annotations

import json
import os
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast, get_args

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.atomic import read_file, read_json
from neuro_divergent.core.storage.lock import Holder, holder
from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.federated.directory import (
    FEDERATION,
    LEDGER,
    LOCK,
    MODEL,
    ROUNDS,
    ROWS,
    SCORES,
    STATUS,
    FederationDirectory,
)
from neuro_divergent.federated.round_reader import RoundReader, RoundRow, one_line
from neuro_divergent.runs.values import count, number, part, rows

Ending = Literal["finished", "interrupted", "failed"]
FederationState = Literal["running", "finished", "interrupted", "failed", "killed", "damaged"]

_ROUND = re.compile(r"round-(\d{6,18})")
_MOST_BYTES = 64 * 1024**2
_MOST_CHARGES = 100_000  # whose epsilon is computed here
_PACE = 20  # rounds that tell how long one takes
_LONGEST_NAME, _LONGEST_MESSAGE = 200, 1000
_SCORES = ("mae", "rmse", "mase", "skill")


@dataclass(frozen=True)
class ClientSummary:
    """What a client did in all rounds.

    Attributes:
        name: Its name.
        participated: Rounds in which its update counted.
        refused: Rounds in which its update did not count.
        dropped: Rounds in which it was asked and did not answer.
        last_round: The last round that it answered; ``None`` if it never did.
        last_time: When that round began, in seconds since 1970.
        reason: Why its update was refused the last time; empty if it never was.
    """

    name: str
    participated: int = 0
    refused: int = 0
    dropped: int = 0
    last_round: int | None = None
    last_time: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class PrivacySummary:
    """How much privacy was promised and spent; what is not known is ``None``.

    Attributes:
        epsilon: Budget that was spent so far.
        budget: Budget for all rounds.
        delta: Probability with which the promise may fail.
        clip_norm: Norm that updates are clipped to.
        noise_multiplier: Standard deviation of the noise over that norm.
        charges: Rounds that were charged; one that was done again counts twice.
    """

    epsilon: float | None
    budget: float | None
    delta: float | None
    clip_norm: float | None
    noise_multiplier: float | None
    charges: int


@dataclass(frozen=True)
class FederationSummary:
    """What is known of a federation; what is not is ``None``.

    Attributes:
        path: Its directory.
        state: ``running`` while a process holds the lock; ``finished``, ``interrupted`` or ``failed`` as it wrote at
            its end; ``killed`` if it wrote nothing; ``damaged`` if its files cannot be read.
        message: The last message, or what is damaged.
        settings: The settings as plain values, by section.
        created: When it was begun, as it was written.
        round: The last round; 0 before the first.
        total_rounds: Rounds planned.
        rows: What happened in each round.
        privacy: Promised and spent privacy; ``None`` without a promise.
        scores: Scores of the models of clients: ``client``, ``model``, ``part``, ``windows``, ``mae``, ``rmse``,
            ``mase`` and ``skill``.
        has_model: Whether the global model was written.
        holder: Who holds it.
        time: When it last changed, in seconds since 1970.
        damaged: Files that cannot be read.
    """

    path: Path
    state: FederationState
    message: str
    settings: dict[str, Any]
    created: str
    round: int
    total_rounds: int | None
    rows: tuple[RoundRow, ...]
    privacy: PrivacySummary | None
    scores: tuple[dict[str, Any], ...]
    has_model: bool
    holder: Holder | None
    time: float
    damaged: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.path.resolve().name

    @property
    def model(self) -> str | None:
        """Name of the architecture."""
        return one_line(part(self.settings, "model").get("name"), _LONGEST_NAME) or None

    @property
    def horizon(self) -> int | None:
        """Steps to forecast."""
        return count(part(self.settings, "task").get("horizon"))

    @property
    def aggregation(self) -> str | None:
        """Name of the aggregation."""
        found = part(part(self.settings, "federation"), "aggregation").get("name")
        return one_line(found, _LONGEST_NAME) or None

    @property
    def num_clients(self) -> int | None:
        """How many clients there were in the last round."""
        known = [row.clients for row in self.rows if row.clients is not None]
        return known[-1] if known else len(self.clients) or None

    @property
    def losses(self) -> list[tuple[int, float]]:
        """Round and loss of each round that has one."""
        return [(row.round, row.loss) for row in self.rows if row.loss is not None]

    @property
    def loss(self) -> float | None:
        """The last loss."""
        return next((row.loss for row in reversed(self.rows) if row.loss is not None), None)

    @property
    def bytes_down(self) -> int:
        """Bytes that were sent to clients in all rounds."""
        return sum(row.bytes_down or 0 for row in self.rows)

    @property
    def bytes_up(self) -> int:
        """Bytes that came from clients in all rounds."""
        return sum(row.bytes_up or 0 for row in self.rows)

    @property
    def seconds_per_round(self) -> float | None:
        """The median of the last rounds, from the begin of one to that of the next."""
        last = self.rows[-_PACE - 1 :]
        begins = [row.time for row in last if row.time is not None]
        gaps = [late - early for early, late in pairwise(begins) if late > early]
        taken = [row.seconds for row in last if row.seconds is not None]
        return statistics.median_low(gaps or taken) if gaps or taken else None

    @property
    def seconds_left(self) -> float | None:
        """How many seconds are left at that pace, if it runs."""
        pace = self.seconds_per_round
        if self.state != "running" or pace is None or self.total_rounds is None:
            return None
        return max(0, self.total_rounds - self.round) * pace

    @cached_property
    def clients(self) -> tuple[ClientSummary, ...]:
        """What each client did, by name."""
        known = [one_line(name, _LONGEST_NAME) for name in _plain(self.settings.get("clients"))]
        return tuple(_summarize_clients(self.rows, known))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "name": self.name,
            "path": str(self.path),
            "state": self.state,
            "message": self.message,
            "created": self.created,
            "model": self.model,
            "horizon": self.horizon,
            "aggregation": self.aggregation,
            "round": self.round,
            "total_rounds": self.total_rounds,
            "num_clients": self.num_clients,
            "loss": self.loss,
            "bytes_down": self.bytes_down,
            "bytes_up": self.bytes_up,
            "seconds_per_round": self.seconds_per_round,
            "seconds_left": self.seconds_left,
            "privacy": None if self.privacy is None else asdict(self.privacy),
            "clients": [asdict(client) for client in self.clients],
            "rounds": [row.to_dict() for row in self.rows],
            "scores": list(self.scores),
            "has_model": self.has_model,
            "holder": None if self.holder is None else asdict(self.holder),
            "time": self.time,
            "damaged": list(self.damaged),
            "settings": self.settings,
        }


class FederationReader:
    """Reads a federation again and again; of its rounds, those that are new.

    Args:
        path: Its directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rounds = RoundReader(path / ROWS)
        self._kept: dict[str, tuple[tuple[int, int, int] | None, Any, bool]] = {}

    def read(self) -> FederationSummary:
        """Return the federation as it is now."""
        path, who = self.path, holder(self.path / LOCK)
        document, why = self._document()
        status, is_damaged = self._read(STATUS, _read_object)
        scores, scores_are_damaged = self._read(SCORES, _read_scores)
        found = self._rounds.read()
        damaged = [(FEDERATION, bool(why)), (STATUS, is_damaged), (SCORES, scores_are_damaged)]
        settings = _plain(document.get("config"))
        last = max(found[-1].round if found else 0, _last_committed(path / ROUNDS))
        state = _state(status or {}, is_damaged=is_damaged or bool(why), is_held=who is not None)
        privacy, ledger_is_damaged = self._privacy(settings, found, is_held=who is not None)
        times = [_time_of(path / name) for name in (STATUS, ROWS, FEDERATION, SCORES)]
        return FederationSummary(
            path=path,
            state=state,
            message=why or one_line((status or {}).get("message"), _LONGEST_MESSAGE),
            settings=settings,
            created=one_line(document.get("created"), _LONGEST_NAME),
            round=last,
            total_rounds=count(part(settings, "federation").get("rounds")),
            rows=found,
            privacy=privacy,
            scores=scores or (),
            has_model=_time_of(path / MODEL / MANIFEST) is not None,
            holder=who,
            time=max((moment for moment in times if moment is not None), default=0.0),
            damaged=tuple(name for name, is_bad in [*damaged, (LEDGER, ledger_is_damaged)] if is_bad),
        )

    def _document(self) -> tuple[dict[str, Any], str]:
        """Return what ``federation.json`` holds, and what is wrong with it."""
        found, _ = self._read(FEDERATION, self._read_document)
        if found is None:
            return {}, f"{FEDERATION}: cannot be read."
        return cast(tuple[dict[str, Any], str], found)

    def _read_document(self, path: Path) -> tuple[dict[str, Any], str]:
        try:
            return FederationDirectory(path.parent).document(), ""
        except NeuroDivergentError as error:
            message = one_line(str(error), _LONGEST_MESSAGE).replace(f"{path.parent}{os.sep}", "")
            return {}, message or f"{FEDERATION}: cannot be read."

    def _privacy(
        self, settings: dict[str, Any], found: Sequence[RoundRow], *, is_held: bool
    ) -> tuple[PrivacySummary | None, bool]:
        """Return what was promised and spent, and whether the ledger is damaged."""
        promised = part(settings, "federation").get("privacy")
        if not isinstance(promised, dict):
            return None, False
        charges, is_damaged = self._read(LEDGER, _read_charges)
        charges = charges or []
        delta = number(promised.get("delta"))
        spent = next((row.epsilon for row in reversed(found) if row.epsilon is not None), None)
        rounds = [row for row in found if row.epsilon is not None]
        is_behind = bool(charges) and (not rounds or charges[-1][0] > rounds[-1].round)
        if is_behind and not is_held:  # a process that was ended after it charged a round; a living one writes its row
            spent = max(spent or 0.0, self._compute_spent(delta, len(charges)) or 0.0) or None
        noise = charges[-1][1] if charges else number(promised.get("noise_multiplier"))
        budget, clip_norm = number(promised.get("epsilon")), number(promised.get("clip_norm"))
        return PrivacySummary(spent, budget, delta, clip_norm, noise, len(charges)), is_damaged

    def _compute_spent(self, delta: float | None, charges: int) -> float | None:
        """Return the epsilon of all charges; ``None`` if they cannot be read."""
        from neuro_divergent.privacy.ledger import Ledger

        if delta is None or charges > _MOST_CHARGES:
            return None
        with suppress(NeuroDivergentError, ValueError, ArithmeticError, MemoryError):
            return number(Ledger(self.path / LEDGER).spent(delta))
        return None

    def _read(self, name: str, read: Callable[[Path], Any]) -> tuple[Any, bool]:
        """Return what a file holds, or ``None``, and whether it is damaged; one that is unchanged is not read again."""
        path = self.path / name
        stamp = _stamp(path)
        known = self._kept.get(name)
        if known is not None and known[0] == stamp:
            return known[1], known[2]
        content, is_damaged = None, False
        for _ in range(2):  # again if it changed while it was read
            is_damaged = False
            if stamp is None:
                break
            try:
                content = read(path)
                break
            except (NeuroDivergentError, ValueError, RecursionError):
                is_damaged = True
            before, stamp = stamp, _stamp(path)
            if stamp == before:
                break
        self._kept[name] = (stamp, content, is_damaged)
        return content, is_damaged


def read_federation(path: Path) -> FederationSummary:
    """Return what is known of the federation in a directory."""
    return FederationReader(path).read()


def is_federation(path: Path) -> bool:
    """Whether a directory holds a federation."""
    return _time_of(path / FEDERATION) is not None


def find_federations(root: Path) -> list[Path]:
    """Return the federations in a directory, by name; links are not followed."""
    try:
        with os.scandir(root) as found:
            paths = [Path(item.path) for item in found if item.is_dir(follow_symlinks=False)]
    except (OSError, ValueError):
        return []
    return sorted(path for path in paths if not path.name.startswith(".") and is_federation(path))


def _summarize_clients(found: Sequence[RoundRow], known: Sequence[str]) -> list[ClientSummary]:
    participated, refused, dropped = Counter[str](), Counter[str](), Counter[str]()
    seen: dict[str, RoundRow] = {}
    reasons: dict[str, str] = {}
    for row in found:
        answers = dict(row.refused)
        participated.update(row.participants)
        refused.update(answers.keys())
        dropped.update(row.dropped)
        seen |= dict.fromkeys((*row.participants, *answers), row)
        reasons |= answers
    return [
        ClientSummary(
            name,
            participated[name],
            refused[name],
            dropped[name],
            seen[name].round if name in seen else None,
            seen[name].time if name in seen else None,
            reasons.get(name, ""),
        )
        for name in sorted({*known, *participated, *refused, *dropped})
    ]


def _state(status: dict[str, Any], *, is_damaged: bool, is_held: bool) -> FederationState:
    said = status.get("state")
    if is_held:
        return "running"
    if is_damaged:
        return "damaged"
    if said in get_args(Ending):
        return cast(FederationState, said)
    return "damaged" if status and said != "running" else "killed"


def _read_object(path: Path) -> dict[str, Any]:
    content = read_json(path, _MOST_BYTES)
    if not isinstance(content, dict):
        raise ValueError(f"{path}: is not an object.")
    return content


def _read_scores(path: Path) -> tuple[dict[str, Any], ...]:
    content = read_json(path, _MOST_BYTES)
    if not isinstance(content, list):
        raise ValueError(f"{path}: is not a list.")
    return tuple(
        {
            **{name: one_line(row.get(name), _LONGEST_NAME) for name in ("client", "model", "part")},
            "windows": count(row.get("windows")),
            **{name: number(row.get(name)) for name in _SCORES},
        }
        for row in rows(content)
        if isinstance(row.get("client"), str) and isinstance(row.get("model"), str)
    )


def _read_charges(path: Path) -> list[tuple[int, float | None]]:
    """Return round and noise of each charge; a last line that is still being written is left out."""
    content = read_file(path, limit=_MOST_BYTES)
    charges = []
    for line in content[: content.rfind(b"\n") + 1].splitlines():
        values = json.loads(line)
        place = count(values.get("round")) if isinstance(values, dict) else None
        if place is None:
            raise ValueError(f"{path}: is not a ledger.")
        charges.append((place, number(values.get("noise_multiplier"))))
    return charges


def _plain(values: object) -> dict[str, Any]:
    """Return settings, if they are settings at all."""
    return values if isinstance(values, dict) else {}


def _last_committed(directory: Path) -> int:
    """Return the number of the last round that is complete."""
    try:
        with os.scandir(directory) as found:
            names = [match for item in found if (match := _ROUND.fullmatch(item.name))]
    except (OSError, ValueError):
        return 0
    return max((int(match[1]) for match in names), default=0)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _time_of(path: Path) -> float | None:
    """Return when a file changed, or ``None`` if there is none."""
    try:
        return path.lstat().st_mtime
    except (OSError, ValueError):
        return None
