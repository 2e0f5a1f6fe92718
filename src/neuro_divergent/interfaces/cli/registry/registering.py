"""``nd registry register``, ``tag`` and ``archive``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.registry.options import USUAL, BlobPlace, Location, VersionName, open_registry

EXAMPLES = """\b
Examples:
  nd registry register runs/sales-nhits-20260101-120000 sales
  nd registry register model/ sales --tag owner=me --without-context
  nd registry tag sales==v3 approved=yes comment=
  nd registry archive sales==v1
"""


def register_command(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Directory of a run, or of a saved model.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the model in the registry.")],
    run: Annotated[
        Path | None, typer.Option("--run", help="Run that made a saved model, for its evidence.", show_default=False)
    ] = None,
    parent: Annotated[
        int | None, typer.Option("--parent", help="Version it was made from (the champion).", show_default=False)
    ] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", metavar="KEY=VALUE", show_default=False)] = None,
    promote: Annotated[
        str | None, typer.Option("--promote", metavar="ALIAS", help="Alias to point at it.", show_default=False)
    ] = None,
    without_context: Annotated[
        bool, typer.Option("--without-context", help="Leave out values and ids of series.")
    ] = False,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Store a trained model as a new version; the same model again is the same version."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.found_runs import latest_model
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.registry.address import check_alias

    pairs = parse_tags(tags or [])
    if promote is not None:
        check_alias(promote)
    if not path.is_dir():
        what = "is not a directory" if path.exists() else "not found"
        raise InputError(f"{path}: {what}; give a run or a model, such as {latest_model() or 'runs/sales-nhits'}.")
    given = {key: value for key, value in pairs.items() if value is not None}
    with open_registry(location, blobs, create=True) as registry:
        version = registry.register(path, name, run=run, parent=parent, tags=given, context=not without_context)
        if promote is not None:
            registry.promote(f"{name}==v{version.number}", promote, reason="registered with --promote")
            version = registry.get(f"{name}==v{version.number}")
        place = _place(registry.location, blobs)
    promoting = f"nd registry promote {name}==v{version.number}"
    screen = Screen(as_json=as_json)
    screen.facts(
        [
            ("version", str(version)),
            ("kind", version.kind),
            ("digest", version.digest),
            ("next", (promoting if promote is None else f"nd serve {name}@{promote}") + place),
        ]
    )
    screen.result(version.to_dict())


def _place(location: str, blobs: str | None) -> str:
    """Return the options by which another command finds this registry."""
    given = {"--registry": None if location == USUAL else location, "--blobs": blobs}
    return "".join(f" {option} {shlex.quote(value)}" for option, value in given.items() if value)


def tag_command(
    version: VersionName,
    tags: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="Tags; KEY= removes one.")],
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Set or remove tags of a version."""
    from neuro_divergent.interfaces.cli.screen import Screen

    pairs = parse_tags(tags)
    with open_registry(location, blobs) as registry:
        found = registry.tag(version, **pairs)
    screen = Screen(as_json=as_json)
    screen.say(f"{found}: {', '.join(f'{key}={value}' for key, value in found.tags.items()) or 'no tags'}")
    screen.result(found.to_dict())


def archive_command(
    version: VersionName,
    undo: Annotated[bool, typer.Option("--undo", help="Take it out of the archive.")] = False,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Put a version that no alias points at into the archive; its files stay."""
    from neuro_divergent.interfaces.cli.screen import Screen

    with open_registry(location, blobs) as registry:
        found = registry.archive(version, undo=undo)
    screen = Screen(as_json=as_json)
    screen.say(f"{found} is {'archived' if found.archived else 'not archived'}.")
    screen.result(found.to_dict())


def parse_tags(texts: list[str]) -> dict[str, str | None]:
    """Read ``KEY=VALUE``; an empty value removes the tag."""
    from neuro_divergent.core.errors import InputError

    tags: dict[str, str | None] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise InputError(f"{text!r} is no tag; write KEY=VALUE, or KEY= to remove one.")
        tags[key] = value or None
    return tags
