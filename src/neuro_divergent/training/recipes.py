"""How each family of architectures is best trained, as far as it was measured."""

from __future__ import annotations

from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    "linear": {"optimizer": {"name": "adamw", "lr": 5e-3}},
    "mlp": {},
    "recurrent": {},
    "convolutional": {},
    "transformer": {},
    "graph": {},
}
