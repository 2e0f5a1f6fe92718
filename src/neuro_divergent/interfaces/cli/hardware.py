"""``nd hardware``: what this machine has, what of it is used, and which precision trains fastest."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated, Any

import typer

from neuro_divergent.interfaces.cli.command_group import CommandGroup
from neuro_divergent.interfaces.cli.options import AsJson

EXAMPLES = """\b
Examples:
  nd hardware
  nd hardware precision
  nd hardware precision --model lstm --batch-size 32
"""
_REASONS = {
    "machine": "the machine has {}",
    "affinity": "this process may use {}",
    "quota": "the container's quota is {}",
    "OMP_NUM_THREADS": "OMP_NUM_THREADS is {}",
}

app = typer.Typer(
    cls=CommandGroup,
    help="Show what this machine has and what of it is used.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback(epilog=EXAMPLES)
def hardware(context: typer.Context, as_json: AsJson = False) -> None:
    """Show processor, cores, memory and the precisions that work; 'nd hardware precision' times them."""
    if context.invoked_subcommand is not None:
        return
    from neuro_divergent.interfaces.cli.screen import Screen

    screen = Screen(as_json=as_json)
    with screen.messages.status("trying short types"):
        found = describe_hardware()
    cores, limits = found["cores"], found["core_limits"]
    reasons = ", ".join(_REASONS[name].format(limits[name]) for name in limits)
    limit = found["instruction_limit"]
    by = {None: "none", "environment": "set in the environment"}.get(limit["set_by"], "set where short types are used")
    screen.facts(
        [
            ("processor", found["processor"]),
            ("cores", f"{cores} usable: {reasons}"),
            ("memory", f"{found['memory_gib']:.1f} GiB"),
            ("torch", found["torch"]),
            *((name, problem or "works") for name, problem in found["precisions"].items()),
            ("instruction limit", f"{limit['value']}, {by}" if limit["value"] else by),
        ]
    )
    screen.result(found)


def describe_hardware() -> dict[str, Any]:
    """Return what this machine has, as plain values; short types are tried if nothing is remembered of them."""
    from importlib.metadata import version

    from neuro_divergent.core.instructions import SHORT_TYPES, VARIABLE, find_instructions
    from neuro_divergent.core.memory import memory_limit
    from neuro_divergent.core.processor import read_processor
    from neuro_divergent.core.threads import core_limits

    limits = {name: count for name, count in core_limits().items() if name in _REASONS}
    given = os.environ.get(VARIABLE)
    found = find_instructions()
    return {
        "processor": read_processor().model,
        "cores": min(limits.values()),
        "core_limits": limits,
        "memory_gib": round(memory_limit(), 2),
        "torch": version("torch"),
        "precisions": {"float32": None, "float64": None, **{name: found.problems.get(name) for name in SHORT_TYPES}},
        "instruction_limit": {
            "value": given or found.limit,
            "set_by": "environment" if given else None if found.limit is None else "neuro-divergent",
        },
    }


@app.command("precision", epilog=EXAMPLES)
def precision(
    model: Annotated[str, typer.Option("--model", "-m", help="Architecture.")] = "nhits",
    horizon: Annotated[int, typer.Option("--horizon", help="Steps to forecast.", min=1)] = 24,
    input_size: Annotated[int, typer.Option("--input-size", help="Steps of history.", min=1)] = 96,
    batch_size: Annotated[int, typer.Option("--batch-size", help="Windows per step.", min=1)] = 128,
    steps: Annotated[int, typer.Option("--steps", help="Steps per round.", min=1)] = 20,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:1 or mps.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Time training steps in float32, float64, bf16 and fp16."""
    from neuro_divergent.core.instructions import limit_instructions
    from neuro_divergent.interfaces.cli.screen import Screen, new_table
    from neuro_divergent.models.base import Architecture

    Architecture.registry.check(model)
    screen = Screen(as_json=as_json)
    with screen.messages.status("measuring"):
        limit_instructions("bf16")  # before torch computes anything
        from neuro_divergent.forecasting.precision_speed import measure_precisions
        from neuro_divergent.training.config import TrainingConfig

        architecture = Architecture.from_dict(model)
        results = measure_precisions(
            architecture,
            horizon=horizon,
            input_size=input_size,
            batch_size=batch_size,
            steps=steps,
            channels=8 if architecture.traits.mixes_channels else 1,
            training=TrainingConfig(device=device),
        )
    numbers = ("ms / step", "time", "loss", "skipped")
    table = new_table("precision", *numbers, right=numbers, fixed=("precision", *numbers))
    usual = next((result.milliseconds for result in results if result.name == "float32"), float("nan"))
    for result in results:
        if result.problem:
            table.add_row(result.name, "does not run", "", "", "")
            continue
        times = f"{result.milliseconds / usual:.2f}x"
        table.add_row(result.name, f"{result.milliseconds:.2f}", times, f"{result.loss:.4f}", str(result.skipped))
    screen.say(f"{model}, {batch_size} windows a step, {input_size} to {horizon} steps", "", table, "")
    fastest = results[0]
    screen.say(f"Fastest here: {fastest.name}. Train with --set training.precision={fastest.name}")
    for result in results:
        if result.problem:
            screen.say(f"{result.name}: {' '.join(result.problem.split())}")
    screen.result({"model": model, "fastest": fastest.name, "results": [asdict(result) for result in results]})
