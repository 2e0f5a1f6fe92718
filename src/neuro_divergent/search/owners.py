"""Which config class has a setting that is searched, and whether a value is one of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from neuro_divergent.core.config import Component, Config
from neuro_divergent.core.errors import ConfigError, did_you_mean
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture
from neuro_divergent.search.dimension import Choices, Dimension, Range
from neuro_divergent.search.knobs import family_of
from neuro_divergent.search.parameter import Parameter, component_name
from neuro_divergent.training.config import TrainingConfig

_SECTIONS: dict[str, type[Config]] = {"task": Task, "training": TrainingConfig}
_NOT_COMPARABLE = ("task.horizon", "task.validation", "task.test", "task.refit")


def check_parameter(parameter: Parameter, chosen: Mapping[str, Sequence[str]]) -> Parameter:
    """Check that a setting exists and may have the values that are to be tried.

    Args:
        parameter: The parameter.
        chosen: Names of the components to choose from, by the setting that names them; what is not in it is not known
            yet, and what belongs to it is not checked.

    Returns:
        The parameter; a range of integers for a setting that takes any number is one of such numbers.

    Raises:
        ConfigError: If there is no such setting, with the models that have it, or if a value is not valid.
    """
    if parameter.setting in _NOT_COMPARABLE:
        raise ConfigError(f"{parameter.setting} cannot be searched: scores of different values are not comparable.")
    if parameter.setting == "model":
        assert isinstance(parameter.dimension, Choices)
        for value in parameter.dimension.values:
            Architecture.registry.check(component_name(value))
        return parameter
    name = parameter.setting.rpartition(".")[2]
    dimension = parameter.dimension
    for owner in _owners(parameter, chosen):
        if name not in owner.model_fields:
            raise ConfigError(_missing(parameter, owner, name))
        dimension = _checked(parameter.setting, owner.model_fields[name], dimension)
    return replace(parameter, dimension=dimension)


def _owners(parameter: Parameter, chosen: Mapping[str, Sequence[str]]) -> list[type[Config]]:
    """Return the classes that must have the setting; none where that is not known yet."""
    section, *path = parameter.parent.split(".")
    if not path and section in _SECTIONS:
        return [_SECTIONS[section]]
    family = Architecture if section == "model" and not path else _family(parameter)
    known = chosen.get(parameter.parent)
    if known is not None:
        for name in parameter.only:
            if name not in known:
                raise ConfigError(f"{parameter.key}: {name} is not one of {', '.join(known)}.")
    names = parameter.only or known or ()
    return [family.registry.get(name) for name in names if name != "none"]


def _family(parameter: Parameter) -> type[Component]:
    """Return the family of the component that a setting such as ``training.optimizer.lr`` belongs to."""
    section, *path = parameter.parent.split(".")
    owner = _SECTIONS.get(section)
    if owner is None or len(path) != 1:
        raise ConfigError(f"unknown setting {parameter.setting!r}: a search varies settings, and those of components.")
    if path[0] not in owner.model_fields:
        raise ConfigError(f"unknown setting {parameter.setting!r}.{did_you_mean(path[0], owner.model_fields)}")
    family = family_of(owner.model_fields[path[0]])
    if family is None:
        raise ConfigError(f"unknown setting {parameter.setting!r}: {parameter.parent} is no component with settings.")
    return family


def _missing(parameter: Parameter, owner: type[Config], name: str) -> str:
    label = owner.name if issubclass(owner, Component) else owner.__name__
    if not issubclass(owner, Component):
        return f"{label} has no setting {name!r}.{did_you_mean(name, owner.model_fields)}"
    registry = owner.registry
    having = [member for member in registry.names() if name in registry.get(member).model_fields]
    if not having:
        return f"no {registry.kind} has a setting {name!r}.{did_you_mean(name, owner.model_fields)}"
    kinds = f"{registry.kind}s" if len(having) > 1 else registry.kind
    return (
        f"{label} has no setting {name!r}. {kinds.capitalize()} that have it: {', '.join(having)}. To search it for "
        f"some only, write {parameter.setting}@{having[0]}."
    )


def _checked(setting: str, field: FieldInfo, dimension: Dimension) -> Dimension:
    """Check the ends of a range, or every choice, against the type and the limits of a field."""
    if isinstance(dimension, Range) and dimension.is_integer and dimension.unit is None:
        kinds = set(_kinds(field.annotation))
        if float in kinds and int not in kinds:
            step = None if dimension.step is None else float(dimension.step)
            dimension = replace(dimension, low=float(dimension.low), high=float(dimension.high), step=step)
    annotation: Any = field.annotation
    adapter = TypeAdapter(Annotated[annotation, *field.metadata] if field.metadata else annotation)
    values = dimension.values if isinstance(dimension, Choices) else dimension.grid()
    for value in values if isinstance(dimension, Choices) else (values[0], values[-1]):
        try:
            adapter.validate_python(None if value == "none" and type(None) in get_args(field.annotation) else value)
        except ValidationError as error:
            message = error.errors()[0]["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
            raise ConfigError(f"{setting}: {value!r} cannot be tried: {message}") from None
    return dimension


def _kinds(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, UnionType):
        return [kind for item in get_args(annotation) for kind in _kinds(item)]
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    return [annotation]
