"""Compressed bytes, by Zstandard."""

from __future__ import annotations

from typing import Any

from neuro_divergent.core.errors import MissingDependencyError, UntrustedFileError

ENDING = ".zst"


def compress(content: bytes) -> bytes:
    """Return fewer bytes, mostly, with which ``decompress`` can make the same again.

    Raises:
        MissingDependencyError: If zstandard is not installed.
    """
    packed: bytes = _library().ZstdCompressor(level=3, write_content_size=True).compress(content)
    return packed


def decompress(content: bytes, size: int, place: str) -> bytes:
    """Return what was compressed.

    Args:
        content: The compressed bytes.
        size: How many bytes must come out. No more are ever made.
        place: What it is called in messages.

    Raises:
        UntrustedFileError: If it is not compressed by Zstandard, or of another size.
        MissingDependencyError: If zstandard is not installed.
    """
    library = _library()
    try:
        declared = library.frame_content_size(content)
        if declared != size:
            raise UntrustedFileError(f"{place}: does not hold {size:,} bytes.")
        # A window larger than this needs memory that no file of ours asks for.
        made: bytes = library.ZstdDecompressor(max_window_size=2**27).decompress(
            content, max_output_size=size, allow_extra_data=False
        )
    except (library.ZstdError, ValueError, MemoryError) as error:
        raise UntrustedFileError(f"{place}: not compressed by Zstandard ({error}).") from None
    if len(made) != size:
        raise UntrustedFileError(f"{place}: does not hold {size:,} bytes.")
    return made


def _library() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingDependencyError('zstandard is not installed: pip install "neuro-divergent[zstd]".') from None
    return zstandard
