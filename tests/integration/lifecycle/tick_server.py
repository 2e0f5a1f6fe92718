"""Runs ticks in forked processes, some of which kill themselves after some of their steps.

It reads a line for each tick: directory, time, and the number of the step after which to kill it, 0 for none; and
answers with the exit code. A process that has imported everything once is forked for each tick, which takes
milliseconds instead of seconds.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from datetime import datetime


def tick(directory: str, now: str, *, last_step: int) -> None:
    from neuro_divergent.lifecycle.continuous.continuous import Continuous

    steps = []

    def boundary(step: str) -> None:
        steps.append(step)
        if len(steps) == last_step:
            os.kill(os.getpid(), signal.SIGKILL)

    Continuous(directory).tick(now=datetime.fromisoformat(now), boundary=boundary)


def main() -> None:
    import torch

    import neuro_divergent.lifecycle.continuous.tick

    del neuro_divergent
    torch.set_num_threads(1)
    for line in sys.stdin:
        directory, now, last_step = line.split()
        child = os.fork()
        if child == 0:
            try:
                tick(directory, now, last_step=int(last_step))
            except BaseException:  # noqa: BLE001 - whatever it is, this is a process of its own
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
