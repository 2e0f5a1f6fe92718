"""Whether a graph is being exported."""

from __future__ import annotations

import sys


def is_exporting() -> bool:
    """Return whether ``torch.export`` traces a graph now.

    For functions that compute the same in two ways, of which one is faster and the other one has operators that a graph
    can hold. Does not import torch.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    check = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)  # new in torch 2.7
    return bool(check())
