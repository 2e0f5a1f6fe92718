"""Short types are tried in a process of their own, with fewer instruction sets where that helps, and refused else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.core.processor import read_processor
from tests.broken_processor import BrokenProcessor

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")

FIND = """
import json, os, sys
from neuro_divergent.core.instructions import find_instructions
found = find_instructions()
assert "torch" not in sys.modules
print(json.dumps({"problems": found.problems, "limit": found.limit}))
"""
REQUIRE = """
import json, os, sys
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.instructions import require_usable
try:
    require_usable("bf16")
    problem = None
except ConfigError as error:
    problem = str(error)
print(json.dumps([problem, os.environ.get("ONEDNN_MAX_CPU_ISA")]))
"""


def run(code: str, machine: BrokenProcessor, **variables: str) -> Any:
    """Return what a script prints on a machine."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**machine.environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_limit_that_helps_is_found_set_and_remembered(tmp_path: Path) -> None:
    machine = BrokenProcessor(tmp_path, helps="AVX512_CORE_BF16")
    assert run(FIND, machine) == {"problems": {}, "limit": "AVX512_CORE_BF16"}
    tried = machine.tried
    assert tried == ["- bf16 fp16", "- fp16", "AVX512_CORE_BF16 bf16 fp16"]
    assert run(REQUIRE, machine) == [None, "AVX512_CORE_BF16"]
    assert run(REQUIRE, machine, ONEDNN_MAX_CPU_ISA="AVX512_CORE_BF16") == [None, "AVX512_CORE_BF16"]
    assert machine.tried == tried


def test_error_of_torch_counts_as_much_as_a_signal(tmp_path: Path) -> None:
    machine = BrokenProcessor(tmp_path, helps="AVX512_CORE_BF16", how="error")
    assert run(FIND, machine) == {"problems": {}, "limit": "AVX512_CORE_BF16"}


def test_type_that_nothing_helps_is_refused_with_the_signal_and_what_to_use(tmp_path: Path) -> None:
    machine = BrokenProcessor(tmp_path, helps=None, broken="bf16")
    found = run(FIND, machine)
    assert found["limit"] is None
    assert found["problems"].keys() == {"bf16"}  # fp16 is tried apart from what kills
    assert "SIGILL" in found["problems"]["bf16"]
    problem, limit = run(REQUIRE, machine)
    assert problem.startswith("precision: 'bf16' does not work on this processor")
    assert "SIGILL" in problem
    assert "Use float32" in problem
    assert "\n" not in problem
    assert limit is None


def test_limit_of_the_user_is_respected(tmp_path: Path) -> None:
    machine = BrokenProcessor(tmp_path, helps="AVX512_CORE_BF16")
    problem, limit = run(REQUIRE, machine, ONEDNN_MAX_CPU_ISA="AVX512_CORE")
    assert "with ONEDNN_MAX_CPU_ISA=AVX512_CORE:" in problem
    assert limit == "AVX512_CORE"
    assert {line.split()[0] for line in machine.tried} == {"AVX512_CORE"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b'{"key": {}, "problems": {}, "limit": null}',
        b"wrong limit",
        b"wrong type",
        b"x" * 100_000,
    ],
)
def test_corrupt_file_is_ignored_and_made_again(tmp_path: Path, content: bytes) -> None:
    machine = BrokenProcessor(tmp_path, helps=None)
    found = run(FIND, machine)
    (file,) = (machine.cache / "neuro-divergent").iterdir()
    good = file.read_bytes()
    if content.startswith(b"wrong"):
        change = {b"wrong limit": {"limit": "; rm"}, b"wrong type": {"problems": {"float32": "no"}}}[content]
        content = json.dumps({**json.loads(good), **change}).encode()
    file.write_bytes(content)
    tried = len(machine.tried)
    assert run(FIND, machine) == found
    assert len(machine.tried) == 2 * tried
    assert file.read_bytes() == good


def test_cache_that_cannot_be_written_breaks_nothing(tmp_path: Path) -> None:
    machine = BrokenProcessor(tmp_path, helps=None)
    machine.cache.write_text("a file, not a directory")
    assert "SIGILL" in run(FIND, machine)["problems"]["bf16"]
    assert "SIGILL" in run(REQUIRE, machine)[0]


def test_user_without_a_home_has_no_cache_and_an_answer(tmp_path: Path) -> None:
    machine = BrokenProcessor(tmp_path, helps=None)
    assert "SIGILL" in run(FIND, machine, XDG_CACHE_HOME="", HOME="/proc/nowhere")["problems"]["bf16"]


FLOAT32 = """
import json, os
from neuro_divergent.core import instructions
from neuro_divergent.core.processor import Processor

def on(flag):
    instructions.read_processor = lambda: Processor("a processor", frozenset([flag]))
    instructions.require_usable("float32")
    return os.environ.get("ONEDNN_MAX_CPU_ISA")

seen = [on("avx2"), on("amx_tile")]
instructions.find_instructions()
print(json.dumps([*seen, on("avx2"), on("amx_tile")]))
"""


def test_float32_tries_nothing_and_takes_what_is_remembered_of_tiles(tmp_path: Path) -> None:
    machine = BrokenProcessor(tmp_path, helps="AVX512_CORE_BF16")
    assert run(FLOAT32, machine) == [None, None, None, "AVX512_CORE_BF16"]
    assert len(machine.tried) == 3  # in find_instructions


LOADED = """
import json, os, sys, torch
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.training.precision import Precision
if sys.argv[1:] == ["late"]:
    torch.randn(8, 8) @ torch.randn(8, 8)
problems = []
for _ in range(2):
    try:
        Precision("bf16", torch.device("cpu"))
    except ConfigError as error:
        problems.append(str(error))
uses_it = torch.ops.mkldnn._is_mkldnn_bf16_supported()
print(json.dumps([problems, os.environ.get("ONEDNN_MAX_CPU_ISA"), uses_it]))
"""


@pytest.mark.skipif("avx512_bf16" not in read_processor().flags, reason="nothing here that AVX2 would leave out")
@pytest.mark.parametrize("is_late", [False, True])
def test_limit_has_effect_until_torch_computes_and_is_refused_after_that(tmp_path: Path, is_late: bool) -> None:
    machine = BrokenProcessor(tmp_path, helps="AVX2")
    code = LOADED.replace('sys.argv[1:] == ["late"]', str(is_late))
    problems, limit, uses_it = run(code, machine)
    if is_late:
        assert [text.startswith("precision: 'bf16' needs ONEDNN_MAX_CPU_ISA=AVX2") for text in problems] == [True, True]
        assert "before Python starts" in problems[0]
        assert (limit, uses_it) == (None, True)
    else:
        assert (problems, limit, uses_it) == ([], "AVX2", False)
