"""What is said about a command line that no command understands: one line with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from typer.core import TyperArgument, TyperGroup, TyperOption

from neuro_divergent.core.errors import did_you_mean

if TYPE_CHECKING:
    import typer

_EXAMPLE = re.compile(r"^ *(nd .*?)(?: {2,}.*)?$", re.MULTILINE)
_MOST_COMMANDS = 3
_ALIKE = 0.75
# Words of the library that checks values.
_WORDING = (
    (re.compile(r"Input should be "), "must be "),
    (re.compile(r", unable to (?:parse|interpret).*$"), ""),
    (re.compile(r"a valid "), "a "),
    (re.compile(r"a integer"), "an integer"),
    (re.compile(r"Value error, "), ""),
)


def explain(error: typer.TyperException, root: Any, words: Sequence[str]) -> str:
    """Return the message of an error of parsing, with the command or option to write next.

    Args:
        error: The error.
        root: The group of all commands.
        words: The command line behind ``nd``.
    """
    message = error.format_message()
    for pattern, text in _WORDING:
        message = pattern.sub(text, message)
    context: Any = getattr(error, "ctx", None)
    command, path = _command_at(root, words) if context is None else (context.command, context.command_path)
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        return f"{path} has no option {option}.{_about_option(root, command, path, option)}"
    text = f"{path}: {message.rstrip('.')}."
    parameter = getattr(error, "param", None)
    if isinstance(parameter, TyperArgument):
        return f"{text}{_about_argument(command, path, parameter)}"
    if "extra argument" in message:
        takes_files = any((item.metavar or "").startswith("FILE") for item in command.params)
        pattern_hint = " Put a pattern of files into quotes, such as 'data/*.csv'." if takes_files else ""
        return f"{text}{pattern_hint}{_example(command, path)} {_help(path)}"
    return f"{text}{_example(command, path)} {_help(path)}"


def _command_at(root: Any, words: Sequence[str]) -> tuple[Any, str]:
    """Return the command that words lead to, and its path."""
    from neuro_divergent.interfaces.cli.completion.words import Place

    place = Place(root)
    for word in words:
        following = place.after(word)
        if following is None:
            break
        place = following
    return place.command, " ".join(("nd", *place.path))


def _example(command: Any, path: str) -> str:
    example = example_of(command, path)
    return f" Such as: {example}." if example else ""


def example_of(command: Any, path: str) -> str | None:
    """Return the first example of a command's help that calls it by its path, such as ``nd panel build``."""
    found = _EXAMPLE.findall(command.epilog or "")
    return next((text for text in found if text.startswith(f"{path} ") or text == path), None)


def _about_option(root: Any, command: Any, path: str, option: str) -> str:
    """Return what to write instead of an option that a command does not have."""
    own = _options_of(command)
    if close := did_you_mean(option, own, cutoff=_ALIKE):
        return f"{close} {_help(path, 'lists all')}"
    owners = [name for name, other in _commands_of(root) if option in _options_of(other)]
    if owners:
        shown = ", ".join(f"'{name}'" for name in owners[:_MOST_COMMANDS])
        return f" It is an option of {shown}. {_help(path, 'lists its own')}"
    if "--set" in own and option.startswith("--"):
        return f" Settings without an option are set with --set, such as {_setting(option)}. {_help(path, 'lists all')}"
    return f"{did_you_mean(option, own)} {_help(path, 'lists all')}"


def _setting(option: str) -> str:
    """Return how a setting is written that may be called as an option was, which only training has."""
    from neuro_divergent.forecasting.run_config import DataConfig
    from neuro_divergent.forecasting.task import Task
    from neuro_divergent.training.config import TrainingConfig

    name = option.lstrip("-").replace("-", "_")
    sections: dict[str, Any] = {"training": TrainingConfig, "task": Task, "data": DataConfig}
    section = next((key for key, config in sections.items() if name in config.model_fields), "model")
    return f"--set {section}.{name}=VALUE"


def _about_argument(command: Any, path: str, parameter: TyperArgument) -> str:
    """Return what an argument is that is missing or cannot be read, with an example."""
    if parameter.metavar and parameter.metavar.rstrip(".") in ("MODEL", "RUN"):
        from neuro_divergent.interfaces.cli.found_runs import latest_model, latest_run

        run = latest_run() if parameter.metavar.startswith("RUN") else latest_model()
        if run is None:
            return " No run is here yet: 'nd train FILE --horizon 24' makes one."
        return f" The latest run is {run}: {path} {run}"
    meaning = f" {parameter.help.rstrip('.')}." if parameter.help else ""
    return f"{meaning}{_example(command, path)} {_help(path)}"


def _help(path: str, what: str = "explains it") -> str:
    return f"'{path} --help' {what}."


def _options_of(command: Any) -> list[str]:
    """Return the long options of a command."""
    found = [item for item in command.params if isinstance(item, TyperOption) and not item.hidden]
    return [name for item in found for name in (*item.opts, *item.secondary_opts) if name.startswith("--")]


def _commands_of(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield all commands with their paths, those of the first level first."""
    pending = [("nd", root)]
    while pending:
        path, command = pending.pop(0)
        if isinstance(command, TyperGroup):
            pending += [(f"{path} {name}", item) for name, item in command.commands.items()]
        yield path, command
