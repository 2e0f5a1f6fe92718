"""One training run on the command line, from settings to what is shown and written at the end.

The order matters: everything that can be wrong with settings, files and data is found before torch is loaded, because
that takes longer than all the rest of saying what is wrong.
"""

from __future__ import annotations

import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError
from neuro_divergent.forecasting.run import RunConfig
from neuro_divergent.interfaces.cli.run_directory import CONFIG, RunDirectory, model_directory
from neuro_divergent.interfaces.cli.screen import Screen
from neuro_divergent.interfaces.words import count

_ENOUGH = "SIGUSR1"  # ends training early with what has been learned so far; Windows does not have it

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.interfaces.outcome import Outcome


def run(
    values: dict[str, Any],
    *,
    levels: tuple[float, ...],
    output: Path | None,
    quiet: bool,
    as_json: bool,
    find_rate: bool = False,
) -> None:
    """Check a run given as plain values, train it, and show and write what came out."""
    if hasattr(signal, _ENOUGH):
        signal.signal(getattr(signal, _ENOUGH), signal.SIG_IGN)  # before training there is nothing to end yet
    config = check(values, levels)
    if config.teacher is not None:
        model_directory(Path(config.teacher))
    screen = Screen(quiet=quiet, as_json=as_json)
    directory = RunDirectory(output) if output else RunDirectory.named_after(config.data.path, config.model["name"])
    directory.check_free()
    panel = read_panel(config)
    with directory.opened():
        if find_rate:
            config = with_found_rate(config, panel, screen)
        outcome, files = execute(config, panel, directory, screen, levels=levels)
    if outcome.evaluation is not None:
        screen.scores(outcome.evaluation)
    show_files(outcome, directory, files, screen)


def check(values: dict[str, Any], levels: tuple[float, ...]) -> RunConfig:
    """Check all settings but those of the model.

    A quantile loss without quantiles is given those that the intervals need.
    """
    task = values.setdefault("task", {})
    if isinstance(task, dict):
        if "horizon" not in task:
            raise InputError("how many steps to forecast? Pass --horizon, for example --horizon 24.")
        if levels and task.get("loss") in ("quantile", {"name": "quantile"}):
            tails = [(1 - level / 100) / 2 for level in levels]
            task["loss"] = {"name": "quantile", "quantiles": sorted({0.5, *tails, *(1 - tail for tail in tails)})}
    return RunConfig.from_dict(values)


def read_panel(config: RunConfig) -> Panel:
    """Read and check the data: after this, only the model can object."""
    from neuro_divergent.data.frame import check_lengths
    from neuro_divergent.data.parts import load_panel
    from neuro_divergent.data.splits import split_by_time

    panel = load_panel(config.data.path, config.data.schema_fields)
    task = config.task
    history = task.history_for(panel)
    panel = check_lengths(panel, input_size=history, horizon=task.horizon)
    split_by_time(
        panel, input_size=history, horizon=task.horizon, validation=task.validation, test=task.test, step=task.step
    )
    return panel


def execute(
    config: RunConfig, panel: Panel, directory: RunDirectory, screen: Screen, *, levels: tuple[float, ...]
) -> tuple[Outcome, dict[str, str]]:
    """Train and write the run directory, showing what is done."""
    show_data(config, panel, screen)
    with screen.messages.status("loading torch"):
        from neuro_divergent.forecasting.forecaster import Forecaster
        from neuro_divergent.interfaces.cli.progress import progress_for
        from neuro_divergent.interfaces.outcome import train
        from neuro_divergent.interfaces.report.page import render
        from neuro_divergent.training.callbacks.checkpointing import Checkpointing
        from neuro_divergent.training.callbacks.stop_request import StopRequest
    teacher = None if config.teacher is None else Forecaster.load(model_directory(Path(config.teacher)))
    callbacks = [
        *progress_for(screen.messages),
        *([StopRequest(signals=_ENOUGH)] if hasattr(signal, _ENOUGH) else []),
        Checkpointing(directory=directory.checkpoints, at_most_every=60).build(),
    ]
    outcome = train(config, panel, levels=levels, callbacks=callbacks, teacher=teacher)
    command = f"nd train {shlex.quote(str(directory.path / CONFIG))}"
    return outcome, directory.write(outcome, render(outcome, name=directory.path.name, command=command))


def with_found_rate(config: RunConfig, panel: Panel, screen: Screen) -> RunConfig:
    """Look for a learning rate, show where it was found, and return the run with it."""
    with screen.messages.status("looking for a learning rate"):
        from neuro_divergent.interfaces.outcome import forecaster_for

        curve = forecaster_for(config).find_learning_rate(panel)
    screen.facts([("rate", f"{curve.suggestion:.2e}, where the loss fell fastest in {len(curve.rates)} trial steps")])
    optimizer = config.training.optimizer.replace(lr=curve.suggestion)
    return config.replace(training=config.training.replace(optimizer=optimizer))


def show_data(config: RunConfig, panel: Panel, screen: Screen) -> None:
    """Say what was read and what will be done with it."""
    from neuro_divergent.interfaces.plots.chart import show_time

    task = config.task
    end = panel.frequency.time_at(panel.starts, panel.lengths - 1).max()
    span = f"{show_time(panel.starts.min())} to {show_time(end)}, one row every {panel.frequency}"
    history = task.history_for(panel)
    screen.facts(
        [
            ("data", f"{config.data.path}: {count(len(panel), 'row')}, {panel.num_series:,} series, {span}"),
            ("task", f"{count(task.horizon, 'step')} ahead from {count(history, 'step')} of history"),
            ("model", f"{config.model['name']}, loss {task.loss.name}"),
        ]
    )


def show_files(outcome: Outcome, directory: RunDirectory, files: dict[str, str], screen: Screen) -> None:
    """Say what is not there and why, where everything is, and what to do next."""
    for note in outcome.notes:
        screen.say(note)
    place = shlex.quote(str(directory.path))
    following = f"nd predict {place}" + ("" if outcome.forecasts is not None else " --future FILE")
    screen.say("")
    screen.facts(
        [
            ("report", files["report"]),
            ("forecasts", files.get("forecasts", "none yet")),
            ("model", files["model"]),
            ("next", following),
        ]
    )
    evaluation = outcome.evaluation
    screen.result(
        {
            "run": str(directory.path),
            "model": outcome.forecaster.architecture.name,
            "parameters": outcome.forecaster.num_parameters,
            "seconds": outcome.seconds,
            "evaluation": None if evaluation is None else evaluation.to_dict(),
            "notes": outcome.notes,
            "files": files,
        }
    )
