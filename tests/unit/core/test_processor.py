"""What Linux says about its processors."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuro_divergent.core.processor import read_processor

SAPPHIRE_RAPIDS = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Platinum 8481C
flags\t\t: fpu avx2 avx512f avx512_bf16 avx512_fp16 amx_bf16 amx_tile amx_int8

processor\t: 1
model name\t: another
flags\t\t: fpu
"""


def test_first_processor_is_read_with_its_flags(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(SAPPHIRE_RAPIDS)
    found = read_processor(tmp_path / "cpuinfo")
    assert found.model == "Intel(R) Xeon(R) Platinum 8481C"
    assert {"amx_bf16", "avx512_fp16"} < found.flags
    assert found.shows_tiles


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe:::\n\n", b"model name\n"])
def test_system_that_tells_nothing_has_a_name_and_no_flags(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "cpuinfo").write_bytes(content)
    found = read_processor(tmp_path / "cpuinfo")
    assert found.model
    assert not found.flags
    assert not found.shows_tiles


def test_arm_features_are_its_flags(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nFeatures\t: fp asimd bf16\n")
    assert read_processor(tmp_path / "cpuinfo").flags == {"fp", "asimd", "bf16"}
