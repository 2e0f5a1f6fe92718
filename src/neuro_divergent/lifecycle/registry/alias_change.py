"""A change of the aliases of a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class AliasChange:
    """One change of aliases: ``aliases`` of a change are ``aliases_before`` of the next.

    Attributes:
        revision: 1, 2, 3, ... of the model, without gaps.
        action: ``promote``, ``rollback`` or ``remove``.
        alias: The alias that was asked to move; others can move with it.
        before: Number of the version it pointed at; ``None`` if at none.
        after: Number of the version it points at since.
        aliases_before: All aliases of the model before.
        aliases: All aliases of the model since.
        reason: Why.
        evidence: What the decision rests on.
        created: When, in UTC.
    """

    revision: int
    action: str
    alias: str
    before: int | None
    after: int | None
    aliases_before: dict[str, int]
    aliases: dict[str, int]
    reason: str
    evidence: dict[str, Any] | None
    created: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)
