"""``nd panel info``: what a panel has."""

from __future__ import annotations

from typing import Any

from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.panel.options import PanelPath

EXAMPLES = """\b
Examples:
  nd panel info panel/
  nd panel info panel/ --json
  nd panel append panel/ today.parquet
  nd panel check panel/
"""


def info(panel: PanelPath, as_json: AsJson = False) -> None:
    """Show rows, series, times, columns, size, parts and digest of a panel. Its values are not read."""
    from neuro_divergent.data.panel_store.information import describe_stored
    from neuro_divergent.interfaces.cli.screen import Screen

    found = describe_stored(panel)
    screen = Screen(as_json=as_json)
    screen.facts(_facts(found))
    screen.result(found)


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    from neuro_divergent.core.formatting import format_bytes

    lengths = f"{found['shortest']:,}"
    if found["longest"] != found["shortest"]:
        lengths += f" to {found['longest']:,}"
    facts = [
        ("panel", found["panel"]),
        ("rows", f"{found['rows']:,}"),
        ("series", f"{found['series']:,} of {lengths} rows"),
        ("times", f"{found['begin']} to {found['end']}"),
        ("frequency", found["frequency"]),
    ]
    for role, names in found["columns"].items():
        listed = [names] if isinstance(names, str) else names or []
        shown = [f"{name} ({found['categories'][name]:,} categories)" if name in found["categories"] else name
                 for name in listed]  # fmt: skip
        if shown:
            facts.append((role, ", ".join(shown)))
    policies = ", ".join(f"{name} {value}" for name, value in found["policies"].items())
    return [
        *facts,
        ("policies", policies),
        ("size", f"{format_bytes(found['bytes'])}, {found['bytes_per_row']:g} bytes per row"),
        ("parts", f"{found['parts']:,}"),
        ("SHA-256", found["sha256"]),
    ]
