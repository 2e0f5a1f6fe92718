"""Opens the files of a table: Parquet as it is, text after it was written as columns with types."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from neuro_divergent.data.cleaning.numbers import NumberStyle
from neuro_divergent.data.conversion.progress import Reporter
from neuro_divergent.data.conversion.rows import RowFile, Rows, open_parquet
from neuro_divergent.data.conversion.text_file import TextFile
from neuro_divergent.data.io.csv_file import CsvFile
from neuro_divergent.data.io.file_kind import is_of, kind_of
from neuro_divergent.data.io.source import columns_of
from neuro_divergent.data.schema import Schema


def is_parquet(path: str) -> bool:
    """Whether a file is named as Parquet."""
    return is_of("parquet", path)


def is_streamed(files: Sequence[str], schema: Schema) -> bool:
    """Whether files can be read in parts; others, wide tables and numbers of Parquet that are text are read as a whole.

    Raises:
        DataError: If a file is of an unknown kind.
        UntrustedFileError: If it is a pickle, which is never loaded.
    """
    # Texts of Parquet files that are numbers by the schema are read as such only where the table is read as a whole.
    streamed = ("text", "parquet") if NumberStyle.of(schema).is_plain else ("text",)
    return not schema.wide and all(kind_of(path) in streamed for path in files)


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
        if is_parquet(path):
            opened.append(open_parquet(path, schema))
            continue
        directory.mkdir(exist_ok=True)
        text = TextFile(CsvFile.of(path, schema), schema, columns_of(schema), memory)
        opened.extend(text.convert(directory / f"{number:06d}"))
        done += os.path.getsize(path)  # noqa: PTH202
        reporter.update("reading text", done, total)
    return Rows(opened, source, schema)
