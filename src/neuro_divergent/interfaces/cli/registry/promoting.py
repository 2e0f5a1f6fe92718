"""``nd registry promote``, ``rollback``, ``remove-alias`` and ``history``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.registry.options import (
    USUAL,
    BlobPlace,
    Expect,
    Location,
    Reason,
    VersionName,
    open_registry,
)

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.registry.registry import Registry

EXAMPLES = """\b
Examples:
  nd registry promote sales==v3 --reason 'better on the test part'
  nd registry promote sales --alias challenger
  nd registry rollback sales --reason 'worse than naive since Monday'
  nd registry remove-alias sales challenger
  nd registry history sales
"""

ModelName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the model.")]


def promote_command(
    version: VersionName,
    alias: Annotated[str, typer.Option("--alias", help="champion, challenger or another name.")] = "champion",
    reason: Reason = "",
    expect: Expect = None,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Point an alias at a version; the old champion becomes 'previous'."""
    with open_registry(location, blobs) as registry:
        registry.promote(version, alias, reason=reason, expect=expect)
        _show(registry, version.partition("@")[0].partition("==")[0], as_json=as_json)


def rollback_command(
    name: ModelName,
    reason: Reason = "",
    expect: Expect = None,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Make the previous champion champion again."""
    with open_registry(location, blobs) as registry:
        registry.rollback(name, reason=reason, expect=expect)
        _show(registry, name, as_json=as_json)


def remove_alias_command(
    name: ModelName,
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="The alias.")],
    reason: Reason = "",
    expect: Expect = None,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Remove an alias, such as that of a challenger that lost."""
    with open_registry(location, blobs) as registry:
        registry.remove_alias(name, alias, reason=reason, expect=expect)
        _show(registry, name, as_json=as_json)


def history_command(
    name: ModelName, location: Location = USUAL, blobs: BlobPlace = None, as_json: AsJson = False
) -> None:
    """Show how the aliases of a model moved, the oldest change first."""
    from neuro_divergent.interfaces.cli.screen import Screen, new_table

    with open_registry(location, blobs) as registry:
        changes = registry.history(name)
    screen = Screen(as_json=as_json)
    if changes:
        table = new_table("revision", "time", "action", "alias", "from", "to", "reason", right=("revision",))
        for change in changes:
            numbers = ("" if number is None else f"v{number}" for number in (change.before, change.after))
            when = change.created[:16].replace("T", " ")
            table.add_row(str(change.revision), when, change.action, change.alias, *numbers, change.reason)
        screen.say(table)
    else:
        screen.say(f"The aliases of {name} never moved.")
    screen.result({"name": name, "changes": [change.to_dict() for change in changes]})


def _show(registry: Registry, name: str, *, as_json: bool) -> None:
    from neuro_divergent.interfaces.cli.screen import Screen

    aliases, screen = registry.aliases(name), Screen(as_json=as_json)
    shown = ", ".join(f"{alias} is v{number}" for alias, number in aliases.items())
    revision = registry.revision(name)
    screen.say(f"{name}: {shown or 'no aliases'} (revision {revision}).")
    screen.result({"name": name, "aliases": aliases, "revision": revision})
