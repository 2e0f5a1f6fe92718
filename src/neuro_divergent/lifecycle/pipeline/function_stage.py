"""Stages that are functions of the user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConfigError, InputError, did_you_mean
from neuro_divergent.core.function import label_of
from neuro_divergent.lifecycle.pipeline.error_policy import ErrorPolicy
from neuro_divergent.lifecycle.pipeline.function_reference import resolve_function
from neuro_divergent.lifecycle.pipeline.source_code import code_digest
from neuro_divergent.lifecycle.pipeline.stage import Port, Stage, StageContext
from neuro_divergent.lifecycle.pipeline.step import Step, Work

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

_DIRECTORY = "directory"
_BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, eq=False)
class FunctionStage(Work):
    """A function that is called with inputs and settings as keywords, and returns the outputs.

    A parameter that is no setting is an input: a polars table, a value, a model or a path. One that is called
    ``directory`` is given a directory for files that are needed on the way.

    Attributes:
        function: The function.
        names: Names of the outputs.
        keywords: Settings.
        further: Inputs besides those that the signature has, for a function that accepts any keyword.
    """

    function: Callable[..., Any]
    names: tuple[str, ...] = ("table",)
    keywords: Mapping[str, Any] = field(default_factory=dict)
    further: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parameters = self._parameters()
        accepts_any = any(item.kind is item.VAR_KEYWORD for item in parameters.values())
        for name, item in parameters.items():
            if item.kind is item.POSITIONAL_ONLY and item.default is item.empty:
                raise ConfigError(f"function {self.label}: parameter {name!r} cannot be given by name.")
        known = [name for name, item in parameters.items() if item.kind in _BY_KEYWORD]
        for name in (*self.keywords, *self.further):
            if name not in known and not accepts_any:
                hint = did_you_mean(name, known) or f" It has: {', '.join(known) or 'none'}."
                raise ConfigError(f"function {self.label}: there is no parameter {name!r}.{hint}")

    @property
    def label(self) -> str:
        """Name of the function."""
        return label_of(self.function).rpartition(":")[2].rpartition(".")[2].strip("<>") or "function"

    @property
    def kind(self) -> str:
        """Module and name of the function."""
        return label_of(self.function)

    @property
    def ports(self) -> tuple[Port, ...]:
        """The parameters that are no settings."""
        own = [
            Port(name, is_required=item.default is item.empty)
            for name, item in self._parameters().items()
            if item.kind in _BY_KEYWORD and name not in self.keywords and name != _DIRECTORY
        ]
        known = {port.name for port in own}
        return (*own, *(Port(name) for name in self.further if name not in known))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.names

    @property
    def is_resumable(self) -> bool:
        """Whether it is given the directory that a killed start left."""
        return _DIRECTORY in self._parameters()

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return dict(self.keywords)

    def code(self) -> str:
        """Return a digest of the code of the function."""
        return f"function {label_of(self.function)} {code_digest(self.function)}"

    def check(self, inputs: Collection[str]) -> None:
        """Accept everything: what a function needs is in its signature."""

    def is_current(self, outputs: Mapping[str, Artifact]) -> bool:
        """Whether a kept result still holds, which nothing outside decides."""
        return True

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> Mapping[str, Any]:
        """Call the function.

        Raises:
            InputError: If it does not return the outputs that were promised.
        """
        given = {name: item.load() for name, item in inputs.items()} | dict(self.keywords)
        if _DIRECTORY in self._parameters() and _DIRECTORY not in given:
            given[_DIRECTORY] = context.directory
        return self._name_outputs(self.function(**given))

    def _name_outputs(self, returned: Any) -> Mapping[str, Any]:
        expected = ", ".join(self.names)
        if not self.names:
            if returned is not None:
                raise InputError(f"function {self.label} returned a {type(returned).__name__}, and has no outputs.")
            return {}
        if len(self.names) == 1:
            if returned is None:
                raise InputError(f"function {self.label} returned nothing; its output is {expected}.")
            return {self.names[0]: returned}
        if isinstance(returned, tuple) and len(returned) == len(self.names):
            return dict(zip(self.names, returned, strict=True))
        if not isinstance(returned, Mapping):
            raise InputError(
                f"function {self.label} returned a {type(returned).__name__}; return a dict with the outputs "
                f"{expected}."
            )
        if set(returned) != set(self.names):
            raise InputError(
                f"function {self.label} returned {', '.join(map(str, returned)) or 'an empty dict'}; its outputs are "
                f"{expected}."
            )
        return dict(returned)

    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        try:
            return inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            raise ConfigError(f"function {self.label}: has no signature; wrap it in a function of your own.") from None


def stage(
    work: Callable[..., Any] | Stage | str,
    *,
    name: str | None = None,
    inputs: Mapping[str, str] | None = None,
    outputs: str | Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    on_error: ErrorPolicy | str | Mapping[str, Any] | None = None,
    cache: bool = True,
) -> Step:
    """Make a stage of a pipeline from a function, or name and connect a built-in one.

    Args:
        work: A function, ``"package.module:name"`` of one, a built-in stage such as ``Training(...)``, or its name.
        name: Name of the stage in the pipeline; that of the function or built-in stage if left out.
        inputs: For each input the ``stage.output`` it comes from. Those that are left out come from the nearest earlier
            stage with an output of that name, or from the data of the pipeline.
        outputs: Names of what a function returns: one name for the value itself, several for a dict or tuple. A
            function whose outputs are left out returns ``table``.
        settings: Further arguments of a function, values of JSON.
        on_error: What happens if it fails; what the pipeline says if left out.
        cache: Whether a result that is there is used; ``False`` for what depends on more than inputs, such as a query.

    Raises:
        ConfigError: If something of this does not fit the function or stage.

    Examples:
        >>> import neuro_divergent as nd
        >>> def mean_of(table, column):
        ...     return table[column].mean()
        >>> step = nd.lifecycle.stage(mean_of, outputs="mean", settings={"column": "y"})
        >>> result = nd.Pipeline([step], data=nd.datasets.air_passengers(), directory="flights").run()
        >>> round(result["mean_of.mean"], 1)
        280.3
    """
    policy = None if on_error is None else ErrorPolicy.of(on_error)
    chosen: Any
    if isinstance(work, Stage) or (isinstance(work, str) and ":" not in work):
        if outputs is not None or settings is not None:
            raise ConfigError("outputs and settings are those of a function; a built-in stage has its own.")
        chosen = Stage.from_dict(work) if isinstance(work, str) else work
    else:
        function = resolve_function(work) if isinstance(work, str) else work
        if not callable(function):
            raise ConfigError(f"a stage is a function or a built-in stage, and this is a {type(work).__name__}.")
        names = ("table",) if outputs is None else (outputs,) if isinstance(outputs, str) else tuple(outputs)
        chosen = FunctionStage(function, names, dict(settings or {}), tuple(inputs or ()))
    return Step(name=name or chosen.label, work=chosen, inputs=dict(inputs or {}), on_error=policy, cache=cache)
