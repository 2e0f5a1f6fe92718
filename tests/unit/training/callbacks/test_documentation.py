"""The page about callbacks tells of all of them, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import torch

import neuro_divergent as nd

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "guides" / "callbacks.md").read_text("utf-8")


def test_the_callback_on_the_page_stops_a_training() -> None:
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class GoodEnough" in block)
    x = torch.linspace(-1, 1, 32)[:, None]
    names: dict = {"nd": nd, "network": torch.nn.Linear(1, 1), "train": (x, 2 * x), "validation": (x, 2 * x)}
    names["config"] = nd.TrainingConfig(max_steps=2000, optimizer=nd.AdamW(lr=0.1), validate_every=20, threads=1)
    torch.manual_seed(0)
    exec(code, names)
    assert "0.01" in names["trainer"].state.stop_reason
    assert names["trainer"].state.step < 2000


def test_every_event_and_every_module_is_on_the_page() -> None:
    methods = [name for name, value in vars(nd.callbacks.Callback).items() if callable(value)]
    events = [name for name in methods if not name.startswith("_") and "state" not in name]
    modules = [path.stem for path in (ROOT / "src/neuro_divergent/training/callbacks").glob("[a-z]*.py")]
    missing = [
        name for name in [*events, *modules] if name not in ("base", "callback_list") and f"`{name}`" not in PAGE
    ]
    assert not missing
