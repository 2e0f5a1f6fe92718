"""The page about callbacks tells of all of them, and shows the example as it is."""

from __future__ import annotations

from pathlib import Path

import neuro_divergent as nd

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "callbacks.md").read_text("utf-8")


def test_the_callback_on_the_page_is_the_one_of_the_example() -> None:
    shown = PAGE[PAGE.index("class GoodEnough") :].split("\n\nnd.Trainer")[0]
    assert shown in (ROOT / "examples" / "own_callback.py").read_text("utf-8")


def test_every_event_and_every_module_is_on_the_page() -> None:
    methods = [name for name, value in vars(nd.callbacks.Callback).items() if callable(value)]
    events = [name for name in methods if not name.startswith("_") and "state" not in name]
    modules = [path.stem for path in (ROOT / "src/neuro_divergent/training/callbacks").glob("[a-z]*.py")]
    missing = [
        name for name in [*events, *modules] if name not in ("base", "callback_list") and f"`{name}`" not in PAGE
    ]
    assert not missing
