"""The decision of a gate and the checks that it consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from neuro_divergent.core.storage.strict_json import finite_or_none


@dataclass(frozen=True)
class Check:
    """One condition of a gate.

    Attributes:
        name: ``finite``, ``accuracy``, ``naive``, ``groups`` or ``coverage``.
        passed: Whether the condition holds; ``None`` if the forecasts are too few to say.
        sentence: What was compared and what came out.
        values: The numbers behind it.
    """

    name: str
    passed: bool | None
    sentence: str
    values: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON has; undefined numbers are ``None``."""
        plain = {"name": self.name, "passed": self.passed, "sentence": self.sentence}
        return {**plain, "values": finite_or_none(self.values)}


@dataclass(frozen=True)
class GateDecision:
    """The decision of a gate.

    Attributes:
        passed: Whether the challenger may go on; otherwise the champion stays.
        checks: Every check, in a fixed order.
        sentence: The decision with its reasons.
        rule: The rule that accuracy was judged by.
    """

    passed: bool
    checks: tuple[Check, ...]
    sentence: str
    rule: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON has."""
        checks = [check.to_dict() for check in self.checks]
        return {"passed": self.passed, "rule": self.rule, "sentence": self.sentence, "checks": checks}
