"""Whether a challenger is to be trained, and why."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from neuro_divergent.lifecycle.continuous.clock import SHADOW, is_comparing
from neuro_divergent.lifecycle.continuous.comparison import attempt_of
from neuro_divergent.lifecycle.continuous.degradation import find_degradation
from neuro_divergent.lifecycle.continuous.forecasts import ForecastStore, with_actuals
from neuro_divergent.lifecycle.continuous.journal import Decision, Journal, JournalStep
from neuro_divergent.lifecycle.continuous.rows import id_of
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig, parse_duration
from neuro_divergent.lifecycle.continuous.view import View
from neuro_divergent.lifecycle.drift.alpha_spending import AlphaSpending
from neuro_divergent.lifecycle.drift.detection import detect_drift
from neuro_divergent.lifecycle.drift.errors import Errors, forecast_errors

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.registry.registry import Registry

SPENDING = "spending"
_YEARLY = 0.05  # for degradation alone
_LEAST_HORIZONS = 4  # since a change, before a model is trained because of it
_FURTHER = 3  # times as many rows since a change, after which to train again
_PROMISING = 0.7  # logarithm of the evidence: twice as likely as not
_FAILURES = ("rejected", "failed")
_MOST_DOUBLINGS = 6
_ROWS_PER_YEAR = 365.25  # where times are integers, a row is taken for a day


@dataclass(frozen=True, eq=False)
class Finding:
    """What the triggers found.

    Attributes:
        reason: Why to train; ``None`` if nothing calls for it.
        origin: Last row that a test has looked at; ``None`` if there was none.
        look: Its result.
        spending: State of the level after it.
        changed: Row from which on errors have changed, if they have.
    """

    reason: str | None
    origin: int | None = None
    look: dict[str, Any] = field(default_factory=dict)
    spending: dict[str, Any] | None = None
    changed: int | None = None

    def record(self, step: JournalStep) -> None:
        """Write the test into the state."""
        if self.origin is not None:
            step.set_look(self.origin, self.look)
            step.set_value(SPENDING, self.spending)
            if self.look["is_first"]:
                step.decide(Decision("drift", self.look["sentence"], self.look))


@dataclass(frozen=True, eq=False)
class TriggerCheck:
    """Checks every trigger.

    Attributes:
        config: The settings.
        journal: The state.
        forecasts: Stored forecasts.
        now: Time of the tick.
    """

    config: ContinuousConfig
    journal: Journal
    forecasts: ForecastStore
    now: datetime

    def run(self, view: View, champion: int | None, requested: Any, *, registry: Registry) -> Finding:
        """Return whether to train.

        The first training and one by request do not wait. All others wait for the cool-down. Intervals also wait while
        a challenger is in the shadow; drift and degradation replace one that was trained before the change.
        """
        if champion is None:
            return Finding("there is no champion yet.")
        look = self._look(view, champion, registry)
        if requested is not None:
            return replace(look, reason=str(requested))
        last = self.journal.value("last_training", {"end": view.end, "at": self.now.isoformat()})
        until = max(int(last["end"]) + self._cool_down, int(self.journal.value("cool_until", view.end)))
        if view.end < until:
            return replace(look, reason=None)
        if look.changed is not None and self._waits(view, look.changed):
            return replace(look, reason=None)
        return look if look.reason is not None else self._regular(look, view, champion, last)

    def _regular(self, look: Finding, view: View, champion: int, last: dict[str, Any]) -> Finding:
        """Return whether to train although errors have not changed: intervals, and what is now known of a change."""
        attempt = attempt_of(self.journal, champion)
        if attempt is not None and attempt.changed is not None and not is_comparing(self.journal):
            before, now = attempt.end - attempt.changed, view.end - attempt.changed
            if now >= _FURTHER * before:
                reason = (
                    f"{now:,} rows have come in since errors changed; version {champion} was trained on {before:,}."
                )
                return replace(look, reason=reason, changed=attempt.changed)
        return replace(look, reason=self._interval(view, last))

    def _waits(self, view: View, changed: int) -> bool:
        """Whether a training because of a change is put off.

        Half of the rows since then are held out, so a model could learn nothing from very few. And a challenger that
        was trained after the change has its time to win, unless three times as many rows are known by now and the
        evidence does not speak for it.
        """
        known = view.end - changed
        if known < _LEAST_HORIZONS * self.config.run.task.horizon:
            return True
        stored = self.journal.value(SHADOW)
        attempt = None if stored is None else attempt_of(self.journal, stored["shadow"])
        if not is_comparing(self.journal) or attempt is None or attempt.end <= changed:
            return False
        is_promising = stored["state"]["process"]["log_value"] > _PROMISING
        return is_promising or known < _FURTHER * (attempt.end - changed)

    @property
    def _cool_down(self) -> int:
        """Rows to wait after a training: twice as many after each one that was rejected or has failed."""
        given = self.config.triggers.cool_down
        rows = self.config.run.task.horizon if given is None else given
        states = [attempt.state for attempt in self.journal.attempts()]
        failures = next((count for count, state in enumerate(reversed(states)) if state not in _FAILURES), len(states))
        return int(rows * 2 ** min(failures, _MOST_DOUBLINGS))

    def _interval(self, view: View, last: dict[str, Any]) -> str | None:
        if is_comparing(self.journal) or view.end <= int(last["end"]):
            return None
        rows, every = view.end - int(last["end"]), self.config.triggers.every_rows
        if every is not None and rows >= every:
            return f"{rows:,} rows of new data have come in since the last training."
        clock = self.config.triggers.every
        if clock is not None and self.now - datetime.fromisoformat(last["at"]) >= parse_duration(clock):
            return f"{clock} have passed since the last training."
        return None

    def _look(self, view: View, champion: int, registry: Registry) -> Finding:
        """Compare the errors of the champion with those of its back-test, if enough rows have come in."""
        triggers, horizon = self.config.triggers, self.config.run.task.horizon
        if triggers.drift is None and triggers.degradation is None:
            return Finding(None)
        looks = self.journal.looks()
        if looks and view.end - max(looks) < (triggers.look_every or horizon):
            return Finding(None)
        errors = self._errors(view, champion, registry)
        if errors is None:
            return Finding(None)
        reference, new = errors
        spending = self._spending(view)
        alpha = spending.look(view.end_time)
        look: dict[str, Any] = {"version": champion, "at": str(view.end_time), "alpha": alpha}
        reason, changed = None, None
        if triggers.drift is not None:
            drift = detect_drift(reference, new, alpha=alpha)
            look |= {"is_drift": drift.is_drift, "drift": drift.to_dict(), "sentence": drift.sentence}
            if drift.is_drift:
                reason = f"the errors of version {champion} have changed. {drift.sentence}"
                changed = view.timeline.index(drift.since)
        if triggers.degradation is not None:
            worse = find_degradation(reference, new, fraction=triggers.degradation, alpha=alpha)
            look |= {"is_worse": worse.is_worse, "degradation": worse.to_dict()}
            if worse.is_worse and reason is None:
                reason = f"the forecasts of version {champion} have become worse. {worse.sentence}"
                look["sentence"] = worse.sentence
        before = looks[max(looks)] if looks else {}
        is_known = bool(before.get("is_drift") or before.get("is_worse"))
        if is_known and changed is not None and before.get("changed") is not None:
            changed = int(before["changed"])  # the window moves on, the change does not
        look |= {"is_first": reason is not None and not is_known, "changed": changed}
        return Finding(reason, view.end, look, spending.to_dict(), changed)

    def _errors(self, view: View, champion: int, registry: Registry) -> tuple[Errors, Errors] | None:
        """Return the errors of the back-test, with values as they are known now, and those of the newest forecasts."""
        horizon = self.config.run.task.horizon
        complete = [origin for origin in self.journal.origins(champion) if origin + horizon <= view.end]
        if len(complete) < 4:
            return None
        backtest = registry.get(f"{self.config.name}==v{champion}").backtest()
        if backtest is None:
            return None
        names = {"id": id_of(view.schema), "time": view.schema.time, "frequency": view.timeline.frequency}
        season = self.config.run.task.season_length or view.season_length
        reference = forecast_errors(with_actuals(backtest, view), season_length=season, **names)  # type: ignore[arg-type]
        made = self.forecasts.read(champion, complete[-self.config.triggers.window :])
        new = with_actuals(made, view)
        if new["actual"].drop_nulls().is_empty():
            return None
        return reference, forecast_errors(new.filter(pl.col("actual").is_not_null()), season_length=season, **names)  # type: ignore[arg-type]

    def _spending(self, view: View) -> AlphaSpending:
        stored = self.journal.value(SPENDING)
        if stored is not None:
            return AlphaSpending.from_dict(stored)
        rate = self.config.triggers.drift or _YEARLY
        return AlphaSpending(rate, start=view.timeline.time(0), year=_ROWS_PER_YEAR)
