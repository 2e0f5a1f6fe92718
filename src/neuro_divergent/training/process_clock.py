"""What each of several processes does in a step by itself, and how long it is held up by the others."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from neuro_divergent.core.memory import peak_memory
from neuro_divergent.training.strategy import Strategy

if TYPE_CHECKING:
    import torch

Batches = TypeVar("Batches")


class ProcessSpeed(NamedTuple):
    """What a process did since the row of the history before.

    Attributes:
        host: Name of its machine.
        device: Where it computes.
        samples_per_second: Its own rows of batches, per second of training.
        busy_seconds: Time of a step, on average, without that spent in exchanges with other processes, from drawing the
            batches to the end of the step; ``None`` without steps.
        waiting: Fraction of all time that it spent in exchanges with other processes, waiting for them or sending.
        memory_bytes: The most memory that it has had so far; ``None`` if that is not known.
    """

    host: str
    device: str
    samples_per_second: float
    busy_seconds: float | None
    waiting: float
    memory_bytes: int | None


class ProcessClock:
    """Measures the steps of a process, and shares the result with the others.

    Processes that train together take the same time for a step, because they wait for each other. A slow one is told
    by the part of a step in which it does not wait: a slow machine, a busy core, a slow disk and more work all make
    that longer.
    """

    def __init__(self, strategy: Strategy, device: torch.device) -> None:
        self._strategy = strategy
        self._device = device
        self._places: list[tuple[str, str]] | None = None
        self._began = 0.0
        self._start()

    def steps(self, batches: Iterable[Batches]) -> Iterator[Batches]:
        """Yield the batches of each step; the time of a step begins when they are drawn."""
        source = iter(batches)
        while True:
            self._began = self._own_time()
            try:
                item = next(source)
            except StopIteration:
                return
            yield item

    def stepped(self) -> None:
        """Add the time of a step, which is over."""
        self._busy += self._own_time() - self._began
        self._steps += 1

    def share(self, samples_per_second: float) -> list[ProcessSpeed]:
        """Return what each process did since the last time, in their order; all of them call it together."""
        if self._places is None:
            self._places = self._strategy.gather((socket.gethostname(), str(self._device)))
        spent = max(time.perf_counter() - self._since, 1e-9)
        busy = self._busy / self._steps if self._steps else math.nan
        waiting = min((self._strategy.waited - self._waited) / spent, 1.0)
        memory = peak_memory(self._device)
        numbers = self._gather([samples_per_second, busy, waiting, math.nan if memory is None else memory])
        self._start()
        return [
            ProcessSpeed(host, device, speed, _known(busy), waiting, None if math.isnan(peak) else int(peak))
            for (host, device), (speed, busy, waiting, peak) in zip(self._places, numbers, strict=True)
        ]

    def _gather(self, numbers: list[float]) -> list[list[float]]:
        """Return the numbers of all processes; unlike ``Strategy.gather``, without making messages of them."""
        strategy = self._strategy
        if strategy.world_size == 1:
            return [numbers]
        import torch

        table = torch.zeros(strategy.world_size, len(numbers), dtype=torch.float64)
        table[strategy.rank] = torch.tensor(numbers, dtype=torch.float64)
        found: list[list[float]] = strategy.all_reduce(table, 0.0)[0].tolist()
        return found

    def _start(self) -> None:
        self._steps, self._busy = 0, 0.0
        self._waited = self._strategy.waited
        self._since = time.perf_counter()

    def _own_time(self) -> float:
        """Return a time that stands still while this process is in an exchange with others."""
        return time.perf_counter() - self._strategy.waited


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
