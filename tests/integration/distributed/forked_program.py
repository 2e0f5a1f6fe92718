"""A program for processes that are forked: it writes down what it finds in the beginning, and does as it is told."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from neuro_divergent.core.launched import launched
from neuro_divergent.interfaces.cli.supervised import attend


def main() -> None:
    """Write, and then end with an exit code, by a signal, or never."""
    place, way, *rest = sys.argv[1:]
    found = {
        "has_torch": "torch" in sys.modules and "torch._dynamo" in sys.modules,
        "has_polars": "polars" in sys.modules,
        "threads_of_parent": len(list(Path(f"/proc/{os.getppid()}/task").iterdir())),
        "leads_its_group": os.getpgid(0) == os.getpid(),
        "launched": launched(),
        "process": os.getpid(),
    }
    import torch

    found["instructions"] = torch.backends.cpu.get_cpu_capability()
    attend()
    target = Path(place)
    target.with_suffix(".part").write_text(json.dumps(found))
    target.with_suffix(".part").rename(target)
    sys.stdout.write("to the standard output\n")
    sys.stderr.write("to the standard error\n")
    sys.stderr.flush()
    if way == "exit":
        os._exit(int(rest[0]))
    if way == "signal":
        os.kill(os.getpid(), signal.Signals[rest[0]])
    time.sleep(600)
