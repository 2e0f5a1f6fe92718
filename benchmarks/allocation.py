"""How many bytes of tensors live at the same time, counted by torch's profiler.

Unlike the resident set of the process this is the same in every run, and it knows nothing of memory that an allocator
keeps for later. Torch says on the error stream that it is profiling.
"""

from __future__ import annotations

import json
import tempfile
from itertools import accumulate
from pathlib import Path

from torch import profiler


class Allocation:
    """Counts allocations between ``start`` and ``stop``."""

    def __init__(self) -> None:
        self._profile = profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True)

    def start(self) -> None:
        """Begin to count."""
        self._profile.start()

    def stop(self) -> int:
        """Return the highest sum of what was allocated since the start and not yet freed."""
        self._profile.stop()
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            self._profile.export_chrome_trace(file.name)
            events = json.loads(Path(file.name).read_text())["traceEvents"]
        changes = [(event["ts"], event["args"]["Bytes"]) for event in events if event.get("name") == "[memory]"]
        assert changes, "the profiler saw no allocation"
        return max(accumulate(size for _, size in sorted(changes, key=lambda change: change[0])))
