"""Continuous training of one model: the front door."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from neuro_divergent.core.errors import InputError, NeuroDivergentError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.lifecycle.continuous.clock import clock_is_due
from neuro_divergent.lifecycle.continuous.journal import Decision, Journal
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG, LOCK, LAST_TICK = "continuous.toml", "lock", "last-tick"


@dataclass(frozen=True)
class TickResult:
    """What a tick did.

    Attributes:
        decisions: Decisions that were made.
        steps: Steps that were carried out, in order.
        failed_hooks: Messages of hooks that failed; they are tried again at the next tick.
    """

    decisions: list[Decision]
    steps: list[str]
    failed_hooks: list[str]


class Continuous:
    """Keeps a model up to date: reads new rows, watches its errors, trains challengers and replaces it.

    All state is in a directory and in the registry. ``tick`` does what is to be done now; it can be killed at any
    moment, and called as often as one likes.

    Args:
        directory: A directory that ``init`` has made.

    Attributes:
        directory: Its path.
        config: The settings.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.datasets.Synthetic(length=120, frequency="1h").frame().write_parquet("load.parquet")
        >>> settings = {"name": "load", "source": {"name": "files", "path": "*.parquet"}, "model": {"name": "nlinear"}}
        >>> settings |= {"task": {"horizon": 6, "input_size": 24}, "training": {"max_steps": 10}}
        >>> config = nd.lifecycle.ContinuousConfig.from_dict(settings)
        >>> continuous = nd.lifecycle.Continuous.init("continuous", config)
        >>> [decision.kind for decision in continuous.tick().decisions]
        ['training', 'promoted']
        >>> continuous.tick().decisions
        []
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        if not (self.directory / CONFIG).is_file():
            raise InputError(f"{self.directory}: has no {CONFIG}; make one with: nd continuous init {self.directory}")
        self.config = ContinuousConfig.from_toml(self.directory / CONFIG)

    @classmethod
    def init(cls, directory: str | Path, config: ContinuousConfig) -> Self:
        """Make a directory for continuous training; nothing is read or trained yet.

        Raises:
            InputError: If there is one already.
        """
        path = Path(directory)
        if (path / CONFIG).exists():
            raise InputError(f"{path}: is there already; 'nd continuous status {path}' says how it is.")
        path.mkdir(parents=True, exist_ok=True)
        write_file(path / CONFIG, config.to_toml().encode("utf-8"))
        return cls(path)

    def tick(self, *, now: datetime | None = None, boundary: Callable[[str], None] = lambda step: None) -> TickResult:
        """Do what is to be done now: read new rows, forecast, compare, train and replace.

        Nothing happens where nothing is new. What an earlier tick was interrupted in is finished first.

        Args:
            now: Time of the tick; unset, the clock.
            boundary: Called with the name of each step when it has ended.

        Raises:
            InputError: If another tick is under way.
            StorageError: If the source, the registry or the disk cannot be reached; the next tick tries again.
        """
        now = datetime.now(UTC) if now is None else now
        steps: list[str] = []

        def heard(step: str) -> None:
            steps.append(step)
            boundary(step)

        with self._locked(), Journal(self.directory, create=True) as journal:
            before = len(journal.decisions())
            schema = self.config.run.data.schema_fields
            delivery = self.config.source.poll(journal.value("position"), schema)
            if delivery is not None or self._has_work(journal, now):
                from neuro_divergent.lifecycle.continuous.tick import Tick  # which loads torch

                Tick(self.directory, self.config, journal, now=now, boundary=heard).run(delivery)
            failed = self._deliver(journal, now)
            return TickResult(journal.decisions()[before:], steps, failed)

    def request(self, reason: str = "requested by hand.") -> None:
        """Have the next tick train a challenger."""
        with Journal(self.directory, create=True) as journal, journal.step(_now()) as step:
            step.set_value("requested", reason)

    def accept(self, incident: int, *, now: datetime | None = None) -> TickResult:
        """Take the rows of a quarantine in after all, and act on them.

        Raises:
            InputError: If there is no such incident, or it was accepted before.
        """
        from neuro_divergent.lifecycle.continuous.tick import Tick

        now = datetime.now(UTC) if now is None else now
        steps: list[str] = []
        with self._locked(), Journal(self.directory, create=True) as journal:
            states = {item["number"]: item["state"] for item in journal.incidents()}
            if states.get(incident) != "quarantined":
                known = ", ".join(str(number) for number, state in states.items() if state == "quarantined") or "none"
                raise InputError(f"incident {incident}: is not in quarantine; in quarantine: {known}.")
            before = len(journal.decisions())
            Tick(self.directory, self.config, journal, now=now, boundary=steps.append).accept(incident)
            return TickResult(journal.decisions()[before:], steps, self._deliver(journal, now))

    def decisions(self, last: int | None = None) -> list[Decision]:
        """Return decisions with their evidence, the oldest first."""
        with Journal(self.directory, create=True) as journal:
            return journal.decisions(last)

    def _has_work(self, journal: Journal, now: datetime) -> bool:
        """Whether there is something to do although no rows came in."""
        if (
            int(journal.value("processed", 0)) < int(journal.value("batch", 0))
            or journal.value("requested") is not None
        ):
            return True
        if any(attempt.is_unfinished for attempt in journal.attempts()):
            return True
        return clock_is_due(self.config, journal, now)

    def _deliver(self, journal: Journal, now: datetime) -> list[str]:
        """Run the hooks of decisions that were not told yet, in order; one that fails stops those after it."""
        for decision in journal.undelivered():
            try:
                self.config.hooks.deliver(decision, self.config.name)
            except NeuroDivergentError as error:
                return [str(error)]
            with journal.step(_text(now)) as step:
                step.set_delivered(decision.number)
        return []

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            lock = RunLock(self.directory / LOCK)
            lock.__enter__()
        except InputError as error:
            with Journal(self.directory, create=True) as journal:
                skipped = int(journal.value("skipped", 0)) + 1
                with journal.step(_now()) as step:
                    step.set_value("skipped", skipped)
            raise InputError(f"{self.directory}: another tick is under way, so this one is skipped. {error}") from error
        try:
            yield
            (self.directory / LAST_TICK).touch()  # its time says when one ended well
        finally:
            lock.__exit__()


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _now() -> str:
    return _text(datetime.now(UTC))
