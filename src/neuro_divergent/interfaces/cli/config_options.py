"""Options of commands that stand for fields of the config classes.

A command names the fields; everything else about an option comes from the field: its type and default, what it accepts
and what its docstring says. Values are checked by the config class itself, so an option and the same setting of a TOML
file are refused with the same message. The config classes are loaded when the help of a command is shown or when it
runs, not before: ``nd --help`` needs none of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer
from typer.core import TyperCommand

from neuro_divergent.interfaces.cli.options import parse_horizon, split_list

if TYPE_CHECKING:
    from neuro_divergent.core.config import Config

_PANELS = {"data": "Data", "task": "Task", "model": "Model", "teacher": "Model", "training": "Training"}


@dataclass(frozen=True)
class ConfigOption:
    """An option that sets a field of a run's config.

    Attributes:
        key: Dotted name of the field, such as ``training.optimizer.lr``; its last part names the flag.
        short: Short form of the flag, such as ``-m``.
        is_switch: Whether the flag takes no value and sets a field to true.
        is_negated: Whether such a flag begins with ``no-`` and sets it to false.
        see: Command that lists what the field accepts.
        examples: The most used of the names that the field accepts, where they are too many to be listed.
        is_repeated: Whether the flag may be given several times, each time with one value that is taken as it is.
        parse: Reads the text, for fields that need more than their type tells.
    """

    key: str
    short: str | None = None
    is_switch: bool = False
    is_negated: bool = False
    see: str = ""
    examples: tuple[str, ...] = ()
    is_repeated: bool = False
    parse: Callable[[str], Any] | None = None

    @property
    def parameter(self) -> str:
        """Name of the argument of the command."""
        return self.key.replace(".", "_")

    def declare(self) -> inspect.Parameter:
        """Return the argument of the command, with what can be known of it without loading the config classes."""
        name = self.key.rpartition(".")[2].replace("_", "-")
        flags = [f"--{'no-' * self.is_negated}{name}", *([self.short] if self.short else [])]
        panel = _PANELS[self.key.partition(".")[0]]
        option = typer.Option(
            *flags, rich_help_panel=panel, show_default=False, metavar=None if self.is_switch else "x"
        )
        annotation = Annotated[bool if self.is_switch else list[str] | None, option]  # type: ignore[valid-type]
        default = False if self.is_switch else None
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.parameter, kind, default=default, annotation=annotation)

    def read(self, given: bool | list[str] | None) -> Any:
        """Return the value for the config class, or None where the option was not given."""
        if self.is_switch or not given:
            return not self.is_negated if given else None
        assert isinstance(given, list)
        if self.parse is not None:
            return self.parse(given[-1])
        if self.is_repeated:
            return given if len(given) > 1 else given[0]
        owner, name = self.locate()
        kinds = set(_kinds(owner.model_fields[name].annotation))
        if tuple in kinds:
            return split_list(given) or None
        return given[-1] if str in kinds or not kinds & {int, float} else _number(given[-1])

    def locate(self) -> tuple[type[Config], str]:
        """Return the config class that has the field, and the field's name in it."""
        from neuro_divergent.core.config import Config
        from neuro_divergent.forecasting.run_config import RunConfig

        owner: Any = RunConfig
        *path, name = self.key.split(".")
        for part in path:
            field = owner.model_fields[part]
            owner = type(field.default) if isinstance(field.default, Config) else field.annotation
        return owner, name

    def describe(self) -> tuple[str | None, str]:
        """Return the placeholder of the value and the help, from the type, docstring and default of the field."""
        from neuro_divergent.reporting.config_document import choices, describe_fields

        owner, name = self.locate()
        field = owner.model_fields[name]
        text = _first_clause(describe_fields(owner)[name])
        names = choices(field.annotation)
        if self.is_negated:
            text = text.replace("Whether", "Turned off:", 1)
        if self.see:
            text = f"{text} See '{self.see}'."
        elif self.examples:
            text = f"{text} One of {len(names)}: {', '.join(self.examples)}, ..."
        elif len(names) > 1 and not all(re.search(rf"\b{re.escape(item)}\b", text) for item in names):
            text = f"{text} One of: {', '.join(names)}."
        default = field.get_default()
        default = default["name"] if isinstance(default, dict) else getattr(default, "name", default)
        if isinstance(default, (str, int, float)) and not isinstance(default, bool):
            text = f"{text}  [default: {default}]"
        kinds = set(_kinds(field.annotation)) - ({tuple} if self.is_repeated else set())
        return (None if self.is_switch else _placeholder(kinds)), text


class ConfigCommand(TyperCommand):
    """A command whose help has its options in panels, those of config fields with what their docstrings say."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels."""
        options = {item.parameter: item for item in getattr(self.callback, "config_options", ())}
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{title: [] for title in _PANELS.values()}}
        last = "Run" if options else "Options"
        for param in self.get_params(ctx):
            if option := options.get(str(param.name)):
                param.metavar, param.help = option.describe()  # type: ignore[attr-defined]
            if (record := param.get_help_record(ctx)) is not None:
                is_argument = param.param_type_name == "argument"
                panel = "Arguments" if is_argument else getattr(param, "rich_help_panel", None) or last
                panels.setdefault(panel, []).append(record)
        for title, records in panels.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def with_config_options(options: Sequence[ConfigOption]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add an option for each of some config fields to a command.

    The command gets those that were given as its argument ``fields``, values by dotted name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call(**arguments: Any) -> None:
            read = {option.key: option.read(arguments.pop(option.parameter)) for option in options}
            command(**arguments, fields={key: value for key, value in read.items() if value is not None})

        signature = inspect.signature(command, eval_str=True)
        declared = [option.declare() for option in options]
        own = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in signature.parameters.values()]
        files = [item for item in own if item.default is inspect.Parameter.empty and item.name != "fields"]
        others = [item for item in own if item.default is not inspect.Parameter.empty]
        parameters = [*files, *declared, *others]
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {item.name: item.annotation for item in parameters}
        call.config_options = tuple(options)  # type: ignore[attr-defined]
        return call

    return decorate


def _kinds(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation accepts; of a tuple and a literal, what they are and not what is in them."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        for item in get_args(annotation):
            yield from _kinds(item)
    elif origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    else:
        yield origin or annotation


def _first_clause(text: str) -> str:
    """Shorten what a docstring says of a field to its first clause and to what holds where the field is not set."""
    first, *others = re.split(r"(?<=\.) (?=[A-Z])", text)
    unset = [sentence for sentence in others if re.match("(Left u|U)nset,", sentence)]
    text = " ".join([f"{first.partition('; ')[0].rstrip('.')}.", *unset])
    return re.sub(r'\["(.*?)"\]', lambda names: names[1].replace('", "', ","), text)


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _placeholder(kinds: set[Any]) -> str:
    if tuple in kinds:
        return "NAME,..."
    if str in kinds:
        return "TEXT"
    return "NUMBER" if float in kinds else "INTEGER" if int in kinds else "NAME"


_SWITCHES, _REPEATED = ("wide", "strict"), ("date_format",)


def _data_options(*names: str) -> tuple[ConfigOption, ...]:
    return tuple(
        ConfigOption(f"data.{name}", is_switch=name in _SWITCHES, is_repeated=name in _REPEATED) for name in names
    )


# How a table is written; a panel, which was read already, does not need them.
READING_OPTIONS = _data_options(
    "encoding", "separator", "decimal", "thousands", "null_values", "date_format", "skip_rows", "sheet", "query",
)  # fmt: skip
DATA_OPTIONS = (
    *_data_options(
        "target", "time", "id", "past", "future", "static", "weight", "categorical", "calendar", "frequency", "wide",
        "missing", "gaps", "duplicates", "short", "unknown_category",
    ),
    *READING_OPTIONS,
    *_data_options("strict"),
)  # fmt: skip
HORIZON = ConfigOption("task.horizon", parse=parse_horizon)
INPUT_SIZE, MAX_STEPS = ConfigOption("task.input_size"), ConfigOption("training.max_steps")
TRAIN_OPTIONS = (
    *DATA_OPTIONS,
    HORIZON,
    INPUT_SIZE,
    ConfigOption("task.loss", examples=("mae", "mse", "huber", "quantile", "smape", "student_t")),
    *(ConfigOption(f"task.{name}") for name in ("scaler", "series_scaler", "baseline", "season_length")),
    *(ConfigOption(f"task.{name}") for name in ("validation", "test")),
    ConfigOption("task.refit", is_switch=True, is_negated=True),
    ConfigOption("model", short="-m", see="nd models"),
    ConfigOption("teacher"),
    MAX_STEPS,
    *(ConfigOption(f"training.{name}") for name in ("max_epochs", "max_seconds", "batch_size", "accumulate")),
    ConfigOption("training.optimizer", examples=("adamw", "adam", "sgd", "muon", "lion")),
    ConfigOption("training.optimizer.lr"),
    ConfigOption("training.schedule", see="nd schedule"),
    *(ConfigOption(f"training.{name}") for name in ("precision", "average", "divergence", "stop_file")),
    *(ConfigOption(f"training.{name}") for name in ("seed", "threads", "device")),
)
COMPARE_OPTIONS = (*DATA_OPTIONS, HORIZON, INPUT_SIZE, MAX_STEPS)
