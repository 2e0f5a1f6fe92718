"""The space of a search: settings, what may be tried for each, and which of them exist together."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.config import read_toml
from neuro_divergent.core.errors import ConfigError, did_you_mean
from neuro_divergent.core.formatting import format_count
from neuro_divergent.search.dimension import Choices, Range, dimension_of, plain_value
from neuro_divergent.search.parameter import Parameter, Point, component_name, parse_key

if TYPE_CHECKING:
    from neuro_divergent.forecasting.run_config import RunConfig

_MOST_POINTS = 1_000_000


class Space:
    """Settings to search, by dotted name.

    Values are choices (a list), a range (a pair, or ``log(low, high)``) or, in TOML, a table with ``low`` and ``high``.
    ``{"model": ["lstm", "patchtst"]}`` searches the architecture. A setting of some models only is written
    ``patchtst.patch_length``, or ``model.patch_length@patchtst``, and exists where that model is chosen; so are
    settings of components, ``training.optimizer.momentum@sgd``.

    Args:
        settings: What may be tried, by setting.

    Raises:
        ConfigError: If a model or component has no such setting; the message names those that have it.

    Examples:
        >>> import neuro_divergent as nd
        >>> space = nd.search.Space({"model": ["nlinear", "mlp"], "mlp.hidden_size": [16, 64]})
        >>> list(space.grid())
        [{'model': 'nlinear'}, {'model': 'mlp', 'model.hidden_size': 16}, {'model': 'mlp', 'model.hidden_size': 64}]
        >>> nd.search.Space({"model": ["mlp"], "mlp.hiden_size": [16, 64]})
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: no model has a setting 'hiden_size'. Did you mean 'hidden_size'?
    """

    def __init__(self, settings: Mapping[str, Any] | Iterable[Parameter]) -> None:
        given = list(_read(settings) if isinstance(settings, Mapping) else settings)
        # A component is chosen before its settings are.
        ordered = sorted(given, key=lambda item: item.setting.count("."))
        chosen = _chosen(ordered)
        self.parameters = _checked([_simplified(item, chosen) for item in ordered], chosen)

    @classmethod
    def of(cls, *models: str, base: RunConfig | None = None) -> Space:
        """Return the default space of some architectures: theirs, that of the task and that of training.

        Args:
            models: Names of architectures; the one of ``base`` if left out.
            base: Settings around which to search: what differs from its default there is not searched.
        """
        from neuro_divergent.forecasting.task import Task
        from neuro_divergent.models.base import Architecture
        from neuro_divergent.search.knobs import parameters_of, same_for_all
        from neuro_divergent.training.config import TrainingConfig

        if not models and base is None:
            raise ConfigError("space: name at least one model; 'nd models' lists them.")
        own = None if base is None else base.architecture
        names = [Architecture.registry.check(name) for name in models] or [own.name if own is not None else ""]
        found: list[Parameter] = []
        for name in names:
            member = own if own is not None and own.name == name else Architecture.registry.get(name)()
            found += parameters_of(member, "model", (name,) if len(names) > 1 else ())
        task = Task(horizon=1) if base is None else base.task
        training = TrainingConfig() if base is None else base.training
        return cls(
            [
                Parameter("model", Choices(tuple(names))),
                *same_for_all(found),
                *same_for_all(list(parameters_of(task, "task"))),
                *same_for_all(list(parameters_of(training, "training"))),
            ]
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Space:
        """Make a space from plain values, nested as in TOML or with dotted names."""
        return cls(dict(_flat(values)))

    @classmethod
    def from_toml(cls, source: str | Path) -> Space:
        """Read a space from a TOML file (``Path``) or document (``str``): its table ``space``, or all of it."""
        values = read_toml(source)
        return cls.from_dict(values.get("space", values))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, enough for ``from_dict``."""
        return {item.key: item.dimension.to_plain() for item in self.parameters}

    def replace(self, settings: Mapping[str, Any]) -> Space:
        """Return the space with other values for some settings, or with settings more."""
        changes = list(_read(settings))
        places = {(item.setting, item.only) for item in changes}
        replaced = {item.setting for item in changes if not item.only}
        kept = [
            item for item in self.parameters if item.setting not in replaced and (item.setting, item.only) not in places
        ]
        components = {item.setting: item.dimension for item in changes}
        within = [_within(item, components) for item in kept]
        return Space([*filter(None, within), *changes])

    def without(self, *settings: str) -> Space:
        """Return the space without some settings and without those of the components they name."""
        known = {item.setting for item in self.parameters}
        for name in settings:
            if name not in known:
                raise ConfigError(f"space: {name!r} is not searched.{did_you_mean(name, known)}")
        kept = [item for item in self.parameters if item.setting not in settings]
        return Space([item for item in kept if not (item.only and item.parent in settings)])

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Space({format_count(len(self), 'setting')}: {', '.join(item.key for item in self.parameters)})"

    def labels(self) -> dict[str, str]:
        """Return the name of each parameter for people, by key."""
        return {item.key: item.label for item in self.parameters}

    def walk(self, choose: Callable[[Parameter], Any]) -> Point:
        """Return the point that has, for each parameter that exists given those before it, what a function returns."""
        point: Point = {}
        for item in self.parameters:
            if item.is_active(point):
                point[item.setting] = choose(item)
        return point

    def random(self, generator: random.Random) -> Point:
        """Return a random point."""
        return self.walk(lambda item: item.dimension.at(generator.random()))

    def at(self, fractions: Mapping[str, float]) -> Point:
        """Return the point at places between 0 and 1 of each parameter, by key."""
        return self.walk(lambda item: item.dimension.at(fractions[item.key]))

    def grid(self) -> Iterator[Point]:
        """Yield every point once; a range without steps has five values."""

        def extend(point: Point, place: int) -> Iterator[Point]:
            if place == len(self.parameters):
                yield point
            elif not self.parameters[place].is_active(point):
                yield from extend(point, place + 1)
            else:
                for value in self.parameters[place].dimension.grid():
                    yield from extend({**point, self.parameters[place].setting: value}, place + 1)

        return extend({}, 0)

    def grid_size(self) -> int:
        """Return how many points ``grid`` yields, counting no further than a million."""
        count = 0
        for count, _ in enumerate(self.grid(), 1):
            if count >= _MOST_POINTS:
                break
        return count

    def require(self, point: Mapping[str, Any]) -> Point:
        """Return the part of a point that lies in this space, in its order, as plain values; settings may be missing.

        Raises:
            ConfigError: If a setting is not searched, or a value is not one to be tried.
        """
        given, found = {key: plain_value(value) for key, value in point.items()}, Point()
        for item in self.parameters:
            if item.setting in given and item.is_active(found):
                value = given.pop(item.setting)
                if not item.dimension.contains(value):
                    raise ConfigError(f"{item.setting}: {value!r} is not in the space: {item.dimension}.")
                found[item.setting] = item.dimension.nearest(value)
        if given:
            name = next(iter(given))
            hint = did_you_mean(name, [item.setting for item in self.parameters])
            raise ConfigError(f"{name!r} is not searched, or not together with the other settings.{hint}")
        return found

    def around(self, base: RunConfig, history: int | None = None) -> Space:
        """Return the space for the settings that it does not search.

        Ranges in horizons become ranges of rows, at least up to ``history``, the length that would be chosen without a
        search. Settings of components that cannot be chosen are left out.

        Raises:
            ConfigError: If a component of ``base`` has no such setting; the message names those that have it.
        """
        chosen = {"model": [base.model["name"]], **_components(base)} | _chosen(self.parameters)
        kept = []
        for item in self.parameters:
            dimension = item.dimension
            if isinstance(dimension, Range) and dimension.unit is not None:
                dimension = dimension.scaled(base.task.horizon).widened(history or 0)
            known = chosen.get(item.parent, [])
            only = item.only if item.parent in {other.setting for other in self.parameters} else ()
            if not item.only or set(item.only) & set(known):
                kept.append(replace(item, dimension=dimension, only=only))
        return Space(_checked(kept, chosen))

    def start(self, values: Mapping[str, Any]) -> Point:
        """Return the point nearest to some settings, given as plain values of a run: the first that a study tries."""
        return self.walk(lambda item: item.dimension.nearest(_value_at(values, item.setting)))


def _read(settings: Mapping[str, Any]) -> Iterator[Parameter]:
    for key, given in settings.items():
        setting, only = parse_key(str(key))
        try:
            dimension = dimension_of([given] if setting == "model" and isinstance(given, str) else given)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None
        if setting == "model" and not isinstance(dimension, Choices):
            raise ConfigError("model: expected a list of names; 'nd models' lists them.")
        yield Parameter(setting, dimension, only)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and not {"low", "high"} & set(value):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            # Of the table [model], the list of models is called name.
            yield (prefix[:-1] if prefix and key == "name" else f"{prefix}{key}"), value


def _chosen(parameters: Iterable[Parameter]) -> dict[str, list[str]]:
    """Return the names of the components to choose from, by setting."""
    found: dict[str, list[str]] = {}
    for item in parameters:
        if isinstance(item.dimension, Choices):
            names = [component_name(value) for value in item.dimension.values if isinstance(value, (str, Mapping))]
            found[item.setting] = names
    return found


def _components(base: RunConfig) -> dict[str, list[str]]:
    """Return the component that a run has for each setting that is one."""
    found = {}
    for section in ("task", "training"):
        for name, value in getattr(base, section):
            found[f"{section}.{name}"] = [str(getattr(value, "name", "none"))]
    return found


def _checked(parameters: Iterable[Parameter], chosen: Mapping[str, list[str]]) -> tuple[Parameter, ...]:
    from neuro_divergent.search.owners import check_parameter

    found: list[Parameter] = []
    for item in parameters:
        for before in found:
            both = set(before.only) & set(item.only)
            if before.setting == item.setting and (both or not before.only or not item.only):
                raise ConfigError(f"space: {item.setting} comes twice; name the components of each after '@'.")
        found.append(check_parameter(item, chosen))
    return tuple(found)


def _simplified(item: Parameter, chosen: Mapping[str, list[str]]) -> Parameter:
    """Return a parameter that belongs to all components that are chosen from without their names."""
    return replace(item, only=()) if set(item.only) == set(chosen.get(item.parent, ())) else item


def _within(item: Parameter, components: Mapping[str, Any]) -> Parameter | None:
    """Return a parameter for the components that are still chosen from; ``None`` if it belongs to none of them."""
    dimension = components.get(item.parent)
    if dimension is None or not item.only:
        return item
    only = tuple(name for name in item.only if name in map(component_name, dimension.grid()))
    return replace(item, only=only) if only else None


def _value_at(values: Mapping[str, Any], setting: str) -> Any:
    value: Any = values
    for part in setting.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value["name"] if isinstance(value, Mapping) and "name" in value else plain_value(value)
