"""Which processor this is, and which instructions it says it has."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import NamedTuple

_CPUINFO = Path("/proc/cpuinfo")
_FIRST = 16 * 1024  # bytes that hold the entry of the first processor; the kernel makes them as they are read


class Processor(NamedTuple):
    """A kind of processor.

    Attributes:
        model: What it is called.
        flags: Names of the instruction sets that are shown; empty where the system does not list them.
    """

    model: str
    flags: frozenset[str]

    @property
    def shows_tiles(self) -> bool:
        """Whether tile instructions (AMX) are shown, which some virtual machines show and do not run."""
        return any(flag.startswith("amx") for flag in self.flags)


def read_processor(path: Path = _CPUINFO) -> Processor:
    """Return the first processor of this machine, by what Linux says about its processors."""
    try:
        with path.open("rb") as file:
            text = file.read(_FIRST).decode("utf-8", "replace")
    except OSError:
        text = ""
    entry = {}
    for line in text.partition("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        entry[name.strip()] = value.strip()
    flags = entry.get("flags") or entry.get("Features") or ""
    return Processor(entry.get("model name") or platform.processor() or platform.machine(), frozenset(flags.split()))
