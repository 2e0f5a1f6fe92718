"""The guide of the command line says what the code does."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuro_divergent.core import errors
from neuro_divergent.interfaces.cli.completion.words import Place
from neuro_divergent.interfaces.cli.main import commands

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "command-line.md").read_text("utf-8")


def section(title: str) -> str:
    return re.split(r"^## ", GUIDE, flags=re.MULTILINE)[
        [part.partition("\n")[0] for part in re.split(r"^## ", GUIDE, flags=re.MULTILINE)].index(title)
    ]


def all_commands() -> Iterator[tuple[str, Any]]:
    pending = [Place(commands())]
    while pending:
        place = pending.pop(0)
        subcommands = getattr(place.command, "commands", {})
        pending += [Place(command, (*place.path, name)) for name, command in subcommands.items()]
        yield " ".join(("nd", *place.path)), place.command


def test_every_environment_variable_of_the_source_is_in_the_table_and_no_other() -> None:
    source = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"\bND_[A-Z_]*[A-Z]\b", path.read_text("utf-8"))
    }
    assert source == set(re.findall(r"`(ND_[A-Z_]+)`", section("Environment variables")))


def test_every_exit_code_is_in_the_table() -> None:
    codes = {0, 1, 10, 11, 12, 7, 130, 143}
    codes |= {item.exit_code for item in vars(errors).values() if isinstance(getattr(item, "exit_code", None), int)}
    rows = re.findall(r"^\| ([\d, ]+) \|", section("Exit codes"), re.MULTILINE)
    assert {int(code) for row in rows for code in row.split(",")} == codes


def test_every_command_with_json_is_listed() -> None:
    have = {path for path, command in all_commands() if any("--json" in item.opts for item in command.params)}
    listed = " ".join(section("Results for programs").partition("Commands with `--json`:")[2].split())
    assert set(re.findall(r"`(nd [a-z -]+)`", listed)) == have


def test_commands_and_options_of_the_guide_exist() -> None:
    known = dict(all_commands())
    text = re.sub(r"^\$.*$", "", GUIDE, flags=re.MULTILINE)  # wrong on purpose
    calls = [
        *re.findall(r"`(nd [^`]+)`", text),
        *re.findall(r"^(?:.*&& )?(nd .*?)(?: {2,}#.*| \|.*| >.*)?$", text, re.MULTILINE),
    ]
    assert len(calls) > 30
    for call in calls:
        words = shlex.split(call.replace("...", ""))
        path = next(" ".join(words[:size]) for size in (3, 2, 1) if " ".join(words[:size]) in known)
        options = {name for item in known[path].params for name in item.opts} | {"--help"}
        if path in ("nd search", "nd auto", "nd runs"):
            options |= {name for item in known[f"{path} {known[path].default}"].params for name in item.opts}
        used = {word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z].*", word)}
        assert used - {"--json"} <= options or "--json" in options, call
        assert used <= options | {"--json"}, call
