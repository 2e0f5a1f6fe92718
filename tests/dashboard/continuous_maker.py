"""Makes directories of continuous training, as ticks leave them, without training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from neuro_divergent.lifecycle.continuous.clock import SHADOW
from neuro_divergent.lifecycle.continuous.continuous import Continuous
from neuro_divergent.lifecycle.continuous.journal import Attempt, Decision, Journal, JournalStep
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig
from neuro_divergent.lifecycle.drift.incident import Incident
from neuro_divergent.lifecycle.promotion.shadow_test import ShadowTest
from tests.dashboard.registry_maker import gate

BEGIN = datetime(2026, 1, 1)
HORIZON = 24
CHANGE = 40  # look at which errors grow


class ContinuousMaker:
    """Continuous training whose state is written step by step.

    Args:
        path: Its directory.
        registry: The registry that its settings name.
        sections: Further sections of the settings.
    """

    def __init__(self, path: Path, *, registry: str = "models", **sections: Any) -> None:
        self.path = path
        self._open: JournalStep | None = None
        values: dict[str, Any] = {
            "name": "sales", "registry": registry, "source": {"name": "files", "path": "meters/*.parquet"},
            "model": {"name": "nlinear"}, "task": {"horizon": HORIZON, "input_size": 48},
        }  # fmt: skip
        Continuous.init(path, ContinuousConfig.from_dict(values | sections))

    def make(self, looks: int = 80) -> ContinuousMaker:
        """Write trainings, tests, an incident and decisions: errors grow, and a challenger runs in the shadow."""
        with self._step():
            self._make(looks)
        return self

    def _make(self, looks: int) -> None:
        for number in range(looks):
            self.look(number)
        self.attempt(1, state="previous", mode="full", reason="there is no champion yet.", end=0, version=1)
        self.attempt(
            2, state="champion", reason="720 rows of new data have come in.", end=20 * HORIZON, version=2, parent=1
        )
        self.attempt(
            3,
            state="rejected",
            reason="the errors have changed.",
            end=44 * HORIZON,
            version=3,
            parent=2,
            is_passed=False,
        )
        self.attempt(4, state="shadow", reason="the errors have changed.", end=50 * HORIZON, version=4, parent=2)
        self.decide("promoted", "Version 1 is the first champion.", version=1, gate=gate().to_dict())
        self.decide("training", "Training 2 begins (incremental): 720 rows of new data have come in.", attempt=2)
        self.decide("promoted", "Version 2 is the new champion. The challenger takes over.", serving=1, shadow=2)
        self.decide(
            "drift", "Drift: the forecast errors are 3.1 times as large as in the reference.", version=2, alpha=0.001
        )
        self.decide("rejected", "Version 3 was rejected. The champion stays.", version=3, gate=gate(False).to_dict())
        self.incident(1, state="accepted")
        self.incident(2)
        self.decide("challenger", "Version 4 runs in the shadow of 2.", version=4, gate=gate().to_dict())
        self.compare(serving=2, shadow=4, log_value=math.log(7.5), blocks=9)
        self.set(batch=looks, end=str(BEGIN + timedelta(hours=HORIZON * looks)))

    def look(self, number: int) -> None:
        """Write a test for drift."""
        is_drift = CHANGE <= number < CHANGE + 15
        ratio = (2.8 if is_drift else 1.0) + 0.05 * math.sin(number)
        content = {
            "at": str(BEGIN + timedelta(hours=HORIZON * number)), "version": 1 if number < 25 else 2, "alpha": 0.00014,
            "is_drift": is_drift, "is_worse": is_drift, "sentence": f"Test {number}.",
            "degradation": {"ratio": ratio},
        }  # fmt: skip
        with self._step() as step:
            step.set_look(HORIZON * number, content)

    def attempt(self, number: int, *, is_passed: bool = True, mode: str = "incremental", **values: Any) -> None:
        """Write a training."""
        made = Attempt(number=number, mode=mode, batch=number, gate=gate(is_passed).to_dict(), **values)
        with self._step() as step:
            step.set_attempt(made)

    def decide(self, kind: str, sentence: str, **evidence: Any) -> None:
        """Write a decision."""
        with self._step() as step:
            step.decide(Decision(kind, sentence, evidence))

    def incident(
        self, number: int, *, state: str = "quarantined", series: tuple[str, ...] = ("north", "south")
    ) -> None:
        """Write an incident of the feed."""
        found = Incident("unit", series, 4, datetime(2026, 2, 1), datetime(2026, 2, 2), 1000.0).to_dict()
        with self._step() as step:
            step.set_incident(number, {"state": state, "rows": 96, "findings": [found]})
            step.decide(Decision("incident", f"Incident {number}: 96 rows are in quarantine.", {"findings": [found]}))

    def compare(self, *, serving: int, shadow: int, log_value: float, blocks: int) -> None:
        """Write the comparison that is under way."""
        state = ShadowTest().start("promotion").to_dict()
        state["process"] |= {"log_value": log_value, "blocks": blocks}
        state["sentence"] = "Undecided whether the challenger is better."
        self.set(**{SHADOW: {"serving": serving, "shadow": shadow, "begin": 0, "scales": [], "state": state}})

    def set(self, **values: Any) -> ContinuousMaker:
        """Set values of the state."""
        with self._step() as step:
            for name, value in values.items():
                step.set_value(name, value)
        return self

    @contextmanager
    def _step(self) -> Iterator[JournalStep]:
        """Give one transaction; inside another one, that one."""
        if self._open is not None:
            yield self._open
            return
        with Journal(self.path, create=True) as journal, journal.step("2026-03-01T12:00:00+00:00") as step:
            self._open = step
            try:
                yield step
            finally:
                self._open = None
