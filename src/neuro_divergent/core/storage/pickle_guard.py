"""Guard against pickles: files of other libraries that are never loaded, because unpickling runs code."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from neuro_divergent.core.errors import UntrustedFileError

PICKLES = (".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".bin")
"""How names of files end that are pickles, as a rule."""


def refuse_pickle(place: str | Path, kind: str) -> None:
    """Refuse a path or URL that is a pickle by its name or by how it begins, where ``kind`` ("a model") is expected.

    Raises:
        UntrustedFileError: If it is a pickle, an archive of torch, or any other file.
    """
    if PurePosixPath(str(place)).suffix.lower() in PICKLES:
        raise UntrustedFileError(f"{place}: pickle is never loaded; {kind} is a directory that we wrote.")
    if not isinstance(place, Path) or not place.is_file():
        return
    try:
        with place.open("rb") as file:
            begin = file.read(4)
    except OSError:
        begin = b""
    if begin[:1] == b"\x80" and begin[1:2] in b"\x01\x02\x03\x04\x05":
        raise UntrustedFileError(f"{place}: is a pickle; pickle is never loaded; {kind} is a directory that we wrote.")
    if begin == b"PK\x03\x04":
        raise UntrustedFileError(
            f"{place}: is a zip archive, as torch.save writes them around a pickle; pickle is never loaded; "
            f"{kind} is a directory that we wrote."
        )
    raise UntrustedFileError(f"{place}: is a file; {kind} is a directory that we wrote.")
