"""``nd bench``: what this machine does fastest."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson

app = typer.Typer(no_args_is_help=True, help="Measure what this machine does fastest.", rich_markup_mode=None)

EXAMPLES = """\b
Examples:
  nd bench precision
  nd bench precision --model lstm --batch-size 32
"""


@app.callback()
def _bench() -> None:
    """Measure what this machine does fastest."""


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
    from rich.table import Table

    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.models.base import Architecture

    Architecture.registry.check(model)
    screen = Screen(as_json=as_json)
    with screen.messages.status("measuring"):
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
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("precision", no_wrap=True)
    for title in ("ms / step", "time", "loss", "skipped"):
        table.add_column(title, justify="right", no_wrap=True)
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
