"""``nd panel compact``: all parts of a panel as one."""

from __future__ import annotations

from neuro_divergent.interfaces.cli.options import AsJson, Quiet
from neuro_divergent.interfaces.cli.panel.options import PanelPath

EXAMPLES = """\b
Examples:
  nd panel compact panel/
"""


def compact(panel: PanelPath, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Write a panel again as one part, so that the rows of a series lie together. Needs room for both meanwhile."""
    from neuro_divergent.data.panel_store.compaction import compact as join_parts
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.panel.byte_progress import byte_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    screen = Screen(quiet=quiet, as_json=as_json)
    with ends_with(f"Interrupted; {panel} is as it was."), byte_progress(screen.messages, "Writing") as progress:
        parts = join_parts(panel, progress=progress)
    screen.say(f"{panel}: {parts:,} parts are one now." if parts > 1 else f"{panel}: has one part already.")
    screen.result({"panel": str(panel), "parts_before": parts})
