"""Kinds of files, which the endings of their names tell."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from neuro_divergent.core.errors import DataError, UntrustedFileError
from neuro_divergent.core.storage.pickle_guard import PICKLES

Kind = Literal["text", "parquet", "excel", "json_lines", "arrow"]

_ENDINGS: dict[Kind, tuple[str, ...]] = {
    "text": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"),
    "parquet": (".parquet", ".pq"),
    "excel": (".xlsx", ".xlsm"),
    "json_lines": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
_KNOWN = ".csv, .tsv, .txt, .jsonl (all also .gz), .xlsx, .parquet and .arrow"
_ADVICE = {
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "save the table as .xlsx or .csv"),
    ".json": "write one object per line and call it .jsonl",
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".bz2", ".xz", ".zst"), "unpack it first"),
    **dict.fromkeys(
        (".db", ".sqlite", ".sqlite3"), 'a database is read as sqlite:///{path} with a query (--query "SELECT ...")'
    ),
}


def kind_of(path: str) -> Kind:
    """Return the kind of a file.

    Raises:
        DataError: If it is none of those that are read.
        UntrustedFileError: If it is a pickle, which is never loaded.
    """
    lower = path.lower()
    if lower.endswith(PICKLES):
        raise UntrustedFileError(f"{path}: pickle is never loaded; save the table as CSV or Parquet")
    for kind, endings in _ENDINGS.items():
        if lower.endswith(endings):
            return kind
    advice = _ADVICE.get(Path(lower).suffix, "").format(path=path)
    raise DataError(f"{path}: unknown kind of file; {advice or f'known are {_KNOWN}'}")


def is_of(kind: Kind, path: str) -> bool:
    """Whether a file is named as one of some kind."""
    return path.lower().endswith(_ENDINGS[kind])


def usual_separator(path: str) -> str:
    """Return the separator that the name of a text file promises."""
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","
