"""What a study tries next: the defaults, points that were enqueued, then what the method proposes."""

from __future__ import annotations

from collections.abc import Sequence

from neuro_divergent.search.config import StudyConfig
from neuro_divergent.search.parameter import Point
from neuro_divergent.search.storage.trial_store import TrialStore
from neuro_divergent.search.trial import Trial

DEFAULTS, QUEUE, METHOD = "defaults", "queue", "method"


class Proposer:
    """Finds the point of each trial from the trials before it.

    Args:
        config: Settings of the study.
        store: Its trials.
        start: The first point.
    """

    def __init__(self, config: StudyConfig, store: TrialStore, start: Point) -> None:
        self._config, self._store, self._start = config, store, start

    def left(self, trials: Sequence[Trial]) -> int | None:
        """Return how many points of the method were not tried; ``None`` for no end."""
        size = self._config.method.size(self._store.space)
        return None if size is None else size - sum(item.origin == METHOD for item in trials)

    def exhausted(self, trials: Sequence[Trial]) -> str | None:
        """Return that every point was tried, or ``None`` while there are more."""
        left = self.left(trials)
        if left is None or left > 0:
            return None
        return f"all {self._config.method.size(self._store.space)} points of the {self._config.method.name}"

    def next(self, number: int, before: Sequence[Trial]) -> tuple[Point, str]:
        """Return the point of a trial, and where it comes from."""
        method, space = self._config.method, self._store.space
        if method.starts_with_defaults and not any(item.origin == DEFAULTS for item in before):
            return self._start, DEFAULTS
        tried = {item.origin for item in before}
        for place, given in enumerate(self._store.queue()):
            if f"{QUEUE} {place}" not in tried:
                known = {**self._start, **given}
                point = space.walk(lambda item, known=known: item.dimension.nearest(known.get(item.setting)))  # type: ignore[misc]
                return point, f"{QUEUE} {place}"
        place = sum(item.origin == METHOD for item in before)
        found = method.point(space, place, self._config.seed)
        return (self._store.sample(number) if found is None else found), METHOD
