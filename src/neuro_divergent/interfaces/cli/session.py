"""One training run on the command line, from settings to what is shown and written at the end.

The order matters: everything that can be wrong with settings, files and data is found before torch is loaded, because
that takes longer than all the rest of saying what is wrong.
"""

from __future__ import annotations

import shlex
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.config import Config
from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import (
    ConfigError,
    ForecastWarning,
    InputError,
    Interrupted,
    NeuroDivergentError,
    did_you_mean,
)
from neuro_divergent.core.formatting import format_count
from neuro_divergent.core.instructions import limit_instructions
from neuro_divergent.core.launched import launched
from neuro_divergent.core.own_components import import_options
from neuro_divergent.data.panel_store.stored import is_stored_panel
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig
from neuro_divergent.forecasting.training_run import TrainingRun
from neuro_divergent.interfaces.cli.progress import shown_progress
from neuro_divergent.interfaces.cli.run_directory import find_unfinished, model_directory, named_after
from neuro_divergent.interfaces.cli.screen import Screen
from neuro_divergent.interfaces.cli.silence import silenced
from neuro_divergent.interfaces.cli.summary import show_outcome
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.strategy import find_strategy, is_main_process

_ON_CPU = ("auto", "cpu")  # devices that may be the CPU
_TRIAL_STEPS, _TRIAL_SECONDS = 25, 10.0  # with which one process is compared with several
_HORIZON = 24  # of an example
_SMALL = 1 << 26  # bytes of a table that is read to find a horizon for the example
_ENOUGH = "SIGUSR1"  # ends training early with what has been learned so far; Windows does not have it

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.prepared_data import PreparedData
    from neuro_divergent.forecasting.warm_start import Initial
    from neuro_divergent.training.step_time import StepTime
    from neuro_divergent.workflow.outcome import Outcome


@dataclass(frozen=True)
class TrainOptions:
    """Options of ``nd train`` that are not settings of the run; levels are in percent.

    Attributes:
        output: Run directory, or ``None`` for the usual place.
        allow_changes: Whether settings and data of a run to resume may have changed.
    """

    levels: tuple[float, ...]
    output: Path | None = None
    quiet: bool = False
    as_json: bool = False
    find_rate: bool = False
    find_batch_size: bool = False
    resume: bool = False
    allow_changes: bool = False


def run(values: dict[str, Any], options: TrainOptions) -> None:
    """Check a run given as plain values, train it, and show and write what came out."""
    if hasattr(signal, _ENOUGH):
        signal.signal(getattr(signal, _ENOUGH), signal.SIG_IGN)  # before training there is nothing to end yet
    config = check(values, options.levels)
    if config.teacher is not None:
        model_directory(Path(config.teacher))
    if not is_main_process(config.training.strategy):
        follow(config)
        return
    screen = Screen(quiet=options.quiet, as_json=options.as_json)
    directory = locate(config, options)
    if options.resume and directory.has_begun:
        training_run = TrainingRun.resumed(directory, config, allow_changes=options.allow_changes)
        if training_run.is_complete:
            lead(training_run)
            screen.say(f"{directory.path}: finished already. For more steps pass --max-steps with a larger number.")
            screen.result({"run": str(directory.path), "state": "finished"})
            return
    else:
        training_run = TrainingRun.new(directory, config)
    initial = training_run.initial()
    panel = read_panel(config) if initial is None else read_warm_start(config, initial)
    training_run.check_data(panel)
    if config.training.device in _ON_CPU:
        limit_instructions(config.training.precision)  # before torch computes anything
    with print_resume_hint(directory), training_run.opened():
        if not training_run.resuming:
            training_run = replace(training_run, config=prepare(config, panel, screen, options))
        outcome = execute(training_run, panel, screen, options, initial)
    show_outcome(outcome, screen)
    show_files(outcome, directory, screen)


def follow(config: RunConfig) -> None:
    """Train together with process 0, which shows and writes everything and says what is trained."""
    if config.training.device in _ON_CPU:
        limit_instructions(config.training.precision)
    from neuro_divergent.forecasting.forecaster import Forecaster

    training = config.training
    told: dict[str, Any] = find_strategy(training.strategy, resolve_device(training.device)).broadcast({})
    directory, config = RunDirectory(Path(told["directory"])), RunConfig.from_dict(told["config"])
    run = TrainingRun(directory, config, resuming=told["resuming"], allow_changes=told["allow_changes"])
    if told["is_complete"]:
        return
    initial = run.initial()
    panel = read_panel(config) if initial is None else read_warm_start(config, initial)
    forecaster = Forecaster.for_run(config)
    teacher = None if config.teacher is None else Forecaster.load(model_directory(Path(config.teacher)))
    try:
        run.train(forecaster, forecaster._prepare(panel, {}, initial), teacher=teacher)
    except Interrupted as interruption:
        raise SystemExit(interruption.exit_code) from None


def lead(run: TrainingRun) -> None:
    """Tell the processes that ``follow`` what is trained, if there are some."""
    if launched() is None:
        return
    training = run.config.training
    find_strategy(training.strategy, resolve_device(training.device)).broadcast(
        {
            "directory": str(run.directory.path),
            "config": run.config.to_dict(),
            "resuming": run.resuming,
            "allow_changes": run.allow_changes,
            "is_complete": run.is_complete,
        }
    )


@contextmanager
def print_resume_hint(directory: RunDirectory) -> Iterator[None]:
    """Print how to resume, if training is interrupted."""
    try:
        yield
    except Interrupted as interruption:
        command = f"nd train {shlex.quote(str(directory.path))} --resume{import_options()}"
        say = f"{interruption} and saved. Resume with: {command}"
        sys.stderr.write(f"{say}\n")
        raise SystemExit(interruption.exit_code) from None


def locate(config: RunConfig, options: TrainOptions) -> RunDirectory:
    """Return the directory of a run: the one given, the one to resume, or a new one."""
    if options.output is not None:
        return RunDirectory(options.output)
    table = str(config.data.path)
    return (find_unfinished if options.resume else named_after)(table, config.model["name"])


def check(values: dict[str, Any], levels: tuple[float, ...]) -> RunConfig:
    """Check all settings but those of the model.

    A quantile loss without quantiles is given those that the intervals need.
    """
    for name in values:
        if name not in RunConfig.model_fields:
            raise ConfigError(f"unknown section {name!r}.{did_you_mean(name, RunConfig.model_fields)}")
    _refuse_misplaced(values.get("training"))
    task = values.setdefault("task", {})
    if isinstance(task, dict):
        if "horizon" not in task:
            raise InputError(f"how many steps to forecast? {suggest_horizon(values.get('data'))}")
        if levels and task.get("loss") in ("quantile", {"name": "quantile"}):
            tails = [(1 - level / 100) / 2 for level in levels]
            task["loss"] = {"name": "quantile", "quantiles": sorted({0.5, *tails, *(1 - tail for tail in tails)})}
    config = RunConfig.from_dict(values)
    if config.data.path is None:
        raise InputError("which table to train on? Name a file, or set data.path.")
    return config


def _refuse_misplaced(training: Any) -> None:
    """Refuse a setting of training that one of its parts has, such as ``lr``, with the name that it has there."""
    for key in training if isinstance(training, dict) else ():
        if key in TrainingConfig.model_fields:
            continue
        for name, field in TrainingConfig.model_fields.items():
            if isinstance(field.default, Config) and key in type(field.default).model_fields:
                place = f"training.{name}.{key}"
                raise ConfigError(f"training.{key}: unknown setting. Did you mean {place}, as in --set {place}=VALUE?")


def suggest_horizon(data: Any) -> str:
    """Return the option for the horizon that suits the frequency of a table: a day of hours, a week of days.

    Raises:
        DataError: If there is no such table.
    """
    path = data.get("path") if isinstance(data, dict) else None
    if isinstance(path, str) and not is_stored_panel(path):
        from neuro_divergent.data.io.source import check_source

        check_source(path)
    with suppress(NeuroDivergentError, OSError), silenced(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(path, str) and Path(path).is_file() and Path(path).stat().st_size <= _SMALL:
            from neuro_divergent.data.load import load_panel

            frequency = load_panel(path, DataConfig.from_dict(data).schema_fields).frequency
            horizon = frequency.season_length if frequency.season_length > 1 else _HORIZON
            return f"The rows of {path} are {frequency} apart, so for instance --horizon {horizon}."
    return f"Pass --horizon, for example --horizon {_HORIZON}."


def read_panel(config: RunConfig) -> Panel:
    """Read and check the data; what is left to check needs the architecture."""
    from neuro_divergent.data.lengths import check_lengths
    from neuro_divergent.data.load import load_panel

    with silenced():
        panel = load_panel(config.data.path, config.data.schema_fields)
    # Whether windows span all series is known to the architecture, which is not asked yet.
    task = config.task.replace(input_size=config.task.history_for(panel), joint=False)
    panel = check_lengths(panel, input_size=task.history, horizon=task.horizon)
    task.split(panel)
    return panel


def read_warm_start(config: RunConfig, initial: Initial) -> Panel:
    """Read and check the data of a run that started from a model, which names their categories."""
    from neuro_divergent.forecasting.forecaster import Forecaster

    return Forecaster.for_run(config)._prepare(config.data.path, dict(config.data.schema_fields), initial).panel


def prepare(config: RunConfig, panel: Panel, screen: Screen, options: TrainOptions) -> RunConfig:
    """Find the settings that are left to the architecture or to be found by trying, before the run begins."""
    config = config.resolve_training()
    if options.find_batch_size:
        config = with_found_batch_size(config, panel, screen)
    return with_found_rate(config, panel, screen) if options.find_rate else config


def execute(
    run: TrainingRun, panel: Panel, screen: Screen, options: TrainOptions, initial: Initial | None = None
) -> Outcome:
    """Train and write the run directory, showing progress; the caller holds its lock."""
    config = run.config
    show_data(config, panel, screen)
    with screen.messages.status("loading torch"):
        from neuro_divergent.forecasting.forecaster import Forecaster
        from neuro_divergent.interfaces.cli.training_progress import progress_for
        from neuro_divergent.training.callbacks.stop_request import StopRequest
        from neuro_divergent.training.precision import Precision
        from neuro_divergent.workflow.train_run import train_opened
    forecaster = Forecaster.for_run(config)  # which checks the settings of the model before anything is written
    if config.training.device in _ON_CPU:
        Precision(config.training.precision, resolve_device(config.training.device))  # refuses what is unusable
    teacher = None if config.teacher is None else Forecaster.load(model_directory(Path(config.teacher)))
    state = run.load_state()
    if state is not None:
        screen.facts([("resume", f"{run.directory.path} at step {state['state']['step']:,}")])
    prepared = forecaster._prepare(panel, {}, initial)
    is_first = launched() is not None and not run.resuming  # what is resumed, or restarted, was compared before
    comparison = compare_with_one(forecaster, prepared, screen) if is_first else []
    lead(run)
    with warnings.catch_warnings(), shown_progress(screen.messages):
        warnings.simplefilter("ignore", ForecastWarning)  # which is the last line that is shown
        return train_opened(
            run,
            forecaster,
            prepared,
            levels=options.levels,
            callbacks=[
                *progress_for(screen.messages),
                *comparison,
                *([StopRequest(signals=_ENOUGH)] if hasattr(signal, _ENOUGH) else []),
            ],
            teacher=teacher,
            state=state,
        )


def compare_with_one(forecaster: Forecaster, prepared: PreparedData, screen: Screen) -> list[StepTime]:
    """Time some steps in this process alone, and return what says so if training in several is slower."""
    from neuro_divergent.forecasting.network_training import NetworkTraining
    from neuro_divergent.training.step_time import StepTime

    alone = StepTime()
    trial = forecaster.training.for_trial(_TRIAL_STEPS, max_seconds=_TRIAL_SECONDS)
    training = NetworkTraining(forecaster.architecture, trial, prepared, [alone])
    training.trainer.fit(training.train)
    seconds = alone.seconds
    if seconds is None:
        return []

    def compare(together: float) -> None:
        if together > seconds:
            screen.warn(
                f"one process would be faster: {1000 * seconds:.2g} ms a step alone, {1000 * together:.2g} ms in "
                "several. Steps this short are not worth sharing; a larger batch or network is.",
                is_severe=False,
            )

    return [StepTime(compare)]


def with_found_batch_size(config: RunConfig, panel: Panel, screen: Screen) -> RunConfig:
    """Look for the largest batch size that fits, show it, and return the run with it."""
    with screen.messages.status("looking for the largest batch size"):
        from neuro_divergent.forecasting.forecaster import Forecaster

        size = Forecaster.for_run(config).auto_batch_size(panel)
    screen.facts([("batch", f"{size:,} windows, the most that fit into memory or that there are")])
    return config.replace(training=config.training.replace(batch_size=size))


def with_found_rate(config: RunConfig, panel: Panel, screen: Screen) -> RunConfig:
    """Look for a learning rate, show where it was found, and return the run with it."""
    with screen.messages.status("looking for a learning rate"):
        from neuro_divergent.forecasting.forecaster import Forecaster

        curve = Forecaster.for_run(config).find_learning_rate(panel)
    screen.facts([("rate", f"{curve.suggestion:.2e}, where the loss fell fastest in {len(curve.rates)} trial steps")])
    optimizer = config.training.optimizer.replace(lr=curve.suggestion)
    return config.replace(training=config.training.replace(optimizer=optimizer))


def show_data(config: RunConfig, panel: Panel, screen: Screen) -> None:
    """Say what was read and what will be done with it."""
    from neuro_divergent.core.formatting import format_time
    from neuro_divergent.forecasting.history import choose_history

    task = config.task
    history, panel = choose_history(task, panel), panel.trimmed()
    end = panel.frequency.time_at(panel.starts, panel.lengths - 1).max()
    span = f"{format_time(panel.starts.min())} to {format_time(end)}, one row every {panel.frequency}"
    steps = format_count(history.input_size, "step")
    screen.facts(
        [
            ("data", f"{config.data.path}: {format_count(len(panel), 'row')}, {panel.num_series:,} series, {span}"),
            ("task", f"{format_count(task.horizon, 'step')} ahead from {steps} of history ({history.reason})"),
            ("model", f"{config.model['name']}, loss {task.loss.name}"),
        ]
    )


def show_files(outcome: Outcome, directory: RunDirectory, screen: Screen) -> None:
    """Say what is not there and why, where everything is, and what to do next."""
    for note in (*outcome.facts, *outcome.notes):
        screen.say(note)
    place, files = shlex.quote(str(directory.path)), outcome.files
    following = f"nd predict {place}" + ("" if "forecasts" in files else " --future FILE") + import_options()
    forecasts = files.get("forecasts", "none yet")
    screen.say("")
    screen.facts(
        [("report", files["report"]), ("forecasts", forecasts), ("model", files["model"]), ("next", following)]
    )
    if outcome.advice is not None:
        screen.warn(outcome.advice.text, is_severe=outcome.advice.is_warning)
    evaluation = outcome.evaluation
    screen.result(
        {
            "run": str(directory.path),
            "model": outcome.forecaster.architecture.name,
            "parameters": outcome.forecaster.num_parameters,
            "seconds": outcome.seconds,
            "evaluation": None if evaluation is None else evaluation.to_dict(),
            "notes": [*outcome.facts, *outcome.notes],
            "advice": None if outcome.advice is None else outcome.advice._asdict(),
            "files": files,
        }
    )
