"""How each family of architectures is best trained, as far as it was measured (benchmarks/families.py).

An empty recipe is the defaults: nothing else has been shown to be better there with the default number of steps.
"""

from __future__ import annotations

from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    # A convex problem bears a higher rate, and ends nearer to its minimum with it.
    "linear": {"optimizer": {"name": "adamw", "lr": 3e-3}},
    "mlp": {},
    "recurrent": {},
    "convolutional": {},
    "transformer": {},
    "graph": {},
}
