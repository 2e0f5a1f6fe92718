"""Schedules one after the other, and schedules at once."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from pydantic import field_validator

from neuro_divergent.core.config import Config, register
from neuro_divergent.training.schedules.base import Clock, Length, Plan, Schedule, ScheduleState
from neuro_divergent.training.schedules.cosine import Cosine, CosineRestarts
from neuro_divergent.training.schedules.linear import Linear


class Part(Config):
    """One schedule of a chain.

    Attributes:
        schedule: What the rate does.
        length: How long it lasts: a fraction of training below 1, a number of epochs (or steps) from 1 on; ``None``
            for an equal part of what the others leave.
        per: What ``length`` counts.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> first = nd.schedules.Part(schedule=nd.schedules.Linear(initial=0.0, final=1.0), length=5, per="step")
        >>> schedule = nd.schedules.Chain([first, nd.schedules.Constant()])
        >>> [round(schedule.factor(step, plan), 2) for step in (0, 1, 4, 5, 50)]
        [0.0, 0.2, 0.8, 1.0, 1.0]
    """

    schedule: Schedule
    length: Length | None = None
    per: Clock = "epoch"


@register("chain")
class Chain(Schedule):
    """One schedule after the other, each as if training were its own part alone.

    Each part begins at the full rate of the optimizer and counts its steps and epochs from its own beginning. The last
    one stays until training ends.

    Attributes:
        parts: Schedules with their lengths; a pair of both, or a schedule alone, will do.

    Examples:
        A tenth of training rises, and the rest falls:

        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> schedule = nd.schedules.Chain([(nd.schedules.Linear(initial=0.1, final=1.0), 0.1), nd.schedules.Cosine()])
        >>> [round(schedule.factor(step, plan), 2) for step in (0, 5, 10, 55, 100)]
        [0.1, 0.55, 1.0, 0.5, 0.0]
    """

    parts: tuple[Part, ...] = (Part(schedule=Linear(initial=0.01, final=1.0), length=0.1), Part(schedule=Cosine()))

    def __init__(self, parts: Sequence[Any] | None = None, **values: Any) -> None:
        super().__init__(**values if parts is None else {"parts": parts, **values})

    @field_validator("parts", mode="before")
    @classmethod
    def _read(cls, parts: Any) -> Any:
        """Accept a schedule or a pair where a part is expected."""
        return [_as_part(part) for part in parts] if isinstance(parts, (list, tuple)) else parts

    @field_validator("parts")
    @classmethod
    def _fits(cls, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        if not parts:
            raise ValueError("a chain has at least one part")
        fractions = sum(part.length for part in parts if part.length is not None and part.length < 1)
        if fractions > 1 + 1e-9:
            raise ValueError(f"fractions of training add up to {fractions:g}, which is more than all of it")
        return parts

    def factor(self, step: int, plan: Plan) -> float:
        place, begin, inner = self.locate(step, plan)
        return self.parts[place].schedule.factor(step - begin, inner)

    def begin(self, plan: Plan) -> ScheduleState:
        return _ChainCourse(self, plan)

    def then(self, following: Schedule, *, after: int | float, per: Clock = "epoch") -> Chain:
        """Return this chain, its last part cut to a length, followed by another schedule."""
        last = self.parts[-1].replace(length=after, per=per)
        return Chain(parts=(*self.parts[:-1], last, Part(schedule=following)))

    def locate(self, step: int, plan: Plan) -> tuple[int, int, Plan]:
        """Return which part a step lies in, the step at which that part begins, and its plan."""
        lengths = [None if part.length is None else plan.steps(part.length, part.per) for part in self.parts]
        rest = max(plan.total_steps - sum(length or 0 for length in lengths), 0)
        open_parts = lengths.count(None)
        parts_left = iter([rest * (i + 1) // open_parts - rest * i // open_parts for i in range(open_parts)])
        known = [next(parts_left) if length is None else length for length in lengths]
        begins = list(accumulate(known[:-1], initial=0))
        # Of parts that begin at the same step all but the last are empty.
        place = bisect_right(begins, step) - 1
        return place, begins[place], Plan(known[place], plan.steps_per_epoch)


@register("product")
class Product(Schedule):
    """Several schedules at once: the rate goes through one after the other, so that their factors multiply.

    Attributes:
        parts: The schedules.

    Examples:
        A line that falls, times a tenth from the fifth epoch on:

        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> schedule = nd.schedules.Product([nd.schedules.Linear(), nd.schedules.StepDecay(every=5)])
        >>> [round(schedule.factor(step, plan), 3) for step in (0, 49, 50, 80)]
        [1.0, 0.51, 0.05, 0.02]
    """

    parts: tuple[Schedule, ...] = (CosineRestarts(), Linear())

    def __init__(self, parts: Sequence[Any] | None = None, **values: Any) -> None:
        super().__init__(**values if parts is None else {"parts": parts, **values})

    def factor(self, step: int, plan: Plan) -> float:
        return math.prod(part.factor(step, plan) for part in self.parts)

    def begin(self, plan: Plan) -> ScheduleState:
        return _ProductCourse([part.begin(plan) for part in self.parts])


class _ChainCourse(ScheduleState):
    def __init__(self, chain: Chain, plan: Plan) -> None:
        self._chain = chain
        self._plan = plan
        self._step = 0
        self._enter()

    def step(self) -> None:
        self._step += 1
        if self._chain.locate(self._step, self._plan)[0] == self._place:
            self._course.step()
        else:
            self._enter()

    def validated(self, loss: float) -> None:
        self._course.validated(loss)

    def rate(self, base: float) -> float:
        return self._course.rate(base)

    def state_dict(self) -> dict[str, Any]:
        return {"step": self._step, "part": self._course.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._step = int(state["step"])
        self._enter()
        self._course.load_state_dict(state["part"])

    def _enter(self) -> None:
        """Begin the part that this step lies in."""
        self._place, _, plan = self._chain.locate(self._step, self._plan)
        self._course = self._chain.parts[self._place].schedule.begin(plan)


class _ProductCourse(ScheduleState):
    def __init__(self, courses: list[ScheduleState]) -> None:
        self._courses = courses

    def step(self) -> None:
        for course in self._courses:
            course.step()

    def validated(self, loss: float) -> None:
        for course in self._courses:
            course.validated(loss)

    def rate(self, base: float) -> float:
        for course in self._courses:
            base = course.rate(base)
        return base

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [course.state_dict() for course in self._courses]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for course, part in zip(self._courses, state["parts"], strict=True):
            course.load_state_dict(part)


def _as_part(part: Any) -> Any:
    if isinstance(part, (Schedule, str)):
        return {"schedule": part}
    if isinstance(part, (list, tuple)) and len(part) == 2:
        return {"schedule": part[0], "length": part[1]}
    return part
