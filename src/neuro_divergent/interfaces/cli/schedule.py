"""``nd schedule``: lists the learning-rate schedules, or shows one over training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.training.schedules.base import Plan, Schedule

EXAMPLES = """\b
Examples:
  nd schedule
  nd schedule one_cycle --plot
  nd schedule step --plot --set every=5 --set gamma=0.5 --steps 1000 --steps-per-epoch 50
  nd schedule chain --plot --set 'parts=[[{name="linear", initial=0.01, final=1}, 0.1], ["polynomial", 0.9]]'
  nd schedule warmup_cosine --lr 3e-4 --output rate.svg
"""
_MOST_STEPS = 1_000_000


def schedule(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Schedule to show; none lists all.")] = None,
    plot: Annotated[bool, typer.Option("--plot", "-p", help="Draw it.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Setting of the schedule; may be repeated.")
    ] = None,
    steps: Annotated[int, typer.Option("--steps", help="Steps of training.", min=1, max=_MOST_STEPS)] = 1000,
    steps_per_epoch: Annotated[int, typer.Option("--steps-per-epoch", help="Steps of an epoch.", min=1)] = 50,
    lr: Annotated[float, typer.Option("--lr", help="Learning rate of the optimizer.")] = 1e-3,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.svg", help="Write the chart to a file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List learning-rate schedules, or show and draw one."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.screen import Screen

    if not 0 < lr < float("inf"):
        raise InputError(f"--lr: {lr} is not a learning rate; write a positive number such as 1e-3.")
    if output is not None and output.suffix.lower() != ".svg":
        raise InputError(f"--output: {str(output)!r} is not the name of an SVG file; write one such as rate.svg.")
    screen = Screen(as_json=as_json)
    if name is None:
        if plot or settings or output is not None:
            raise InputError("name a schedule to show: nd schedule NAME --plot. 'nd schedule' lists all.")
        _list(screen)
        return

    from neuro_divergent.reporting.export import write_figure
    from neuro_divergent.reporting.figures.schedule import rates_of, schedule_figure
    from neuro_divergent.training.config import TrainingConfig
    from neuro_divergent.training.schedules.base import Plan

    chosen = _read(name, settings or [])
    plan = Plan(steps, steps_per_epoch)
    every = TrainingConfig().validation_interval(steps_per_epoch)
    rates = rates_of(chosen, plan, lr, every).tolist()
    notes = _notes(chosen)
    if rates != rates_of(chosen, plan, lr).tolist():
        notes.append(
            f"It reacts to validation: this is what it does when a loss, measured every {every} steps, never improves."
        )
    _show(screen, chosen, plan, lr, rates)
    if plot:
        _draw(screen, chosen, rates)
    if notes:
        screen.say("", *notes)
    if output is not None:
        write_figure(schedule_figure(chosen, steps, steps_per_epoch=steps_per_epoch, lr=lr), output)
        screen.say("", f"Chart: {output}")
    asked = {"schedule": chosen.to_dict(), "steps": steps, "steps_per_epoch": steps_per_epoch, "lr": lr}
    screen.result({**asked, "rates": rates, "notes": notes})


def _list(screen: Screen) -> None:
    from neuro_divergent.interfaces.cli.screen import new_table
    from neuro_divergent.training.schedules.base import Schedule

    names = Schedule.registry.names()
    rows = [{"name": name, "summary": _summary(Schedule.registry.get(name))} for name in names]
    table = new_table("schedule", "what the learning rate does", fixed=["schedule"], overflow="fold")
    for row in rows:
        table.add_row(row["name"], row["summary"])
    screen.say(table, "", "See one with 'nd schedule NAME --plot', train with 'nd train FILE --schedule NAME'.")
    screen.result({"schedules": rows})


def _summary(cls: type[Schedule]) -> str:
    return (cls.__doc__ or "").strip().split("\n")[0].replace("``", "")


def _read(name: str, settings: list[str]) -> Schedule:
    """Return a schedule with some settings."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.forecasting.run_config import parse_setting
    from neuro_divergent.training.schedules.base import Schedule
    from neuro_divergent.training.schedules.function import FunctionSchedule

    wrong = [text for text in settings if "=" not in text]
    if wrong:
        raise InputError(f"--set: {wrong[0]!r} is not a setting; write key=value, such as warmup=0.2.")
    values = dict(parse_setting(text) for text in settings)
    chosen = Schedule.from_dict({**values, "name": name})
    if isinstance(chosen, FunctionSchedule):
        raise InputError(
            "schedule 'function' is any Python function, which only Python can give: "
            "nd.schedules.FunctionSchedule(lambda step: 0.99**step). There is nothing to show of it here."
        )
    return chosen


def _notes(schedule: Schedule) -> list[str]:
    from neuro_divergent.training.schedules.auto import FAMILIES, AutoSchedule

    if not isinstance(schedule, AutoSchedule):
        return []
    families = [f"  {family:14} {_spelled_out(schedule.for_family(family))}" for family in FAMILIES]
    return ["It depends on the architecture; this is the one for a family that is not listed:", *families]


def _spelled_out(schedule: Schedule) -> str:
    """Return a schedule with all of its settings, those at their defaults too."""
    settings = ", ".join(f"{name}={getattr(schedule, name)!r}" for name in type(schedule).model_fields)
    return f"{type(schedule).__name__}({settings})"


def _show(screen: Screen, schedule: Schedule, plan: Plan, lr: float, rates: list[float]) -> None:
    """Show the settings and the rates at each tenth of training and at its end."""
    from neuro_divergent.interfaces.cli.screen import new_table

    screen.say(f"{schedule.name}: {_summary(type(schedule))}", _spelled_out(schedule), "")
    titles = ("step", "epoch", "factor", "learning rate")
    table = new_table(*titles, right=titles, fixed=titles)
    for step in dict.fromkeys([*(tenth * plan.total_steps // 10 for tenth in range(10)), plan.total_steps - 1]):
        table.add_row(f"{step:,}", f"{step // plan.steps_per_epoch:,}", f"{rates[step] / lr:.4g}", f"{rates[step]:.4g}")
    screen.say(table)


def _draw(screen: Screen, schedule: Schedule, rates: list[float]) -> None:
    import numpy as np

    from neuro_divergent.reporting.terminal import character_set_for, draw_line

    console = screen.output
    title, ends = f"learning rate, {schedule.name}", ("step 0", f"{len(rates) - 1:,}")
    width, characters = min(console.width, 100), character_set_for(console.encoding)
    screen.say("", draw_line(title, np.array(rates), ends, width=width, height=14, characters=characters))
