"""The process that a supervisor starts: the same commands, in a process that can be asked why it hangs.

``python -m neuro_divergent.interfaces.cli.supervised train ...`` is ``nd train ...`` that ends when its supervisor is
gone and shows where it was when it is aborted.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import threading
import time

PARENT = "ND_SUPERVISOR_PIPE"
"""Environment variable with the number of a pipe that ends with the supervisor."""

_AGENT = "TORCHELASTIC_RUN_ID"
_LOOK = 1.0
_SECONDS_TO_SAVE = 30.0


def attend() -> None:
    """Show all stacks when the process is aborted, and end it when the supervisor ends."""
    faulthandler.enable()
    pipe = os.environ.pop(PARENT, "")
    if pipe.isascii() and pipe.isdecimal():
        os.set_inheritable(int(pipe), False)
        threading.Thread(target=_end_with, args=(int(pipe),), daemon=True).start()
    if multiprocessing.parent_process() is not None:  # this one was forked
        threading.Thread(target=_end_with_parent, daemon=True).start()


def attend_agent() -> None:
    """End the process when an agent of torchrun started it and is gone, also one that was killed."""
    if _AGENT in os.environ:
        threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    _end()


def _end_with(pipe: int) -> None:
    """Wait for the end of a pipe that only the supervisor has open for writing."""
    try:
        while os.read(pipe, 1):
            pass
    except OSError:  # there is no such pipe: the variable was set by something else
        return
    _end()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        _end()


def _end() -> None:
    # As after Ctrl-C: a checkpoint is saved. If that does not finish, there is no process left to wait for it.
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_SAVE)
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def main() -> None:
    """Run the command line, and exit."""
    attend()
    from neuro_divergent.interfaces.cli.main import run

    run()


if __name__ == "__main__":
    main()
