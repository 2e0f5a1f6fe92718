"""Pages speak of what exists: names of Python, commands, settings and rules."""

from __future__ import annotations

import ast
import re
import shlex
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import typer.main

import neuro_divergent as nd
from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.diagnostics.rules.base import Rule
from neuro_divergent.forecasting.run_config import RunConfig, override, parse_setting
from neuro_divergent.interfaces.cli.main import app

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "decisions"] + [ROOT / "README.md"]
_BLOCK = re.compile(r"^( *)```+ ?([a-z]*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


def blocks(page: Path, *languages: str) -> list[str]:
    """Return the code of a page in some languages."""
    found = []
    for indent, language, code in _BLOCK.findall(page.read_text("utf-8")):
        if language in languages:
            found.append("\n".join(line.removeprefix(indent) for line in code.splitlines()))
    return found


def names_of(code: str) -> set[str]:
    """Return the dotted names below ``nd`` that some code uses; none where it is not Python alone."""
    lines = [line for line in code.splitlines() if not line.startswith(("!", "%", "pip "))]
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return set()
    found = set()
    for node in ast.walk(tree):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id == "nd":
            found.add(".".join(reversed(parts)))
    return found


def test_names_of_the_package_in_code_of_pages_exist() -> None:
    missing, seen = [], 0
    for page in PAGES:
        for name in {name for code in blocks(page, "python", "py") for name in names_of(code)}:
            seen += 1
            try:
                reduce(getattr, name.split("."), nd)
            except AttributeError:
                missing.append(f"{page.relative_to(ROOT)}: nd.{name}")
    assert seen > 300  # else the blocks are no longer found
    assert not missing


def test_commands_in_pages_exist_with_their_options() -> None:
    command = typer.main.get_command(app)
    missing, seen = [], 0
    for page in PAGES:
        for line in "\n".join(blocks(page, "sh", "")).replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|\||;", line.split(" #")[0]):
                if not part.strip().startswith("nd "):
                    continue
                seen += 1
                if wrong := _unknown_part(command, shlex.split(part.strip())[1:]):
                    missing.append(f"{page.relative_to(ROOT)}: {part.strip()}: {wrong}")
    assert seen > 80
    assert not missing


def _unknown_part(command: Any, words: list[str]) -> str | None:
    """Return the first option that a command does not have; a group has those of its commands."""
    current, known = command, _options(command)
    for word in words:
        if word in getattr(current, "commands", {}):
            current = current.commands[word]
            known |= _options(current).union(*map(_options, getattr(current, "commands", {}).values()))
        elif word.startswith("-") and not re.fullmatch(r"-\d+", word) and word.split("=")[0] not in known:
            return word
    return None


def _options(command: Any) -> set[str]:
    return {"--help", "-h", *(name for item in command.params for name in (*item.opts, *item.secondary_opts))}


def settings_with(setting: str) -> RunConfig:
    """Return the settings of a run after ``--set``."""
    values = {"data": {"path": "x.csv"}, "task": {"horizon": 3}, "model": {"name": "nhits"}}
    override(values, *parse_setting(setting))
    return RunConfig.from_dict(values)


def test_settings_that_troubleshooting_names_are_accepted() -> None:
    text = (DOCS / "guides" / "troubleshooting.md").read_text("utf-8")
    given = re.findall(r"--set\s+([a-z_.]+=[a-z0-9_.]+)", text)
    assert len(given) >= 6
    for setting in given:
        _ = settings_with(setting).architecture


def test_rules_that_troubleshooting_names_are_those_of_the_doctor() -> None:
    text = (DOCS / "guides" / "troubleshooting.md").read_text("utf-8")
    sentences = re.findall(r"[Rr]ules? ((?:`[a-z_]+`(?:, | and | or )?)+)", text)
    named = {rule for sentence in sentences for rule in re.findall(r"`([a-z_]+)`", sentence)}
    assert len(named) >= 12
    assert named <= set(Rule.registry.names())


def test_base_classes_that_the_page_about_components_names_are_in_their_packages() -> None:
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+`) \| ([^|]+) \|", (DOCS / "contributing" / "adding.md").read_text(), re.M)
    assert len(rows) >= 12
    source = ROOT / "src" / "neuro_divergent"
    for classes, packages in rows:
        files = [file for package in re.findall(r"`([^`]+)`", packages) for file in (source / package).rglob("*.py")]
        text = "".join(file.read_text("utf-8") for file in files)
        for name in re.findall(r"`([^`]+)`", classes):
            assert f"class {name}(" in text, name


@pytest.mark.parametrize("setting", ["training.optimiser.lr=1"])
def test_setting_that_does_not_exist_is_refused_by_the_same_check(setting: str) -> None:
    with pytest.raises(NeuroDivergentError):
        settings_with(setting)
