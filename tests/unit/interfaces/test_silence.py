"""What native code writes is held back; what Python writes is not."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import os, sys
from neuro_divergent.interfaces.cli.silence import silenced
try:
    with silenced():
        os.write(2, b"native ")
        sys.stderr.write("python ")
        if {fails}:
            raise ValueError
except ValueError:
    pass
sys.stderr.write("after")
"""


@pytest.mark.parametrize(("fails", "expected"), [(False, "python native after"), (True, "python after")])
def test_native_noise_is_dropped_only_before_an_error(fails: bool, expected: str) -> None:
    done = subprocess.run([sys.executable, "-c", CODE.format(fails=fails)], capture_output=True, text=True, check=True)
    assert done.stderr == expected


def test_it_works_without_standard_error() -> None:
    code = "import sys; sys.stderr = None\n" + CODE.format(fails=False).replace('sys.stderr.write("python ")', "pass")
    code = code.replace('sys.stderr.write("after")', "print('fine')")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "fine\n"
