"""CSV files as other programs write them."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.data.conversion.conversion import convert
from neuro_divergent.data.io.csv_file import CsvFile
from neuro_divergent.data.io.source import read_table
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

HEADER, ROWS = ["unique_id", "ds", "y"], [["A", "2024-01-01", "1.5"], ["B, C", "2024-01-02", "2"]]


def write(path: Path, text: str, encoding: str = "utf-8") -> str:
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


@pytest.mark.parametrize("ending", ["csv", "txt", "tsv", "csv.gz"])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_found_whatever_the_file_is_called(mark: str, ending: str, tmp_path: Path) -> None:
    lines = [HEADER, *([f'"{value}"' for value in row] for row in ROWS)]
    path = write(tmp_path / f"a.{ending}", "".join(mark.join(line) + "\r\n" for line in lines))
    assert read_table(path, Schema()).frame.rows() == [("A", "2024-01-01", 1.5), ("B, C", "2024-01-02", 2.0)]


@settings(max_examples=60)
@given(
    mark=st.sampled_from([",", ";", "\t", "|"]),
    rows=st.lists(st.lists(st.text("ab ,;|\t\n", max_size=6), min_size=3, max_size=3), max_size=6),
)
def test_a_separator_is_never_guessed_against_the_header(mark: str, rows: list[list[str]]) -> None:
    """A header with one mark alone says what separates, whatever the values hold."""
    lines = [HEADER, *([f'"{value}"' for value in row] for row in rows)]
    file = CsvFile("a.csv")
    file.__dict__["_content"] = "".join(mark.join(line) + "\n" for line in lines).encode()
    assert file.separator == mark


def test_spaces_around_the_names_of_columns_do_not_count(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "unique_id , ds, y,\tprice\nA,2024-01-01,1,2\n", "utf-8-sig")
    row = {"unique_id": "A", "ds": "2024-01-01", "y": 1.0, "price": 2.0}
    assert read_table(path, Schema(past="price")).frame.to_dicts() == [row]
    twice = write(tmp_path / "b.csv", "ds,y, y\n1,2,3\n")
    assert read_table(twice).frame.columns == ["ds", "y", " y"], "names that would be equal are left as they are"


def test_a_file_without_a_header_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "2024-01-01,106.5\n2024-01-02,107\n")
    with pytest.raises(DataError, match="The first line holds values: write a line with the names of the columns"):
        build_panel(path)


def test_a_given_separator_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "ds;y, EUR\n1;1,5\n2;2,5\n")
    table = read_table(path, Schema(target="y, EUR", separator=";", decimal=","))
    assert table.frame.rows() == [(1, 1.5), (2, 2.5)]


@pytest.mark.parametrize(
    ("values", "is_told"),
    [
        (["1.234", "12.500", "-7.001", "950"], True),
        (["1.234", "0.500"], False),  # nobody writes half a thousand like this
        (["1.234", "1.5"], False),
        (["1.234", "1500"], False),
        (["1", "2"], False),
        (["1.000", "2.000", "3"], False),  # the numbers 1, 2 and 3 either way
        (["1.234;0.5", "2.500;1.5"], False),  # another column has points that are decimal marks
        (["1.234;A.5", "2.500;B"], True),
    ],
)
def test_points_that_may_stand_between_thousands_are_told_where_semicolons_separate(
    values: list[str], is_told: bool, tmp_path: Path
) -> None:
    header = "ds;y;other" if ";" in values[0] else "ds;y"
    path = write(tmp_path / "a.csv", "\n".join([header, *(f"{n};{value}" for n, value in enumerate(values)), ""]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = read_table(path, Schema()).frame
    assert frame["y"].to_list() == [float(value.partition(";")[0]) for value in values]
    told = [str(warning.message) for warning in caught]
    assert [("row 1, column 'y': '1.234' is read as 1.234, not 1234" in text) for text in told] == [True] * is_told
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path, Schema(decimal=".")).frame.equals(frame)
        if ";" not in values[0] and is_told:
            read = read_table(path, Schema(thousands=".")).frame["y"].to_list()
            assert read == [float(value.replace(".", "")) for value in values]
            commas = write(tmp_path / "b.csv", Path(path).read_text().replace(";", ","))
            assert read_table(commas, Schema()).frame.equals(frame)
    if is_told:
        with pytest.raises(DataError, match="strict=True guesses nothing"):
            read_table(path, Schema(strict=True))


def test_a_line_for_excel_above_the_header_is_explained(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "sep=;\nds;y\n1;2\n")
    with pytest.raises(DataError, match=r"pass skip_rows=1 \(--skip-rows 1\)"):
        read_table(path, Schema())
    assert read_table(path, Schema(skip_rows=1)).frame.rows() == [(1, 2.0)]


UGLY = '\ufeffExport\r\n\r\nds;y;preis;laden;;\r\n1;1.234,50;"9,5";Köln;;\r\n2;-;10;n/a;;\r\n3;3;11;Köln;;\r\n;;;;;\r\n'
STYLE = Schema(
    past=("preis", "laden"), skip_rows=2, decimal=",", thousands=".", null_values=("-", "n/a"), missing="interpolate"
)
EXPECTED = [(1, 1234.5, 9.5, "Köln"), (2, None, 10.0, None), (3, 3.0, 11.0, "Köln")]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_everything_at_once(encoding: str, ending: str, tmp_path: Path) -> None:
    text = UGLY if encoding == "utf-8" else UGLY.removeprefix("\ufeff")
    path = write(tmp_path / f"a.{ending}", text, encoding)
    frame = read_table(path, STYLE.replace(encoding=encoding)).frame
    assert frame.select("ds", "y", "preis", "laden").rows() == EXPECTED


def test_a_conversion_in_chunks_reads_the_same(tmp_path: Path) -> None:
    body = "".join(f"{n};{n % 7},{n % 100:02d};{n % 5};x{n % 3}\n" for n in range(4, 3000))
    path = write(tmp_path / "a.csv", UGLY.removesuffix(";;;;;\r\n").replace(";;\r\n", "\r\n") + body)
    schema = STYLE.replace(past=("preis",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("neuro_divergent.data.conversion.text_file._PARTS", 14_000)
        convert(path, tmp_path / "panel", schema)
    assert Panel.open(tmp_path / "panel").to_frame().equals(build_panel(path, schema).to_frame())


def test_decimal_commas_that_can_be_nothing_else_are_read_with_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "ds;y;price;whole\n1;1,5;1,234;7\n2;2;2,345;8\n")
    schema = Schema(past=("price", "whole"))
    with pytest.warns(DataWarning, match=r"row 1, column 'y': '1,5' is read with a decimal comma") as caught:
        table = read_table(path, schema)
    assert len(caught) == 1
    expected = [(1, 1.5, 1.234, 7.0), (2, 2.0, 2.345, 8.0)]
    assert table.frame.select("ds", "y", "price", "whole").rows() == expected
    assert read_table(path, schema.replace(decimal=",")).frame.equals(table.frame)


def test_a_category_with_commas_stays_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "ds;y;size\n1;1;1,5\n2;2;2,5\n")
    assert read_table(path, Schema(past="size", categorical="size")).frame["size"].dtype == pl.String
    path = write(tmp_path / "a.csv", "ds;y;size\n1;1;S\n2;2;1,5\n")
    assert read_table(path, Schema(past="size")).frame["size"].dtype == pl.String
