"""What was compressed comes back, and never more than was asked for."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage.compression import compress, decompress


@given(st.binary(max_size=2000))
def test_it_comes_back(content: bytes) -> None:
    packed = compress(content)
    assert decompress(packed, len(content), "x") == content == zstandard.decompress(packed)
    for wrong in (len(content) + 1, max(len(content), 1) - 1 if content else 1):
        with pytest.raises(UntrustedFileError):
            decompress(packed, wrong, "x")


def test_other_bytes_are_refused() -> None:
    packed = compress(b"abc" * 1000)
    silent = zstandard.ZstdCompressor(write_content_size=False).compress(b"abc" * 1000)
    bomb = compress(bytes(100_000_000))
    assert len(bomb) < 20_000
    for content in (b"", b"abc", packed[:-1], packed + b"\0", packed + packed, silent, bomb):
        with pytest.raises(UntrustedFileError, match=r"^x\.zst: "):
            decompress(content, 3000, "x.zst")


@pytest.mark.parametrize("place", range(6, 30))
def test_damage_is_an_error_of_ours_or_bytes_of_the_right_size(place: int) -> None:
    packed = bytearray(compress(bytes(range(256)) * 8))
    packed[place % len(packed)] ^= 0x41
    with suppress(UntrustedFileError):
        assert len(decompress(bytes(packed), 2048, "x")) == 2048


def test_the_package_is_optional() -> None:
    code = (
        "import sys; sys.modules['zstandard'] = None\n"
        "from neuro_divergent.core.storage.compression import compress\n"
        "try:\n    compress(b'')\nexcept ImportError as error:\n    print(type(error).__name__, error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == 'MissingDependencyError zstandard is not installed: pip install "neuro-divergent[zstd]".\n'
