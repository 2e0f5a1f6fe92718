"""Packages that are extras: the error names what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.core.packages import load_package, missing_extra

WITHOUT_MSGSPEC = """
import sys
sys.modules["msgspec"] = None  # as if it were not installed
"""


def test_package_that_is_missing_is_told_with_its_extra() -> None:
    with pytest.raises(MissingDependencyError, match=r'needs the package no_such, .*neuro-divergent\[lifecycle\]"'):
        load_package("no_such.module", "this needs", "lifecycle")


def test_module_that_is_no_package_of_an_extra_is_left_alone() -> None:
    assert missing_extra(ModuleNotFoundError(name="neuro_divergent.nothing")) is None
    assert "neuro-divergent[export]" in str(missing_extra(ModuleNotFoundError(name="onnx.helper")))


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT_MSGSPEC + code], capture_output=True, text=True, check=False)


def test_names_of_serving_without_its_extra_say_which_to_install() -> None:
    made = run("import neuro_divergent as nd; nd.serving.load")
    assert "MissingDependencyError" in made.stderr
    assert 'pip install "neuro-divergent[serving]"' in made.stderr


def test_command_without_its_extra_says_which_to_install_in_one_line() -> None:
    made = run("from neuro_divergent.interfaces.cli.main import run\nsys.argv = ['nd', 'serve', 'x.onnx']\nrun()")
    assert made.returncode == 2
    assert 'pip install "neuro-divergent[serving]"' in made.stderr
    assert made.stderr.count("\n") == 1
