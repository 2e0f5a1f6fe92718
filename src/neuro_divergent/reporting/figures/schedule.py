"""Figures of learning-rate schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.figure import Axis, Figure, Line
from neuro_divergent.reporting.sampling import min_max

if TYPE_CHECKING:
    from neuro_divergent.training.schedules.base import Plan, Schedule

_MOST_STEPS = 1_000_000
_BUCKETS = 500


def schedule_figure(
    schedule: Schedule | str | Sequence[Schedule | str],
    total_steps: int = 1_000,
    *,
    steps_per_epoch: int = 50,
    lr: float = 1e-3,
) -> Figure:
    """Show the learning rate under a schedule, or under several.

    A schedule that reacts to validation is shown as it is when the loss, measured as often as usual, never improves.
    """
    from neuro_divergent.training.config import TrainingConfig
    from neuro_divergent.training.schedules.base import Plan, Schedule

    if not 1 <= total_steps <= _MOST_STEPS or steps_per_epoch < 1:
        raise InputError(f"total_steps: must be between 1 and {_MOST_STEPS:,}, and steps_per_epoch at least 1.")
    if not 0 < lr < float("inf"):
        raise InputError(f"lr: {lr!r} is not a learning rate; write a positive number such as 1e-3.")
    given = [schedule] if isinstance(schedule, (str, Schedule)) else list(schedule)
    chosen = [Schedule.from_dict(item) if isinstance(item, str) else item for item in given]
    if not chosen:
        raise InputError("schedule: there is none to show.")
    plan = Plan(total_steps, steps_per_epoch)
    every = TrainingConfig().validation_interval(steps_per_epoch)
    steps, several = np.arange(float(total_steps)), len(chosen) > 1
    marks, ranges, reacts = [], [], []
    for item in chosen:
        rates = rates_of(item, plan, lr, every)
        label = item.name if several else ""
        marks.append(Line(*min_max(steps, rates, _BUCKETS), label=label, tone="other" if several else "train"))
        first, last, top = map(format_number, (rates[0], rates[-1], rates.max()))
        ranges.append(f"{item.name} goes from {first} to {last}, at most {top}")
        if not np.array_equal(rates, rates_of(item, plan, lr)):
            reacts.append(item.name)
    note = f"reacts to validation: this is what it does when a loss, measured every {every:,} steps, never improves."
    return Figure(
        title="Learning rates of schedules" if several else f"Learning rate, {chosen[0].name}",
        marks=tuple(marks),
        x=Axis("steps of training"),
        y=Axis("learning rate", from_zero=True),
        note=f"{', '.join(reacts)} {note}" if reacts else "",
        alt_text=f"{'; '.join(ranges)}.",
    )


def rates_of(schedule: Schedule, plan: Plan, lr: float, validate_every: int | None = None) -> Array:
    """Return the learning rate at each step, if the validation loss never improves."""
    state = schedule.begin(plan)
    rates = np.empty(plan.total_steps)
    for step in range(plan.total_steps):
        rates[step] = state.rate(lr)
        state.step()
        if validate_every and (step + 1) % validate_every == 0:
            state.validated(1.0)
    return rates
