"""``nd registry list``, ``show`` and ``diff``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.registry.options import USUAL, BlobPlace, Location, VersionName, open_registry

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.registry.model_version import ModelVersion

EXAMPLES = """\b
Examples:
  nd registry list
  nd registry list sales --archived --json
  nd registry show sales@champion
  nd registry diff sales@champion sales@challenger
  nd registry promote sales==v3 --reason 'better on the test part'
  nd registry list --registry postgresql://me@host/models --blobs s3://bucket/models
"""
_LONGEST = 60


def list_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One model.", show_default=False)] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Also those in the archive.")] = False,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """List versions of one model or of all, the newest last."""
    from neuro_divergent.interfaces.cli.screen import Screen, new_table

    with open_registry(location, blobs) as registry:
        versions = registry.list(name, archived=archived)
    screen = Screen(as_json=as_json)
    if versions:
        table = new_table("version", "number", "aliases", "kind", "horizon", "MAE", "data until", "registered")
        for version in versions:
            table.add_row(*_cells(version), style="dim" if version.archived else "")
        screen.say(table)
    else:
        screen.say(f"No versions in {location}. 'nd registry register RUN NAME' makes one.")
    screen.result({"registry": location, "versions": [version.to_dict() for version in versions]})


def show_command(
    version: VersionName, location: Location = USUAL, blobs: BlobPlace = None, as_json: AsJson = False
) -> None:
    """Show everything that is recorded about a version."""
    from neuro_divergent.interfaces.cli.screen import Screen

    with open_registry(location, blobs) as registry:
        found = registry.get(version)
    screen = Screen(as_json=as_json)
    screen.facts(_facts(found))
    screen.result(found.to_dict())


def diff_command(
    first: VersionName,
    second: VersionName,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Show how two versions differ: interface, settings, data, code, environment and scores."""
    from neuro_divergent.core.formatting import format_number
    from neuro_divergent.interfaces.cli.screen import Screen, new_table

    with open_registry(location, blobs) as registry:
        found = registry.diff(first, second)
    screen = Screen(as_json=as_json)
    if found.is_same_model:
        screen.say("Their files are the same.")
    if found.differences:
        table = new_table("part", "name", found.a, found.b)
        for item in found.differences:
            table.add_row(item.section, item.name, _short(item.a), _short(item.b))
        screen.say(table)
    if found.scores:
        table = new_table("score", found.a, found.b, right=(found.a, found.b))
        for name, pair in found.scores.items():
            table.add_row(name, *("" if value is None else format_number(value) for value in pair))
        screen.say("", table, *found.notes)
    screen.result(found.to_dict())


def _cells(version: ModelVersion) -> list[str]:
    from neuro_divergent.core.formatting import format_number

    mae = _own_scores(version).get("mae")
    until = (version.data or {}).get("end")
    return [
        f"{version.name}=={version.version}",
        f"v{version.number}",
        ", ".join(version.aliases) or ("archived" if version.archived else ""),
        version.kind,
        str(version.interface["horizon"]),
        "" if not isinstance(mae, (int, float)) else format_number(float(mae)),
        "" if until is None else str(until),
        version.created[:16].replace("T", " "),
    ]


def _facts(version: ModelVersion) -> list[tuple[str, str]]:
    columns = version.interface["columns"]
    scores, data = version.scores or {}, version.data or {}
    facts = [
        ("version", str(version)),
        ("aliases", ", ".join(version.aliases)),
        ("kind", version.kind),
        ("digest", version.digest),
        ("parent", "" if version.parent is None else f"v{version.parent}"),
        ("run", version.run or ""),
        ("horizon", f"{version.interface['horizon']} steps of {version.interface['frequency']}"),
        ("columns", ", ".join(f"{role} {_short(value)}" for role, value in columns.items() if value)),
        ("outputs", _short(version.interface["outputs"])),
        ("data", ", ".join(f"{key} {_short(value)}" for key, value in data.items() if value is not None)),
        ("scores", ", ".join(f"{key} {_short(value)}" for key, value in _own_scores(version).items())),
        ("scored on", f"{scores.get('part')}, {scores.get('windows')} windows" if scores.get("part") else ""),
        ("gate", _short(version.gate) if version.gate else ""),
        ("privacy", _short(version.privacy) if version.privacy else ""),
        ("code", ", ".join(f"{key} {_short(value)}" for key, value in version.code.items() if value is not None)),
        ("tags", ", ".join(f"{key}={value}" for key, value in version.tags.items())),
        ("registered", version.created),
        ("archived", "yes" if version.archived else ""),
    ]
    return [(word, meaning) for word, meaning in facts if meaning]


def _own_scores(version: ModelVersion) -> dict[str, Any]:
    """Return the scores of the model, without those of the baselines."""
    from neuro_divergent.lifecycle.registry.version_diff import own_scores

    return {name: value for name, value in own_scores(version).items() if name in ("mae", "rmse", "mase", "skill")}


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
