"""Completion by TAB, as the script in a real shell does it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neuro_divergent.interfaces.cli.completion.answer import split_line
from neuro_divergent.interfaces.cli.completion.words import complete
from neuro_divergent.interfaces.cli.main import commands

TRY = r"""
source script.bash
for line in "$@"; do
    COMP_LINE="$line"; COMP_POINT=${#line}; COMP_WORDBREAKS=$' \t\n"'"'"'><=;|&(:'
    _nd_completion ./nd
    (IFS='|'; printf '%s\n' "${COMPREPLY[*]}")
done
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory, with tables, runs, a study and the command itself."""
    for run, age in (("old", 100), ("new", 10)):
        (tmp_path / "runs" / run).mkdir(parents=True)
        status = tmp_path / "runs" / run / "status.json"
        status.write_text("{}", "utf-8")
        os.utime(status, (2e9 - age, 2e9 - age))
    (tmp_path / "studies" / "sales-tpe").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    for name in ("sales.csv", "shop a.csv", "notes.md", "run.toml", "model.onnx"):
        (tmp_path / name).touch()
    (tmp_path / "nd").write_text(
        f"#!{sys.executable}\nfrom neuro_divergent.interfaces.cli.main import run\nrun()\n", "utf-8"
    )
    (tmp_path / "nd").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(line: str) -> list[str]:
    return [item.text for item in complete(commands(), split_line(line)[1:])]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_names_runs_and_files(place: Path) -> None:
    expected = {
        "nd trai": "train",
        "nd train sales.csv --horiz": "--horizon",
        "nd train sales.csv --model nhi": "nhits",
        "nd train sales.csv --model=nhi": "nhits",  # for bash, what follows the sign is a word of its own
        "nd train sh": r"shop\ a.csv",
        "nd train 'unclosed": "",
    }
    script = subprocess.run([place / "nd", "completion", "bash"], capture_output=True, text=True, check=True).stdout
    (place / "script.bash").write_text(script, "utf-8")
    run = ["bash", "--norc", "-c", TRY, "try", *expected]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    assert dict(zip(expected, result.stdout.split("\n"), strict=False)) == expected
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nd pan", ["panel"]),
        ("nd panel ap", ["append"]),
        ("nd --debug tra", ["train"]),
        ("nd --import file.py tra", ["train"]),
        ("nd search --mod", ["--model"]),
        ("nd search sales.csv --model nlinear,nhi", ["nlinear,nhits"]),
        ("nd search show stu", ["studies/sales-tpe"]),
        ("nd runs comp", ["compare"]),
        ("nd runs compare o", ["old"]),
        ("nd runs --sort ti", ["time"]),
        ("nd predict m --future x --fut", []),  # each can be given once
        ("nd train x --past a --pas", ["--past"]),
        ("nd train x --missing f", ["forward"]),
        ("nd train x --schedule one", ["one_cycle"]),
        ("nd train x --preset b", ["best"]),
        ("nd auto x --preset b", ["balanced", "best"]),
        ("nd train x --set training.max_st", ["training.max_steps="]),
        ("nd train x --horizon ", []),
        ("nd train x -- --mod", []),
        ("nd train x -ofile --resu", ["--resume"]),
        ("nd train run", ["run.toml", "runs/"]),
        ("nd serve m", ["model.onnx"]),
        ("nd predict runs/new sa", ["sales.csv"]),
        ("nd presets q", ["quick"]),
        ("nd models croston_s", ["croston_sba"]),
        ("nd completion f", ["fish"]),
        ("nd nonsense x", []),
    ],
)
def test_a_word_is_completed_by_what_comes_before_it(line: str, expected: list[str], place: Path) -> None:
    assert words(line) == expected


def test_nothing_left_to_name_offers_the_options(place: Path) -> None:
    assert {"--horizon", "--model", "--help"} <= set(words("nd train sales.csv "))
    assert words("nd predict ") == ["runs/new", "runs/old", "model.onnx"]


def test_every_command_answers_and_every_kind_of_value_belongs_to_a_command(place: Path) -> None:
    from neuro_divergent.interfaces.cli.completion.values import _SOURCES
    from neuro_divergent.interfaces.cli.completion.words import Place

    pending, known = [Place(commands())], set()
    while pending:
        found = pending.pop()
        for name, command in getattr(found.command, "commands", {}).items():
            pending.append(Place(command, (*found.path, name)))
        for item in found.command.params:
            flags = tuple(flag for flag in item.opts if flag.startswith("--"))
            known |= {flags, (*found.path, *flags), (*found.path, item.name), (item.metavar or item.name,)}
        assert complete(commands(), [*found.path, "--h"])[-1].text == "--help"
    assert set(_SOURCES) <= known


def test_completion_is_quick_and_loads_neither_torch_nor_polars(place: Path) -> None:
    for line in ("nd train sales.csv --mo", "nd train sales.csv --model n", "nd train sales.csv --missing "):
        command = [sys.executable, "-X", "importtime", place / "nd", "__complete", "bash", line]
        before = os.times()
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        after = os.times()
        loaded = {row.rsplit("|", 1)[-1].strip() for row in result.stderr.splitlines()}
        assert result.stdout
        assert not loaded & {"torch", "polars", "rich", "jinja2"}
        taken = after.children_user + after.children_system - before.children_user - before.children_system
        assert taken < 1.0  # of the processor; 0.1 to 0.2 s on a usual machine


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_and_descriptions(
    shell: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from neuro_divergent.interfaces.cli.completion import answer, completion

    completion(shell)
    assert "__complete" in capsys.readouterr().out
    answer(commands(), [shell, "panel", "app"])
    assert capsys.readouterr().out == "append\tAdd later rows of known series and new series to a panel.\n"
    answer(commands(), [shell, "train", "sales.csv", "--model=nhi"])
    assert capsys.readouterr().out == "--model=nhits\n"
