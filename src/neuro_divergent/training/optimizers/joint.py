"""Several optimizers that act as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


class JointOptimizer(torch.optim.Optimizer):
    """Optimizers that have no parameter in common, stepped together.

    ``param_groups`` are the groups of all members, one after the other, and the same objects: a schedule that sets the
    rate of a group here sets it for the member. The state is kept by the members; ``state`` stays empty.
    """

    def __init__(self, members: Sequence[torch.optim.Optimizer]) -> None:
        self.members = list(members)
        super().__init__(self._member_groups(), {})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Step each member; the closure, if given, is called once."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for member in self.members:
            member.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"members": [member.state_dict() for member in self.members]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for member, state in zip(self.members, state_dict["members"], strict=True):
            member.load_state_dict(state)
        self.param_groups = self._member_groups()  # loading replaces those of the members

    def _member_groups(self) -> list[dict[str, Any]]:
        return [group for member in self.members for group in member.param_groups]
