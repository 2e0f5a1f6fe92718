"""What the values of options and arguments can be: names of components, of runs and of files.

Names are read from the sources of the modules, as everywhere; nothing of torch or polars is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.registry import Registry
from neuro_divergent.interfaces.cli.completion.words import Candidate
from neuro_divergent.interfaces.cli.found_runs import PLACES, TABLES, looks_like_run, runs_here

if TYPE_CHECKING:
    from typer.core import TyperArgument, TyperOption

    from neuro_divergent.interfaces.cli.completion.words import Place

Values = Callable[[str], Iterable[Candidate]]

_EXPORTED = (".onnx", ".pt2")
_NUMBERS = (int, float)


def values_of(place: Place, parameter: TyperOption | TyperArgument, word: str) -> Iterator[Candidate]:
    """Yield what a value can become; files where nothing else is known of it, and nothing for numbers."""
    flags = [name for name in parameter.opts if name.startswith("--")]
    keys = [(*place.path, *flags), tuple(flags), (*place.path, parameter.name), (parameter.metavar or parameter.name,)]
    source = next((_SOURCES[key] for key in keys if key in _SOURCES), None)
    if source is None:
        source = _choices_of(place, parameter)
    if source is None:
        annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
        source = _nothing if annotation in _NUMBERS else partial(_paths, endings=())
    yield from source(word)


def _choices_of(place: Place, parameter: TyperOption | TyperArgument) -> Values | None:
    """Return the names that an option accepts by the type of its field or its own; ``None`` if it has no such type."""
    own = getattr(parameter, "type_descriptor", None)
    if getattr(own, "is_choice", False):
        return _names(lambda: [getattr(choice, "value", str(choice)) for choice in own.choices])  # type: ignore[union-attr]
    options = {item.parameter: item for item in getattr(place.command.callback, "config_options", ())}
    option = options.get(str(parameter.name))
    if option is None or option.parse is not None:
        return None if option is None else _nothing
    from neuro_divergent.reporting.config_document import choices

    config, name = option.locate()
    found = choices(config.model_fields[name].annotation)
    return _names(lambda: found) if found else _nothing


def _nothing(word: str) -> Iterable[Candidate]:
    return ()


def _names(listed: Callable[[], Iterable[str]]) -> Values:
    """Return values that are names, of which several may be given between commas."""

    def complete(word: str) -> Iterator[Candidate]:
        before, comma, last = word.rpartition(",")
        taken = before.split(",")
        for name in listed():
            if name.startswith(last.lower().replace("-", "_")) and not (comma and name in taken):
                yield Candidate(f"{before}{comma}{name}")

    return complete


def _of(*packages: str) -> Values:
    return _names(Registry("", *(f"neuro_divergent.{package}" for package in packages)).names)


def _words(*words: str) -> Values:
    return _names(lambda: words)


def _presets(word: str) -> Iterator[Candidate]:
    from neuro_divergent.training.presets import PRESETS

    return (Candidate(name, summary.rstrip(".")) for name, (summary, _) in PRESETS.items() if name.startswith(word))


def _settings(word: str) -> Iterator[Candidate]:
    """Yield the settings of a run up to the sign of equality; those of the model are known when it is."""
    from neuro_divergent.forecasting.run_config import DataConfig
    from neuro_divergent.forecasting.task import Task
    from neuro_divergent.training.config import TrainingConfig

    sections: dict[str, Any] = {"training": TrainingConfig, "task": Task, "data": DataConfig}
    names = [f"{section}.{name}" for section, config in sections.items() for name in config.model_fields]
    return (Candidate(f"{name}=") for name in (*names, "model.hidden_size") if name.startswith(word))


def _paths(word: str, *, endings: tuple[str, ...]) -> list[Candidate]:
    """Return files and directories that a path can become: those with some endings, or all if there is none."""
    head, tail = os.path.split(word)
    directory = Path(head).expanduser() if head else Path()
    try:
        with os.scandir(directory) as found:
            items = [
                (item.name, item.is_dir())
                for item in found
                if item.name.startswith(tail) and (tail or not item.name.startswith("."))
            ]
    except OSError:
        return []
    prefix = word[: len(word) - len(tail)]
    files = [name for name, is_directory in items if not is_directory]
    known = [name for name in files if name.lower().endswith(endings)] if endings else files
    directories = [f"{name}/" for name, is_directory in items if is_directory]
    return [Candidate(f"{prefix}{name}") for name in (*sorted(known or files), *sorted(directories))]


def _directories(word: str) -> list[Candidate]:
    return [item for item in _paths(word, endings=()) if item.text.endswith("/")]


def _runs(word: str) -> Iterator[Candidate]:
    """Yield the runs of the usual place, the latest first; other directories where a word leads elsewhere."""
    found = [str(path) for path in runs_here() if str(path).startswith(word)]
    yield from map(Candidate, found)
    if not found or "/" in word:
        yield from (item for item in _directories(word) if item.text.rstrip("/") not in found)


def _run_names(word: str) -> Iterator[Candidate]:
    """Yield the names of runs in the usual place, which the commands of ``nd runs`` accept without it."""
    found = [path.name for path in runs_here() if path.parent == PLACES[0] and path.name.startswith(word)]
    return map(Candidate, found) if found else _runs(word)


def _models(word: str) -> Iterator[Candidate]:
    """Yield runs, exported files and directories of models."""
    found = list(_runs(word))
    yield from found
    known = {item.text.rstrip("/") for item in found}
    others = _paths(word, endings=_EXPORTED)
    yield from (item for item in others if item.text.endswith(_EXPORTED) and item.text not in known)


def _studies(word: str) -> Iterator[Candidate]:
    place = PLACES[1]
    names = sorted((str(path) for path in place.iterdir() if path.is_dir()), reverse=True) if place.is_dir() else []
    found = [name for name in names if name.startswith(word)]
    return map(Candidate, found) if found else iter(_directories(word))


def _reports(word: str) -> Iterator[Candidate]:
    yield from _runs(word)
    if (PLACES[1]).is_dir():
        yield from (item for item in _studies(word) if item.text.startswith(f"{PLACES[1]}/"))


def _train_files(word: str) -> Iterator[Candidate]:
    """Yield tables, settings of runs, and runs to resume."""
    found = _paths(word, endings=(*TABLES, ".toml"))
    yield from found
    if word.startswith(f"{PLACES[0]}/") and not any(item.text.endswith("/") for item in found):
        yield from (Candidate(str(path)) for path in runs_here() if str(path).startswith(word))


def _compared(word: str) -> Iterator[Candidate]:
    """Yield architectures to train, and trained models to compare."""
    yield from _MODELS(word)
    yield from (Candidate(str(path)) for path in runs_here() if looks_like_run(path) and str(path).startswith(word))


_MODELS = _of("models")
_SCHEDULES = _of("training.schedules")
_TABLES = partial(_paths, endings=TABLES)
_SETTINGS_FILES = partial(_paths, endings=(".toml",))
_SCORES = _words("mae", "rmse", "smape", "mase", "mse", "mape", "wape", "bias")

# By the path of the command and the option or the argument, by the option alone, or by the placeholder of the argument.
_SOURCES: dict[tuple[str, ...], Values] = {
    ("--model",): _MODELS,
    ("--models",): _MODELS,
    ("--loss",): _of("losses", "losses.distribution"),
    ("--optimizer",): _of("training.optimizers"),
    ("--schedule",): _SCHEDULES,
    ("--preset", "--training"): _presets,
    ("--preset",): _presets,
    ("auto", "start", "--preset"): _words("fast", "balanced", "best"),
    ("--method",): _of("search.methods"),
    ("--pruner",): _names(lambda: [*Registry("", "neuro_divergent.search.pruners").names(), "none"]),
    ("--objective",): _words("mase", "mae", "rmse", "smape", "seconds", "latency", "parameters"),
    ("--metric",): _SCORES,
    ("--metrics",): _SCORES,
    ("--device",): _words("auto", "cpu", "cuda", "mps"),
    ("--set",): _settings,
    ("schedule", "--set"): _nothing,
    ("--state",): _words("running", "stalled", "finished", "interrupted", "failed", "diverged", "killed", "damaged"),
    ("--refit",): _words("every", "once"),
    ("--ray",): _words("auto", "local"),
    ("--storage",): _words("journal", "sqlite"),
    ("--alias",): _words("champion", "challenger"),
    ("--promote",): _words("champion", "challenger"),
    ("export", "--format"): _words("onnx", "onnx-int8", "torch"),
    ("predict", "--format"): _words("parquet", "csv", "delta"),
    ("--output",): partial(_paths, endings=()),
    ("train", "file"): _train_files,
    ("launch", "file"): _SETTINGS_FILES,
    ("compare", "models"): _compared,
    ("pipeline", "run", "file"): _SETTINGS_FILES,
    ("federated", "run", "file"): _SETTINGS_FILES,
    ("models", "name"): _names(
        lambda: [
            *Registry("", "neuro_divergent.models").names(),
            *Registry("", "neuro_divergent.forecasting.statistical.methods").names(),
        ]
    ),
    ("schedule", "name"): _SCHEDULES,
    ("presets", "name"): _presets,
    ("completion", "shell"): _words("bash", "zsh", "fish"),
    ("report", "run"): _reports,
    ("runs", "list", "path"): _runs,
    ("runs", "compare", "names"): _run_names,
    ("runs", "delete", "names"): _run_names,
    ("runs", "export", "names"): _run_names,
    ("search", "start", "file"): partial(_paths, endings=(*TABLES, ".toml")),
    ("auto", "start", "file"): partial(_paths, endings=(*TABLES, ".toml")),
    ("drift", "model"): _runs,
    ("MODEL",): _models,
    ("MODEL...",): _models,
    ("RUN",): _runs,
    ("STUDY",): _studies,
    ("FILE",): _TABLES,
    ("FILES",): _TABLES,
    ("DATA",): _TABLES,
    ("[DATA]",): _TABLES,
    ("NEWDATA",): _TABLES,
    ("PANEL",): _directories,
    ("DIRECTORY",): _directories,
}
