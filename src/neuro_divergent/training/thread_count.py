"""How many threads training uses, and when it goes on with one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.threads import Contention, ThreadWarning, available_cores, threads_for, using_threads


def network_threads(network: nn.Module, inputs: Tensor) -> int:
    """Choose threads from the multiply-adds of a forward pass, estimated from its inputs ``(batch, ...)``."""
    recurrent = any(isinstance(part, nn.RNNBase) for part in network.modules())
    rows = inputs.shape[0] * (inputs.shape[1] if recurrent and inputs.ndim > 2 else 1)
    return threads_for(rows * sum(parameter.numel() for parameter in network.parameters()))


class ThreadCount:
    """The threads of one training.

    A number that the user gave stays. Otherwise the size of the work decides, and when other processes keep the threads
    waiting for each other, one thread goes on for the rest of training. The step after which that happened is recorded,
    so that a training which is resumed from an earlier state does the same after the same step.

    Attributes:
        count: Threads in use; 0 before training.
        one_after: Step after which one thread goes on, in this training or in the one it resumes; ``None`` for never.
    """

    def __init__(self, setting: int | Literal["auto"]) -> None:
        self.count = 0
        self.one_after: int | None = None
        self._setting = setting
        self._contention = Contention(1)

    def started(
        self, resumed: Mapping[str, Any] | None, choose: Callable[[], int], *, may_change: bool
    ) -> AbstractContextManager[None]:
        """Decide, and return a block inside which torch uses as many threads.

        ``resumed`` is what ``state_dict`` returned in the training that goes on, and ``choose`` returns the threads for
        the size of the work. ``may_change`` is whether threads may be found waiting for each other: not where the CPU
        does not compute, and not where several processes would decide about that each for itself.
        """
        self.one_after = None
        if self._setting != "auto":
            self.count = self._setting
        elif resumed is None:
            self.count = choose()
        else:
            told = resumed if isinstance(resumed, Mapping) else {}
            count, self.one_after = told.get("count"), told.get("one_after")
            if type(count) is not int or count < 1:
                raise UntrustedFileError(f"the state to go on from was made with {count!r} threads.")
            self.count = min(count, available_cores())
        # Until the recorded step the threads stay, however busy the machine is: their number decides about bits.
        may_change = may_change and self._setting == "auto" and self.one_after is None
        self._contention = Contention(self.count if may_change else 1)
        return using_threads(self.count)

    def is_lowered(self, step: int) -> bool:
        """Go on with one thread if that is recorded for this step or threads were kept waiting; return whether so."""
        if self.count == 1 or not (step == self.one_after or self._contention.is_found()):
            return False
        if step != self.one_after:
            warnings.warn(
                f"{self.count} threads waited for each other, because other processes are busy: training goes on with "
                f"one after step {step:,}. Set threads to keep a number.",
                ThreadWarning,
                stacklevel=2,
            )
        torch.set_num_threads(1)
        self.count, self.one_after, self._contention = 1, step, Contention(1)
        return True

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state."""
        return {"count": self.count, "one_after": self.one_after}
