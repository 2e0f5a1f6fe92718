"""An architecture here and the one there: how settings and weights translate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.models.base import Architecture
from tests.parity.theirs import their_network, trainable

Weights = dict[str, Tensor]
# Settings without which a network in eval forecasts the same.
OF_TRAINING = re.compile("dropout|stochastic_depth|noise")


class Sides(NamedTuple):
    """A network there and here, for the same task."""

    theirs: nn.Module
    ours: nn.Module
    config: Any
    spec: TaskSpec


Translation = Callable[[Sides], Weights]


@dataclass(frozen=True)
class Pair:
    """How one architecture translates.

    Attributes:
        kind: Its name there, or what tells it from the settings here.
        weights: Returns their weights under our names and in our layout.
        names: Our settings under their names.
        derive: Returns more of their settings.
        derived: Our settings that ``derive`` reads.
        joint: Whether windows there hold all series.
        masks: Whether theirs takes missing values as we do.
        one_by_one: Whether theirs looks at the whole batch, so that windows go through it one by one.
        fits: Whether theirs does the same for these settings and this task; the docstrings here tell where it does not.
        unread: How many weights there no forecast depends on.
        prepare: Changes their network before use.
    """

    kind: str | Callable[[Any], str]
    weights: Translation
    names: dict[str, str] = field(default_factory=dict)
    derive: Callable[[Any], dict[str, object]] = lambda _: {}
    derived: tuple[str, ...] = ()
    joint: bool = False
    masks: bool = False
    one_by_one: bool = False
    fits: Callable[[Any, TaskSpec], bool] = lambda _, __: True
    unread: Callable[[Any, TaskSpec], int] = lambda _, __: 0
    prepare: Callable[[nn.Module], nn.Module] = lambda network: network

    def exists_for(self, config: Architecture, spec: TaskSpec, *, missing: bool = False) -> bool:
        """Whether theirs can be set to do the same."""
        known = {*self.names, *self.derived}
        defaults = {key: item.default for key, item in type(config).model_fields.items()}
        others = (key for key in defaults if key not in known and not OF_TRAINING.search(key))
        coded = any(feature.cardinality for feature in (*spec.past, *spec.future, *spec.static))
        return (
            all(getattr(config, key) == defaults[key] for key in others)
            and not coded
            and (self.masks or not missing)
            and self.fits(config, spec)
        )

    def build(self, config: Architecture, spec: TaskSpec) -> Sides:
        """Return both networks, in eval, with weights of their own."""
        kind = self.kind if isinstance(self.kind, str) else self.kind(config)
        settings = {theirs: getattr(config, ours) for ours, theirs in self.names.items()} | self.derive(config)
        alone = spec if self.joint else TaskSpec(**{**vars(spec), "channels": 1})
        network = self.prepare(their_network(kind, alone, joint=self.joint, **settings))
        return Sides(network, config.build(spec).eval(), config, spec)


def size(network: nn.Module) -> int:
    """Return how many numbers training changes."""
    return sum(value.numel() * (1 + value.is_complex()) for value in network.parameters() if value.requires_grad)


def stored(network: nn.Module) -> Weights:
    """Return their weights and running statistics."""
    trained = trainable(network)
    state = network.state_dict()
    return {key: state[key] for key in state if key in trained or "running_" in key}


def in_order(order: Callable[[Weights, Sides], Iterable[Tensor]]) -> Translation:
    """Return a translation from what puts their weights into the order of ours."""

    def translate(sides: Sides) -> Weights:
        names = [name for name, _ in sides.ours.named_parameters()]
        return dict(zip(names, order(trainable(sides.theirs), sides), strict=True))

    return translate


def by_name(
    names: dict[str, str], changes: dict[str, Callable[[Tensor, TaskSpec], Tensor]] | None = None
) -> Translation:
    """Return a translation from patterns of their names and what they become here; an empty name leaves a weight out.

    Args:
        names: Patterns and replacements, applied one after the other.
        changes: Patterns of our names, and how their weights are laid out differently.
    """

    def translate(sides: Sides) -> Weights:
        found: Weights = {}
        for key, value in stored(sides.theirs).items():
            name = key
            for pattern, replacement in names.items():
                name = re.sub(pattern, replacement, name)
            for pattern, change in (changes or {}).items():
                if name and re.search(pattern, name) and value.ndim:
                    value = change(value, sides.spec)
            if name:
                found[name] = value
        return found

    return translate


@torch.no_grad()
def copy_to_ours(pair: Pair, sides: Sides) -> None:
    """Give our network the weights of theirs."""
    load(sides.ours, pair.weights(sides))


def load(network: nn.Module, weights: Weights) -> None:
    """Load all weights and running statistics; how many batches were seen is no part of a forecast."""
    found = network.load_state_dict(weights, strict=False)
    assert not found.unexpected_keys
    assert all(key.endswith(("num_batches_tracked", "_extra_state")) for key in found.missing_keys), found.missing_keys


@torch.no_grad()
def copy_to_theirs(pair: Pair, sides: Sides) -> None:
    """Give their network the weights of ours.

    A translation moves numbers, and at most adds to them or multiplies them. So it is inverted by trying it: on zeros,
    on ones, and on numbers that say where they come from.
    """
    places = list(stored(sides.theirs).values())
    own = sides.ours.state_dict()

    def tried(fill: Callable[[Tensor, int], Tensor]) -> Weights:
        begin = 0
        for place in places:
            place.copy_(fill(place, begin))
            begin += place.numel()
        return {key: value.clone() for key, value in pair.weights(sides).items()}

    shift = tried(lambda place, _: torch.zeros_like(place))
    ones = tried(lambda place, _: torch.ones_like(place))
    numbered = tried(lambda place, begin: torch.arange(begin, begin + place.numel()).view(place.shape).to(place))
    flat = torch.zeros(sum(place.numel() for place in places), dtype=torch.float64)
    for key, value in numbered.items():
        gain = ones[key] - shift[key]
        origin = ((value - shift[key]) / gain).round().long()
        flat[origin.flatten()] = ((own[key] - shift[key]) / gain).flatten()
    tried(lambda place, begin: flat[begin : begin + place.numel()].view(place.shape).to(place))
    for key, value in pair.weights(sides).items():
        torch.testing.assert_close(value, own[key], atol=1e-12, rtol=1e-12)
