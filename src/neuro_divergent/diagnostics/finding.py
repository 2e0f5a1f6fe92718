"""Findings of the doctor: what is wrong, the evidence for it, and which setting to change."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from neuro_divergent.core import html
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.formatting import format_count
from neuro_divergent.forecasting.run_config import parse_value

Severity = Literal["problem", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""Severities: the model is unusable, it is worse than it could be, something may be worth a try."""


@dataclass(frozen=True)
class Change:
    """A setting to change.

    Attributes:
        setting: Its dotted name, as ``nd train --set`` takes it: ``training.optimizer.lr``.
        value: A plain value; ``"none"`` for nothing.
        why: What it improves, in a sentence.

    Examples:
        >>> import neuro_divergent as nd
        >>> change = nd.diagnostics.Change("training.optimizer.lr", 0.003, "The loss was still falling at the end.")
        >>> print(change)
        training.optimizer.lr=0.003
        >>> forecaster = nd.Forecaster("nlinear", horizon=12).with_settings({change.setting: change.value})
        >>> forecaster.training.optimizer.lr
        0.003
    """

    setting: str
    value: Any
    why: str

    def __str__(self) -> str:
        return f"{self.setting}={show_value(self.value)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    @classmethod
    def from_dict(cls, values: object) -> Change:
        """Restore a change from what ``to_dict`` returned; unknown keys are ignored."""
        found = _table(values, "a change")
        return cls(_text(found, "setting"), found.get("value"), _text(found, "why"))


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or could be better.

    Attributes:
        rule: Name of the rule that found it.
        title: What it is, in a few words.
        severity: How bad it is.
        evidence: The evidence, with numbers, in words.
        numbers: The same numbers by name.
        changes: What to change, the most promising first.

    Examples:
        >>> import neuro_divergent as nd
        >>> change = nd.diagnostics.Change("training.optimizer.lr", 0.01, "Larger steps.")
        >>> evidence = "The loss fell in every step and was still falling at the end."
        >>> names = ("rate_too_low", "The learning rate is too low", "warning")
        >>> finding = nd.diagnostics.Finding(*names, evidence, changes=(change,))
        >>> print(finding)
        warning: The learning rate is too low
          The loss fell in every step and was still falling at the end.
          change: training.optimizer.lr=0.01  (Larger steps.)
        >>> nd.diagnostics.Diagnosis((finding,), checked=("rate_too_low",)).is_healthy
        False
    """

    rule: str
    title: str
    severity: Severity
    evidence: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.title}", f"  {self.evidence}"]
        lines += [f"  change: {change}  ({change.why})" for change in self.changes]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; numbers that are not finite are ``None``."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    @classmethod
    def from_dict(cls, values: object) -> Finding:
        """Restore a finding from what ``to_dict`` returned; unknown keys are ignored."""
        found = _table(values, "a finding")
        severity = _text(found, "severity")
        if severity not in SEVERITIES:
            raise UntrustedFileError(f"diagnosis: severity {severity[:40]!r} is none of {', '.join(SEVERITIES)}.")
        numbers = {
            str(name): math.nan if value is None else float(value)
            for name, value in _table(found.get("numbers", {}), "numbers").items()
            if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
        }
        return cls(
            rule=_text(found, "rule"),
            title=_text(found, "title"),
            severity=severity,
            evidence=_text(found, "evidence"),
            numbers=numbers,
            changes=tuple(Change.from_dict(item) for item in _list(found, "changes")),
        )


@dataclass(frozen=True)
class Diagnosis:
    """Results of all rules for a run or a trained forecaster.

    Attributes:
        findings: Findings, the most severe first.
        checked: Names of the rules that were applied.
        not_checked: For each rule that could not be applied, why.
    """

    findings: tuple[Finding, ...] = ()
    checked: tuple[str, ...] = ()
    not_checked: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_healthy(self) -> bool:
        """Whether rules were applied and found neither a problem nor a warning."""
        return bool(self.checked) and not self.of("problem", "warning")

    @property
    def changes(self) -> tuple[Change, ...]:
        """One change per setting, that of the most severe finding; they can all be made at once.

        A change of the model excludes changes of the settings of the present model, and the reverse.
        """
        chosen: list[Change] = []
        for finding in self.findings:
            for change in finding.changes:
                if not any(_overlap(change.setting, other.setting) for other in chosen):
                    chosen.append(change)
        return tuple(chosen)

    def of(self, *severities: Severity) -> tuple[Finding, ...]:
        """Return the findings of some severities."""
        return tuple(finding for finding in self.findings if finding.severity in severities)

    @property
    def summary(self) -> str:
        """The result in one sentence."""
        checks = format_count(len(self.checked), "check")
        if not self.checked:
            return "Nothing could be checked."
        if not self.findings:
            return f"Nothing was found by {checks}."
        counts = [(len(self.of(severity)), severity) for severity in SEVERITIES]
        words = [format_count(count, severity) for count, severity in counts if count]
        return f"{', '.join(words)} found by {checks}."

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        if self.not_checked:
            lines.append("not checked: " + "; ".join(f"{name} ({why})" for name, why in self.not_checked.items()))
        return "\n".join([self.summary, *lines])

    def __repr__(self) -> str:
        return f"Diagnosis({self.summary})"

    def _repr_html_(self) -> str:
        rows = [
            (finding.severity, finding.title, finding.evidence, "; ".join(f"{change}" for change in finding.changes))
            for finding in self.findings
        ]
        table = html.table(["severity", "finding", "evidence", "change"], rows) if rows else html.Html("")
        left_out = html.facts(self.not_checked.items())
        others = html.details(f"{len(self.not_checked)} not checked", left_out) if self.not_checked else html.Html("")
        return html.card("Diagnosis", self.summary, table, others)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in ``diagnosis.json``."""
        return {
            "is_healthy": self.is_healthy,
            "summary": self.summary,
            "findings": [finding.to_dict() for finding in self.findings],
            "checked": list(self.checked),
            "not_checked": dict(self.not_checked),
        }

    @classmethod
    def from_dict(cls, values: object) -> Diagnosis:
        """Restore a diagnosis from what ``to_dict`` returned; unknown keys are ignored.

        Raises:
            UntrustedFileError: If something is missing or of another kind.
        """
        found = _table(values, "a diagnosis")
        reasons = _table(found.get("not_checked", {}), "not_checked")
        return cls(
            findings=tuple(Finding.from_dict(item) for item in _list(found, "findings")),
            checked=tuple(str(name) for name in _list(found, "checked")),
            not_checked={str(name): str(why) for name, why in reasons.items()},
        )


def show_value(value: Any) -> str:
    """Write a value as ``--set`` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if parse_value(value) == value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_quoted(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(item) for item in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _overlap(one: str, other: str) -> bool:
    """Whether two settings are the same, or one is a part of the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else show_value(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def _table(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UntrustedFileError(f"diagnosis: {what} is a table of values; this is {type(value).__name__}.")
    return value


def _list(values: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = values.get(key, [])
    if not isinstance(found, (list, tuple)):
        raise UntrustedFileError(f"diagnosis: {key!r} is a list; this is {type(found).__name__}.")
    return found


def _text(values: Mapping[str, Any], key: str) -> str:
    found = values.get(key)
    if not isinstance(found, str):
        raise UntrustedFileError(f"diagnosis: {key!r} is text; this is {type(found).__name__}.")
    return found
