"""Files of the user's own, whose components are found by name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import neuro_divergent as nd
from neuro_divergent.core.own_components import VARIABLE, import_options, name_files
from neuro_divergent.interfaces.cli.import_options import imports_first

DOUBLED = """
from pathlib import Path

import neuro_divergent as nd

Path("imported").touch()


@nd.register("doubled_mae")
class DoubledMAE(nd.losses.PointLoss):
    \"\"\"Twice the absolute error.\"\"\"

    def cost(self, forecast, target):
        return 2 * (forecast - target).abs()
"""


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write a file with a loss into the current directory; nothing names it yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / f"own_loss_{tmp_path.name}.py"
    path.write_text(DOUBLED)
    yield path
    nd.losses.Loss.registry._members.pop("doubled_mae", None)
    sys.modules.pop(path.stem, None)


def test_a_component_is_found_by_name_in_a_file_that_was_named(own_file: Path) -> None:
    name_files([own_file.name])
    assert os.environ[VARIABLE] == str(own_file)
    assert type(nd.Task(horizon=3, loss="doubled_mae").loss).__name__ == "DoubledMAE"
    assert "doubled_mae" in nd.losses.Loss.registry.names()
    assert import_options() == f" --import {own_file.name}"


def test_files_of_the_variable_are_known_by_their_whole_path_to_other_processes(
    own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, os.pathsep.join([own_file.name, "json"]))
    name_files([])
    assert os.environ[VARIABLE].split(os.pathsep) == [str(own_file), "json"]


def test_a_file_that_nobody_named_is_not_imported_for_a_name_in_settings(own_file: Path) -> None:
    for name in ("doubled_mae", own_file.stem):
        with pytest.raises(nd.errors.ConfigError, match=r"Unknown loss .* For one of your own: nd --import FILE\."):
            nd.Task.from_dict({"horizon": 3, "loss": {"name": name}})
    assert not Path("imported").exists()


def test_a_named_file_is_not_imported_while_the_package_knows_the_name(own_file: Path) -> None:
    name_files([own_file.name])
    nd.Task(horizon=3, loss="huber")
    assert not Path("imported").exists()


def test_a_file_that_fails_is_named_with_the_reason(own_file: Path) -> None:
    own_file.write_text("1 / 0")
    name_files([own_file.name])
    for _ in range(2):  # it is not forgotten after the first time
        with pytest.raises(nd.errors.ConfigError, match=rf"{own_file.name}: cannot be imported: ZeroDivisionError"):
            nd.losses.Loss.registry.check("doubled_mae")


def test_a_file_called_like_an_installed_module_is_refused(own_file: Path) -> None:
    own_file.rename("statistics.py")
    name_files(["statistics.py"])
    with pytest.raises(nd.errors.ConfigError, match="another module is called 'statistics'"):
        nd.losses.Loss.registry.check("doubled_mae")


@pytest.mark.parametrize("file", ["missing.py", "not a module", "../x"])
def test_what_is_no_file_and_no_module_is_refused(own_file: Path, file: str) -> None:
    with pytest.raises(nd.errors.InputError, match="--import"):
        name_files([file])


@pytest.mark.skipif(os.name == "nt", reason="no file is called so there")
def test_a_path_that_would_be_read_as_two_is_refused(own_file: Path) -> None:
    place = own_file.parent / "a:b"
    place.mkdir()
    own_file.rename(place / own_file.name)
    with pytest.raises(nd.errors.InputError, match="':' separates files"):
        name_files([f"a:b/{own_file.name}"])
    assert not os.environ[VARIABLE]


def test_a_component_cannot_take_a_name_of_the_package(own_file: Path) -> None:
    with pytest.raises(nd.errors.ConfigError, match="'huber' is one of this package; give yours another name"):

        @nd.register("huber")
        class Other(nd.losses.PointLoss):
            """Not ours."""


@pytest.mark.parametrize("name", ["Doubled", "doubled-mae", ""])
def test_a_name_that_no_setting_could_find_is_refused(name: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match="small letters, digits and _ only"):

        @nd.register(name)
        class Other(nd.losses.PointLoss):
            """Unreachable."""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("train a.csv --import m.py -m own", "--import m.py train a.csv -m own"),
        ("--import m.py train a.csv --import=n.py", "--import m.py --import=n.py train a.csv"),
        ("train -- --import m.py", "train -- --import m.py"),
    ],
)
def test_imports_are_read_before_the_command_wherever_they_stand(words: str, expected: str) -> None:
    assert imports_first(words.split()) == expected.split()


def test_the_command_line_refuses_a_missing_file_in_one_line(own_file: Path) -> None:
    command = [sys.executable, "-m", "neuro_divergent", "presets", "--import", "missing.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: --import: missing.py: there is no such file.\n")
