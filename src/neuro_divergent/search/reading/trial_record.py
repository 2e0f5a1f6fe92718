"""What a storage has recorded of a trial so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from neuro_divergent.runs.values import number as number_of
from neuro_divergent.search.trial import State, Trial

PROPOSAL, VALUES, REASON, ATTEMPTS = "proposal", "values", "reason", "attempts"
REFUSED, STOPPED = "refused", "stopped"
"""Names of user attributes."""
_STATES: dict[object, State] = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}


@dataclass
class TrialRecord:
    """A trial in the terms of Optuna; values that are not what they should be count as missing.

    Attributes:
        number: Counted from 0.
        state: ``RUNNING``, ``WAITING``, ``COMPLETE``, ``PRUNED`` or ``FAIL``.
        attributes: User attributes, which hold point, values and reason.
        started: When, in seconds since 1970.
        finished: When it ended.
        reports: Intermediate values by step.
    """

    number: int
    state: str = "RUNNING"
    attributes: dict[str, Any] = field(default_factory=dict)
    started: float | None = None
    finished: float | None = None
    reports: dict[int, float] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether nothing changes any more."""
        return self.state in _STATES

    def to_trial(self, constraints: Mapping[str, float]) -> Trial:
        """Return the trial; ``constraints`` are the largest values that metrics may have."""
        proposal = _table(self.attributes.get(PROPOSAL))
        values = {}
        if self.state == "COMPLETE":
            found = {name: number_of(value) for name, value in _table(self.attributes.get(VALUES)).items()}
            values = {name: value for name, value in found.items() if value is not None}
        attempts = self.attributes.get(ATTEMPTS, 1)
        return Trial(
            number=self.number,
            state=self._state(),
            settings=_table(proposal.get("point")),
            origin=str(proposal.get("origin", "")),
            values=values,
            reason=str(self.attributes.get(REASON, "")),
            is_feasible=all(values.get(name, float("inf")) <= limit for name, limit in constraints.items())
            if values
            else True,
            attempts=attempts if isinstance(attempts, int) else 1,
            started=self.started,
            finished=self.finished,
            reports=dict(sorted(self.reports.items())),
        )

    def _state(self) -> State:
        if self.is_finished:
            return "refused" if self.attributes.get(REFUSED) else _STATES[self.state]
        return "stopped" if self.attributes.get(STOPPED) else "running"


def timestamp_of(text: object) -> float | None:
    """Return a time in ISO 8601 as seconds since 1970; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


def _table(value: object) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}
