"""An optimizer of which each process holds a part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.training.parted import own_part

Change = Callable[[nn.Parameter, Tensor], Tensor]
"""Makes another tensor out of one of the state of a parameter."""


class PartOptimizer(torch.optim.Optimizer):
    """Steps the part of the parameters that one process has, and holds the state of that part alone.

    ``param_groups`` are those of the optimizer inside, with all parameters, for clipping and schedules. While the one
    inside works, its groups have the parts of this process in the place of the parameters.

    Args:
        inside: Optimizer of all parameters, as one process has it, before its first step.
        parts: What this process has of each parameter: the parameter itself, or another one that shares the memory of
            its part. Parameters that are not in it are those of other processes.
        exchange: Called after parts have changed.
    """

    def __init__(
        self,
        inside: torch.optim.Optimizer,
        parts: Mapping[nn.Parameter, nn.Parameter],
        exchange: Callable[[], None] = lambda: None,
    ) -> None:
        self.inside = inside
        self._parts = dict(parts)
        self._wholes = {part: whole for whole, part in parts.items()}
        self._exchange = exchange
        super().__init__(inside.param_groups, {})
        self._keep_parts(lambda _, value: own_part(value))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Step the parts of this process; the closure, if given, is called first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with self._only_parts():
            self.inside.step()
        self._exchange()
        return loss

    def train(self) -> None:
        """Tell the optimizer inside, if it keeps averages, that training goes on."""
        self._switch("train")

    def eval(self) -> None:
        """Tell the optimizer inside, if it keeps averages, that weights are used."""
        self._switch("eval")

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the parts of this process."""
        with self._only_parts():
            return self.inside.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state of the parts of this process."""
        with self._only_parts():
            self.inside.load_state_dict(state_dict)
        self.param_groups = self.inside.param_groups  # loading replaces them

    def state_in_place(self, change: Change | None = None) -> dict[str, Any]:
        """Return the state that this process has, at the places that it has in the state of one process.

        Args:
            change: What to make of the tensors in the state of a parameter.
        """
        members = list(_members(self.inside))
        kept = [member.state for member in members]
        for member in members if change is not None else ():
            assert change is not None
            member.state = _changed(member.state, self._wholes, change)
        try:
            with self._all_places():
                return self.inside.state_dict()
        finally:
            for member, state in zip(members, kept, strict=True):
                member.state = state

    def load_whole(self, state: dict[str, Any], change: Change = lambda _, value: value) -> None:
        """Restore the parts of this process from the state of one process.

        Args:
            state: What the optimizer inside would return in one process.
            change: Cuts the part of this process out of a tensor in the state of a parameter.
        """
        with self._all_places():
            self.inside.load_state_dict(state)
        self.param_groups = self.inside.param_groups
        self._keep_parts(change)

    def _switch(self, name: str) -> None:
        switch = getattr(self.inside, name, None)
        if switch is not None:
            with self._only_parts():
                switch()
            self._exchange()

    def _keep_parts(self, change: Change) -> None:
        """Drop the state of what other processes have, and change the tensors of the rest."""
        for member in _members(self.inside):
            state: dict[Any, Any] = dict(member.state)
            state = {self._parts.get(item, item): values for item, values in state.items()}
            own = {part: values for part, values in state.items() if part in self._wholes}
            member.state = _changed(own, self._wholes, change)

    @contextmanager
    def _only_parts(self) -> Iterator[None]:
        """Have the parts of this process in the groups, with their gradients."""
        for whole, part in self._parts.items():
            if part is not whole:
                part.grad = None if whole.grad is None else own_part(whole.grad)
        with self._replacing(lambda all_: [self._parts[item] for item in all_ if item in self._parts]):
            yield
        for whole, part in self._parts.items():
            if part is not whole:
                part.grad = None

    def _all_places(self) -> Any:
        """Have an entry for each parameter in the groups: its part, where this process has one."""
        return self._replacing(lambda all_: [self._parts.get(item, item) for item in all_])

    @contextmanager
    def _replacing(self, choose: Callable[[list[nn.Parameter]], list[nn.Parameter]]) -> Iterator[None]:
        everything = [group["params"] for group in self.inside.param_groups]
        for group, parameters in zip(self.inside.param_groups, everything, strict=True):
            group["params"] = choose(parameters)
        try:
            yield
        finally:
            for group, parameters in zip(self.inside.param_groups, everything, strict=True):
                group["params"] = parameters


def _members(optimizer: torch.optim.Optimizer) -> Iterator[torch.optim.Optimizer]:
    """Yield an optimizer and those inside it that have a state of their own."""
    yield optimizer
    inside = [*getattr(optimizer, "members", ()), getattr(optimizer, "optimizer", None)]
    for member in inside:
        if member is not None:
            yield from _members(member)


def _changed(state: Mapping[Any, Any], wholes: Mapping[nn.Parameter, nn.Parameter], change: Change) -> Any:
    """Return a state by parameter with other tensors; the containers are new, of the kind that torch has."""
    made: defaultdict[Any, Any] = defaultdict(dict)
    for part, values in state.items():
        made[part] = {
            name: change(wholes[part], value) if isinstance(value, Tensor) else value for name, value in values.items()
        }
    return made
