"""What a comparison of errors has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from neuro_divergent.core.formatting import format_count, format_number, format_p_value, format_time
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.lifecycle.drift.incident import Incident
from neuro_divergent.lifecycle.drift.named_series import NamedSeries
from neuro_divergent.lifecycle.drift.panel_test import PanelTest
from neuro_divergent.lifecycle.drift.plain_time import plain_time

Verdict = Literal["no drift", "drift", "incident", "not judged"]
_MOST_NAMES = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class DriftResult:
    """The decision about a panel, and the series that stand out.

    Attributes:
        verdict: ``drift`` or ``no drift``; ``incident`` if the feed is broken, and ``not judged`` if there is too
            little to compare. The last two are no drift.
        what: What was compared: ``errors``, or the name of an input.
        reason: Why nothing was judged; else empty.
        alpha: Probability of a false alarm that was allowed.
        p_value: Of the panel: the smaller one of both tests, times two; ``None`` if nothing was judged.
        tests: The tests of the panel.
        series: The series that stand out, for which ``false_discoveries`` holds. They do not decide about the panel.
        incidents: What is broken in the feed. Series with an incident are not compared.
        num_series: Series that were compared.
        left_out: Series that were not compared, by reason.
        reference_times: Times of the reference.
        new_times: Times of the new errors.
        false_discoveries: Expected fraction of the named series that have not changed.
    """

    verdict: Verdict
    what: str = "errors"
    reason: str = ""
    alpha: float
    p_value: float | None = None
    tests: tuple[PanelTest, ...] = ()
    series: tuple[NamedSeries, ...] = ()
    incidents: tuple[Incident, ...] = ()
    num_series: int = 0
    left_out: dict[str, int]
    reference_times: pl.Series
    new_times: pl.Series
    false_discoveries: float = 0.05

    @property
    def is_drift(self) -> bool:
        """Whether the panel has drifted, so that training again may help."""
        return self.verdict == "drift"

    @property
    def is_incident(self) -> bool:
        """Whether the feed is broken, so that nothing may be trained on it."""
        return self.verdict == "incident"

    @property
    def strongest(self) -> PanelTest | None:
        """The test with the smallest p value."""
        return min(self.tests, key=lambda test: test.p_value, default=None)

    @property
    def since(self) -> Any:
        """Time from which on the change is most visible; ``None`` if there is no drift."""
        return self.new_times[self.strongest.change_at] if self.is_drift and self.strongest else None

    @property
    def sentence(self) -> str:
        """The result in words."""
        parts = [self._verdict_in_words()]
        if self.series and self.verdict in ("drift", "no drift"):
            names = ", ".join(str(named.id) for named in self.series[:_MOST_NAMES])
            more = len(self.series) - _MOST_NAMES
            names += f" and {more:,} more" if more > 0 else ""
            parts.append(f"{len(self.series):,} of {self.num_series:,} series stand out: {names}.")
        if self.incidents and self.verdict != "incident":
            parts.append(f"Broken feed, left out and not to be trained on: {_list(self.incidents)}")
        return " ".join(parts)

    def _verdict_in_words(self) -> str:
        if self.verdict == "not judged":
            return f"Cannot be judged: {self.reason}"
        if self.verdict == "incident":
            return f"Incident, no reason to train again: {_list(self.incidents)}"
        assert self.p_value is not None
        test, count = self.strongest, format_count(len(self.new_times), "new time")
        assert test is not None
        noun = "forecast errors" if self.what == "errors" else f"seasonal differences of {self.what}"
        if self.verdict == "no drift":
            text = f"No drift: the {noun} at {count} are like those of the reference"
            return f"{text} (p {format_p_value(self.p_value)}, alarm at {format_number(self.alpha)} or less)."
        if test.name == "size":
            text = f"the {noun} are {format_number(test.effect)} times as large as in the reference"
        else:
            side = "higher" if test.effect > 0 else "lower"
            unit = "actual values" if self.what == "errors" else "values"
            than = "than forecast, compared with the reference" if self.what == "errors" else "than in the reference"
            text = f"{unit} are {format_number(abs(test.effect))} standard deviations {side} {than}"
        since = f"most visible since {format_time(self.since)}"
        return f"Drift: {text}, {since} (p {format_p_value(self.p_value)})."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that strict JSON can hold."""
        document = {
            "verdict": self.verdict,
            "is_drift": self.is_drift,
            "what": self.what,
            "sentence": self.sentence,
            "reason": self.reason,
            "alpha": self.alpha,
            "p_value": self.p_value,
            "since": plain_time(self.since),
            "tests": [test.to_dict() for test in self.tests],
            "series": [named.to_dict() for named in self.series],
            "incidents": [incident.to_dict() for incident in self.incidents],
            "num_series": self.num_series,
            "left_out": self.left_out,
            "reference": _span(self.reference_times),
            "new": _span(self.new_times),
            "false_discoveries": self.false_discoveries,
        }
        plain: dict[str, Any] = finite_or_none(document)
        return plain


def _list(incidents: tuple[Incident, ...]) -> str:
    return " ".join(incident.sentence for incident in incidents)


def _span(times: pl.Series) -> dict[str, Any]:
    if not len(times):
        return {"start": None, "end": None, "times": 0}
    return {"start": plain_time(times[0]), "end": plain_time(times[-1]), "times": len(times)}
