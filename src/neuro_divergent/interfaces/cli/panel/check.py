"""``nd panel check``: whether a panel is what was written."""

from __future__ import annotations

from neuro_divergent.interfaces.cli.options import AsJson, Quiet
from neuro_divergent.interfaces.cli.panel.options import PanelPath

EXAMPLES = """\b
Examples:
  nd panel check panel/
  nd panel check panel/ --json
"""


def check(panel: PanelPath, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Read every file of a panel and compare its SHA-256 with the manifest. Exit code 3 if one differs."""
    from neuro_divergent.core.formatting import format_bytes, format_count
    from neuro_divergent.data.panel_store.checking import check_panel
    from neuro_divergent.interfaces.cli.panel.byte_progress import byte_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    screen = Screen(quiet=quiet, as_json=as_json)
    with byte_progress(screen.messages, "Checking") as progress:
        found = check_panel(panel, progress=progress)
    screen.say(f"{panel}: {format_count(found.files, 'file')}, {format_bytes(found.bytes)}, all as written.")
    screen.result({"panel": str(panel), "files": found.files, "bytes": found.bytes, "parts": found.parts})
