"""What a process is doing at this moment, in memory that outlives it."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from pathlib import Path

PHASES = ("starting", "training", "validation", "finishing", "finished")
STORE_PHASES = ("", "saving", "marking", "retention")
_FORMAT = struct.Struct("=BBBBqq")


class Moment:
    """A few bytes that one process writes and another reads, also after the first was killed.

    Args:
        path: File that both have open; made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_FORMAT.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _FORMAT.size)
        self._on_phase: Callable[[str], object] = str  # does nothing with it

    def tell(self, on_phase: Callable[[str], object]) -> None:
        """Call a function with the name of each phase that begins in this process."""
        self._on_phase = on_phase

    @property
    def phase(self) -> str:
        """What is being done with the store, or else in training."""
        phase, store = self._memory[0], self._memory[1]
        return STORE_PHASES[store] or PHASES[phase]

    @phase.setter
    def phase(self, name: str) -> None:
        self._memory[0] = PHASES.index(name)
        self._on_phase(name)

    def set_store_phase(self, name: str) -> None:
        """Say what is being done with the store; an empty name for nothing."""
        self._memory[1] = STORE_PHASES.index(name)
        self._on_phase(name)

    @property
    def step(self) -> int:
        """The last step that is done."""
        return int(_FORMAT.unpack(self._memory[:])[4])

    @step.setter
    def step(self, value: int) -> None:
        self._memory[4:12] = struct.pack("=q", value)

    @property
    def is_slow(self) -> bool:
        """Whether the pass has begun that takes long."""
        return bool(self._memory[3])

    @is_slow.setter
    def is_slow(self, value: bool) -> None:
        self._memory[3] = value

    @property
    def phase_heard(self) -> str:
        """What was being done when a signal was heard."""
        return (*PHASES, *STORE_PHASES)[self._memory[2]]

    def hear(self) -> None:
        """Note that a signal was heard, when and in which phase."""
        self._memory[2] = (*PHASES, *STORE_PHASES).index(self.phase)
        self._memory[12:20] = struct.pack("=q", self.step + 1)

    @property
    def heard(self) -> int:
        """The step at which a signal was heard, counted from 1; 0 for not yet."""
        return int(_FORMAT.unpack(self._memory[:])[5])

    def clear(self) -> None:
        """Forget what was written."""
        self._memory[:] = bytes(_FORMAT.size)
