"""``nd benchmark``: models on a public data set, as a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.options import AsJson, Jobs, Kept, Output, split_list

EXAMPLES = """\b
Examples:
  nd benchmark
  nd benchmark m4-hourly --data data/ --models nlinear,nhits,nbeats
  nd benchmark epf --data data/ --models nhits,tft --max-steps 2000 --store epf/ --output leaderboard/
"""


def benchmark(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Data set; left out, they are listed.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Directory with the files of the data sets.")] = None,
    models: Annotated[
        list[str] | None, typer.Option("--models", "-m", metavar="NAMES", help="Architectures (nlinear,dlinear,nhits).")
    ] = None,
    preset: Annotated[str, typer.Option("--preset", help="How to train: auto, quick, best, ...")] = "auto",
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", help="Optimizer steps at most.", min=1, show_default=False)
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same models.", show_default=False)] = None,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", metavar="NAMES", help="Scores; the first decides (mae,smape,mase).")
    ] = None,
    jobs: Jobs = 1,
    store: Kept = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Rank models on a public data set. They are trained, and scored on its held-out part."""
    from neuro_divergent.evaluation.leaderboard.preset import PRESETS, preset_named
    from neuro_divergent.interfaces.cli.comparing import check_place, kept_folds, show_comparison, write_comparison
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    screen = Screen(as_json=as_json)
    if name is None:
        screen.facts([(item.name, item.title) for item in PRESETS.values()])
        screen.result({"benchmarks": [{"name": item.name, "title": item.title} for item in PRESETS.values()]})
        return
    chosen = preset_named(name)
    if data is None:
        raise InputError(f"--data: say where the files of {name} are: {', '.join(chosen.files)}.")
    check_place(output)

    from neuro_divergent.models.base import Architecture

    names = [Architecture.registry.check(model) for model in split_list(models)]

    from neuro_divergent.evaluation.leaderboard.leaderboard import METRICS, MODELS, run_leaderboard

    settings = {key: value for key, value in (("max_steps", max_steps), ("seed", seed)) if value is not None}
    with ends_with(kept_folds(store)), shown_progress(screen.messages):
        board = run_leaderboard(
            chosen, data, names or MODELS, metrics=split_list(metrics) or METRICS, training=preset, settings=settings,
            jobs=jobs, store=store,
        )  # fmt: skip
    screen.say(chosen.title)
    show_comparison(screen, board.comparison, board.table)
    if output is not None:
        write_comparison(output, board.comparison, title=chosen.title, forecasts=board.forecasts, scores=board.table)
        screen.say(f"Written to {output}")
    screen.result({"benchmark": name, **board.comparison.to_dict(), "scores": board.table.to_dicts()})
