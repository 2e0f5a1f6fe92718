"""Base class of rules: evidence in, a finding if something is wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from neuro_divergent.core.registry import Registry
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Change, Finding, Severity

_WORDS = {
    "history": "there is no history of training",
    "layers": "norms by layer were not recorded",
    "network": "the network was not analysed",
    "backtest": "there are no forecasts of held-out values",
    "scores": "there are no scores on held-out values",
    "data": "the data were not described",
    "config": "the settings are not known",
}
_FILES = {"network": "network.json", "backtest": "backtest.parquet", "scores": "scores.json", "data": "data.json"}
_CLASSES = ("cross_entropy", "binary_cross_entropy")


class NotEnoughError(Exception):
    """The evidence is not sufficient for a rule; the message says what is missing."""


class Rule(ABC):
    """Checks for one problem.

    A rule avoids false alarms: it needs a minimum number of rows, compares with sampling error, and raises
    ``NotEnoughError`` with the reason where the evidence is not sufficient.

    Attributes:
        title: What is wrong if it finds something, in a few words.
        needs: Parts of the evidence without which it cannot judge.
        kind: Whether what it finds is a ``cause`` of bad forecasts, a ``symptom`` that something else may explain, or
            stands by itself. A symptom is left without changes of its own while there is a cause to begin with.
    """

    name: ClassVar[str] = ""
    registry: ClassVar[Registry] = Registry("rule", "neuro_divergent.diagnostics.rules")
    title: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[Literal["cause", "symptom", "own"]] = "own"

    @abstractmethod
    def check(self, evidence: Evidence) -> Finding | None:
        """Return what is wrong, or ``None``.

        Raises:
            NotEnoughError: If the evidence is not sufficient.
        """

    def missing(self, evidence: Evidence) -> str | None:
        """Return which part of the evidence is missing, as text, or ``None``."""
        for part in self.needs:
            if not evidence.has(part):
                unread = evidence.unread.get(_FILES.get(part, ""))
                later = " yet" if evidence.is_running and part in ("backtest", "scores", "network") else ""
                return f"{_FILES[part]} cannot be read" if unread else _WORDS[part] + later
        return None

    def finding(
        self,
        severity: Severity,
        evidence: str,
        numbers: Mapping[str, float],
        changes: Iterable[Change] = (),
        *,
        title: str | None = None,
    ) -> Finding:
        """Return a finding of this rule."""
        plain = {name: float(value) for name, value in numbers.items()}
        return Finding(self.name, title or self.title, severity, evidence, plain, tuple(changes))


def change_rate(evidence: Evidence, factor: float, why: str) -> list[Change]:
    """Return the change of the learning rate by a factor; none if the rate is not known."""
    rate = evidence.number("training.optimizer.lr")
    if not rate:
        return []
    highest = 0.1 if evidence.component("training.optimizer") == "sgd" else 0.01
    return [Change("training.optimizer.lr", rounded(min(rate * factor, highest)), why)]


def change_length(evidence: Evidence, factor: float, why: str) -> list[Change]:
    """Return the change of the length of training by a factor, through the setting that limits it."""
    for setting in ("training.max_steps", "training.max_epochs"):
        length = evidence.number(setting)
        if length:
            return [Change(setting, max(1, round(length * factor)), why)]
    return []


def change_model(evidence: Evidence, name: str, value: Any, why: str) -> list[Change]:
    """Return the change of a setting of the model; none if the model does not have it."""
    found = evidence.setting(f"model.{name}")
    return [] if found is None or found == value else [Change(f"model.{name}", value, why)]


def steady_schedule(evidence: Evidence) -> list[Change]:
    """Return the change from a constant learning rate to warm-up and cosine decay."""
    if evidence.component("training.schedule") != "constant":
        return []
    return [Change("training.schedule", "warmup_cosine", "Warm-up and decay let the weights converge.")]


def scale_windows(evidence: Evidence, why: str) -> list[Change]:
    """Return the change to a scaler if there is none; class labels are not scaled."""
    is_raw = evidence.component("task.scaler") == "identity" and evidence.component("task.loss") not in _CLASSES
    return [Change("task.scaler", "standard", why)] if is_raw else []


def rounded(value: float) -> float:
    """Return a number with two digits."""
    return float(f"{value:.2g}")
