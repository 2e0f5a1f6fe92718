"""Outputs of stages: what can be kept, and what their digests tell apart."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.lifecycle.pipeline.artifact import read_artifact, table_digest, value_digest, write_artifact
from tests.unit.lifecycle.pipeline.tables import daily

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(value=JSON)
def test_value_comes_back_as_it_was(value: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("value") / "out"
    written = write_artifact(path, value)
    again = read_artifact(path, written.describe())
    assert (again.kind, again.digest) == ("value", written.digest)
    assert again.load() == value


def test_digest_of_a_value_does_not_depend_on_the_order_of_keys() -> None:
    assert value_digest({"a": 1, "b": 2}) == value_digest({"b": 2, "a": 1}) != value_digest({"a": 1, "b": 3})


@pytest.mark.parametrize(
    "convert", [lambda frame: frame, pl.DataFrame.lazy, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow]
)
def test_table_of_any_library_comes_back_as_polars(convert: Any, tmp_path: Path) -> None:
    frame = daily(5)
    written = write_artifact(tmp_path / "out", convert(frame))
    found = read_artifact(tmp_path / "out", written.describe()).load()
    assert found["y"].to_list() == frame["y"].to_list()
    assert found.columns == frame.columns


def test_digest_of_a_table_changes_with_one_value_name_type_or_row() -> None:
    frame = daily(50)
    digest = table_digest(frame)
    assert digest == table_digest(pl.concat([frame.head(3), frame.slice(3)], rechunk=False))
    changed = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 77).then(pl.col("y") + 1e-12).otherwise("y").alias("y")
    )
    others = [
        changed,
        frame.rename({"y": "z"}),
        frame.with_columns(pl.col("y").cast(pl.Float32)),
        frame.head(49),
        frame.reverse(),
    ]
    assert len({digest, *map(table_digest, others)}) == 6


def test_files_and_directories_are_copied(tmp_path: Path) -> None:
    (tmp_path / "plot.svg").write_text("<svg/>")
    file = write_artifact(tmp_path / "out", tmp_path / "plot.svg")
    assert (file.kind, file.load().read_text()) == ("file", "<svg/>")
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "a.txt").write_text("a")
    many = write_artifact(tmp_path / "more", tmp_path / "many")
    assert (many.kind, (many.load() / "a.txt").read_text()) == ("directory", "a")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "a object cannot be kept"),
        (float("nan"), "cannot be kept"),
        ({1, 2}, "a set cannot be kept"),
        (np.float64(1.0).astype(object), None),
        (np.arange(3), "a ndarray cannot be kept"),
        (datetime.date(2024, 1, 1), "a date cannot be kept"),
        (lambda: 1, "a function cannot be kept"),
        (Path("/nowhere/at all"), "is no file or directory"),
        (pl.DataFrame({"a": [object()]}), "a table cannot be written as Parquet"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_what_can(value: Any, words: str | None, tmp_path: Path) -> None:
    if words is None:
        write_artifact(tmp_path / "out", value)
        return
    with pytest.raises(InputError, match=words):
        write_artifact(tmp_path / "out", value)
    assert not (tmp_path / "out").exists()


def test_damaged_output_is_found(tmp_path: Path) -> None:
    written = write_artifact(tmp_path / "out", daily(5))
    content = bytearray(written.file.read_bytes())
    content[len(content) // 2] ^= 1
    written.file.write_bytes(bytes(content))
    with pytest.raises(UntrustedFileError, match="SHA-256 differs"):
        read_artifact(tmp_path / "out", written.describe())


def test_pandas_and_arrow_tables_of_the_same_content_are_the_same(tmp_path: Path) -> None:
    columns = {"a": [1.0, 2.0], "b": ["x", "y"]}
    first = write_artifact(tmp_path / "one", pl.DataFrame(columns))
    second = write_artifact(tmp_path / "two", pa.table(columns))
    third = write_artifact(tmp_path / "three", pd.DataFrame(columns))
    assert first.digest == second.digest == third.digest
