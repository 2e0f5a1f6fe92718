"""A processor that shows instructions it does not run, as far as processes that try short types can tell.

A ``sitecustomize.py`` on the path of child processes kills those that try (or lets torch refuse there), unless oneDNN
is told to use fewer instruction sets. All other processes run as ever. Real processes, real signals.
"""

from __future__ import annotations

import os
from pathlib import Path

import neuro_divergent

SITE = """
import os, signal, sys

if "neuro_divergent.core.instruction_probe" in sys.orig_argv:
    with open({log!r}, "a") as log:
        log.write(os.environ.get("ONEDNN_MAX_CPU_ISA", "-") + " " + " ".join(sys.orig_argv[4:]) + "\\n")
    if os.environ.get("ONEDNN_MAX_CPU_ISA", "all") != {helps!r} and {broken!r} in (None, *sys.orig_argv):
        if {how!r} == "SIGILL":
            os.kill(os.getpid(), signal.SIGILL)
        import torch

        def refuse(*arguments, **settings):
            raise RuntimeError("could not create a primitive")

        torch.autocast = refuse
"""


class BrokenProcessor:
    """An environment for processes that run on such a processor.

    Args:
        place: Directory for what belongs to it, also the cache.
        helps: Limit with which short types work; ``None`` for none.
        how: ``SIGILL``, or ``error`` for an error of torch.
        broken: Type that has to be among those that are tried; ``None`` for any.
    """

    def __init__(self, place: Path, *, helps: str | None, how: str = "SIGILL", broken: str | None = None) -> None:
        site = place / "site"
        site.mkdir()
        self.cache = place / "cache"
        self._log = place / "tried.txt"
        content = SITE.format(log=str(self._log), helps=helps, how=how, broken=broken)
        (site / "sitecustomize.py").write_text(content, "utf-8")
        source = str(Path(neuro_divergent.__path__[0]).parent)
        given = {name: value for name, value in os.environ.items() if name != "ONEDNN_MAX_CPU_ISA"}
        self.environment = {
            **given,
            "PYTHONPATH": os.pathsep.join([str(site), source]),
            "XDG_CACHE_HOME": str(self.cache),
            "OMP_NUM_THREADS": "1",
        }

    @property
    def tried(self) -> list[str]:
        """What was tried until now: the limit and the types, a line for each process."""
        return self._log.read_text("utf-8").splitlines() if self._log.exists() else []
