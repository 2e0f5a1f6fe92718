"""Compressed bytes, by Zstandard."""

from __future__ import annotations

from typing import Any

from neuro_divergent.core.errors import MissingDependencyError, UntrustedFileError

ENDING = ".zst"


def compress(content: bytes) -> bytes:
    """Compress bytes; ``decompress`` restores them.

    Raises:
        MissingDependencyError: If zstandard is not installed.
    """
    packed: bytes = _library().ZstdCompressor(level=3, write_content_size=True).compress(content)
    return packed


def decompress(content: bytes, size: int, place: str) -> bytes:
    """Return the bytes that were compressed, which must be ``size``; ``place`` is their name in messages.

    Raises:
        UntrustedFileError: If it is not compressed by Zstandard, or of another size.
        MissingDependencyError: If zstandard is not installed.
    """
    library = _library()
    try:
        declared = library.frame_content_size(content)
        if declared != size:
            raise UntrustedFileError(f"{place}: does not hold {size:,} bytes.")
        # Files that we write do not need a larger window.
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
