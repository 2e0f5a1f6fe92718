"""How each family of architectures is best trained, as far as it was measured (benchmarks/families.py).

An empty recipe is the defaults (AdamW at 1e-3, a warm-up and a cosine, gradients clipped at norm 1): nothing else has
been shown to be better there with the default number of steps. A rate of 3e-3 gives 1.005 times the error in the family
``mlp``, 1.05 in ``recurrent``, 1.00 in ``convolutional`` and 1.015 in ``transformer``.
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
