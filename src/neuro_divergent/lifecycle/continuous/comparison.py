"""Champion and challenger side by side: forecasts are stored when made and compared when values are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from neuro_divergent.lifecycle.continuous.clock import SHADOW
from neuro_divergent.lifecycle.continuous.forecasts import ForecastStore
from neuro_divergent.lifecycle.continuous.journal import Attempt, Decision, Journal, JournalStep
from neuro_divergent.lifecycle.continuous.rows import id_of
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig
from neuro_divergent.lifecycle.continuous.view import View
from neuro_divergent.lifecycle.promotion.block import read_blocks
from neuro_divergent.lifecycle.promotion.shadow_test import Purpose, ShadowState

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.registry.registry import Registry


def begin_comparison(
    step: JournalStep, config: ContinuousConfig, view: View, *, serving: int, shadow: int, purpose: Purpose
) -> None:
    """Begin to compare a version in the shadow with the one that serves; ends any other comparison."""
    season = config.run.task.season_length or view.season_length
    scales = [[key, value] for key, value in view.scales(season).items()]
    state = config.shadow.start(purpose)
    step.set_value(
        SHADOW, {"serving": serving, "shadow": shadow, "begin": view.end, "scales": scales, "state": state.to_dict()}
    )
    step.set_value("revised", [])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Compares the version in the shadow with the one that serves, and switches where that is shown to be right.

    Attributes:
        config: The settings.
        journal: The state.
        registry: The registry.
        forecasts: Stored forecasts.
    """

    config: ContinuousConfig
    journal: Journal
    registry: Registry
    forecasts: ForecastStore

    def advance(self, view: View, at: str, boundary: Callable[[str], None]) -> None:
        """Look at the blocks that have become complete, and do what follows from them."""
        stored = self.journal.value(SHADOW)
        if stored is None:
            return
        serving, shadow = stored["serving"], stored["shadow"]
        champion = self.registry.aliases(self.config.name).get("champion")
        if champion not in (serving, shadow):
            with self.journal.step(at) as step:
                step.set_value(SHADOW, None)
                step.decide(
                    Decision("ended", f"The comparison ended: version {champion} was made champion by somebody else.")
                )
            return
        state = ShadowState.from_dict(stored["state"])
        reopened = self._reopened(view, stored)
        if reopened is not None:
            state = self.config.shadow.start(state.purpose)
        before = state
        state = self.config.shadow.update(state, self._blocks(view, stored, state))
        if state.outcome == "switch" and champion == serving:
            self._switch(state, serving, shadow)
            boundary("alias moved")
        if state.outcome == "keep" and state.purpose == "promotion":
            self.registry.remove_alias(self.config.name, "challenger", reason=state.sentence)
        with self.journal.step(at) as step:
            if reopened is not None:
                step.decide(reopened)
                step.set_value("revised", [])
            if state.outcome is not None:
                self._conclude(step, view, stored, state)
            elif state != before or reopened is not None:
                step.set_value(SHADOW, {**stored, "state": state.to_dict()})

    def _blocks(self, view: View, stored: dict[str, Any], state: ShadowState) -> list[Any]:
        horizon = self.config.run.task.horizon
        origins = [set(self.journal.origins(version)) for version in (stored["serving"], stored["shadow"])]
        common = {origin for origin in origins[0] & origins[1] if stored["begin"] <= origin <= view.end - horizon}
        if not common:
            return []
        made = pl.concat(
            [self.forecasts.read(version, common) for version in (stored["serving"], stored["shadow"])],
            how="diagonal_relaxed",
        )
        return read_blocks(
            made,
            view.actuals(),
            serving=stored["serving"],
            shadow=stored["shadow"],
            horizon=horizon,
            scales=dict(stored["scales"]),
            gap=self.config.shadow.gap,
            after=state.following,
            closed=view.end_time,
            target=view.schema.target,
            id=id_of(view.schema),
            time=view.schema.time,
        )

    def _switch(self, state: ShadowState, serving: int, shadow: int) -> None:
        """Move the alias; a repeated call finds it moved."""
        evidence = {"serving": serving, "shadow": shadow, **state.to_dict()}
        if state.purpose == "rollback":
            self.registry.rollback(self.config.name, reason=state.sentence, evidence=evidence)
        else:
            self.registry.promote(f"{self.config.name}==v{shadow}", reason=state.sentence, evidence=evidence)

    def _conclude(self, step: JournalStep, view: View, stored: dict[str, Any], state: ShadowState) -> None:
        serving, shadow = stored["serving"], stored["shadow"]
        evidence = {"serving": serving, "shadow": shadow, **state.to_dict()}
        step.set_value(SHADOW, None)
        if state.purpose == "rollback":
            if state.outcome == "switch":
                step.set_value("cool_until", view.end + self._cool_down)
                self._set_state(step, serving, "rolled back")
                self._set_state(step, shadow, "champion")
                step.decide(Decision("rolled back", f"Version {shadow} is champion again. {state.sentence}", evidence))
            else:
                step.decide(Decision("confirmed", f"Version {serving} stays champion. {state.sentence}", evidence))
            return
        if state.outcome == "keep":
            self._set_state(step, shadow, "expired")
            step.decide(Decision("kept", f"Version {serving} stays champion. {state.sentence}", evidence))
            return
        self._set_state(step, shadow, "champion")
        self._set_state(step, serving, "previous")
        step.decide(Decision("promoted", f"Version {shadow} is the new champion. {state.sentence}", evidence))
        begin_comparison(step, self.config, view, serving=shadow, shadow=serving, purpose="rollback")

    def _set_state(self, step: JournalStep, version: int, state: str) -> None:
        attempt = attempt_of(self.journal, version)
        if attempt is not None:
            step.set_attempt(replace(attempt, state=state))

    def _reopened(self, view: View, stored: dict[str, Any]) -> Decision | None:
        """Return the decision to begin the comparison again, if enough of its values were revised."""
        begin = str(view.timeline.time(stored["begin"]))
        rows = sum(int(item["rows"]) for item in self.journal.value("revised", []) if item["last"] > begin)
        time = pl.col(view.schema.time)
        scored = view.frame.filter(time > view.timeline.time(stored["begin"])).height
        if not rows or rows < self.config.arrivals.reopen * max(scored, 1):
            return None
        sentence = (
            f"{rows:,} of {scored:,} values since the comparison began were revised, so it begins again with the "
            "revised values."
        )
        return Decision("reopened", sentence, {"revised": rows, "scored": scored})

    @property
    def _cool_down(self) -> int:
        given = self.config.triggers.cool_down
        return self.config.run.task.horizon if given is None else given


def attempt_of(journal: Journal, version: int) -> Attempt | None:
    """Return the training that a version came from; ``None`` for one that was registered by somebody else."""
    return next((item for item in journal.attempts() if item.version == version), None)
