"""Opens the files of a table: Parquet as it is, text after it was written as columns with types."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from neuro_divergent.core.errors import DataError, UntrustedFileError
from neuro_divergent.core.storage.pickle_guard import PICKLES
from neuro_divergent.data.conversion.progress import Reporter
from neuro_divergent.data.conversion.rows import RowFile, Rows, open_parquet
from neuro_divergent.data.conversion.text_file import TextFile
from neuro_divergent.data.io.csv_file import CsvFile
from neuro_divergent.data.io.source import columns_of
from neuro_divergent.data.schema import Schema

_SEPARATORS = ((".csv", ","), (".csv.gz", ","), (".tsv", "\t"), (".tsv.gz", "\t"))


def is_parquet(path: str) -> bool:
    """Whether a file is named as Parquet."""
    return path.lower().endswith((".parquet", ".pq"))


def open_files(
    source: str, files: Sequence[str], schema: Schema, directory: Path, memory: int, reporter: Reporter
) -> Rows:
    """Return the rows of files; text is written to ``directory`` as columns, unless it is there already.

    Raises:
        DataError: If a file cannot be read, or if the files do not fit together.
    """
    opened: list[RowFile] = []
    total = sum(os.path.getsize(path) for path in files if not is_parquet(path))  # noqa: PTH202
    done = 0
    for number, path in enumerate(files):
        lower = path.lower()
        if lower.endswith(PICKLES):
            raise UntrustedFileError(f"{path}: pickle is never loaded; save the table as CSV or Parquet")
        if is_parquet(path):
            opened.append(open_parquet(path, schema))
            continue
        separator = next((mark for ending, mark in _SEPARATORS if lower.endswith(ending)), None)
        if separator is None:
            known = ".csv, .csv.gz, .tsv, .tsv.gz, .parquet and .pq"
            raise DataError(f"{path}: unknown kind of file; known are {known}")
        directory.mkdir(exist_ok=True)
        text = TextFile(CsvFile(path, separator, schema.encoding), schema, columns_of(schema), memory)
        opened.extend(text.convert(directory / f"{number:06d}"))
        done += os.path.getsize(path)  # noqa: PTH202
        reporter.update("reading text", done, total)
    return Rows(opened, source, schema)
