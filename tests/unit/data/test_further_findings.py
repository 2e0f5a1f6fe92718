"""What an error about a table says about the rest of it."""

from __future__ import annotations

import warnings
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.data import further_findings
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.schema import Schema

DAYS = [date(2024, 1, 1) + timedelta(days=n) for n in range(40)]
MESSY = [f"{shop};{day:%d.%m.%Y};{n % 7},{n % 9}5" for shop in "AB" for n, day in enumerate(DAYS)]


def notes(source: object, schema: Schema) -> list[str]:
    """Return the message of the error, without the name of the file, and its notes."""
    with pytest.raises(DataError) as caught:
        load_panel(source, schema)
    return [str(caught.value).removeprefix(f"{source}: "), *getattr(caught.value, "__notes__", [])]


def write(path: Path, lines: list[str], header: str = "shop;day;sold") -> str:
    path.write_text("\n".join([header, *lines, ""]))
    return str(path)


def test_all_findings_of_a_messy_table_are_told_at_once(tmp_path: Path) -> None:
    lines = [*MESSY, MESSY[3]]
    lines[5] = lines[5].replace("06.01.2024", "06/01/24")
    lines[20] = lines[20].rpartition(";")[0] + ";n/a"
    del lines[30]
    found = notes(write(tmp_path / "a.csv", lines), Schema(target="sold"))
    assert found[0].startswith("column 'ds' missing; found shop, day, sold")
    assert found[1] == 'perhaps: time="day" (--time day), id="shop" (--id shop)'
    expected = (
        "column 'day' has times in 2 formats",
        "series 'A': 2024-01-04 twice",
        "series 'A': gap after 2024-01-30",
        "row 1, column 'sold': '0,05' is not a number",
        "row 21, column 'sold': 'n/a' is not a number",
        "column 'sold', series 'A': 1 missing value",
    )
    assert len(found[2:]) == len(expected)
    for note, text in zip(found[2:], expected, strict=True):
        assert note.startswith(f"then: {text}")
    fields = {"time": "day", "id": "shop", "target": "sold", "date_format": ["%d.%m.%Y", "%d/%m/%y"], "decimal": ","}
    read = load_panel(
        str(tmp_path / "a.csv"),
        Schema(**fields, duplicates="first", null_values="n/a", gaps="interpolate", missing="interpolate"),
    )
    assert read.lengths.tolist() == [40, 40], "what the notes offer is all that is needed"


def test_a_table_with_one_finding_has_no_notes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [line.replace(",", ".") for line in MESSY])
    found = notes(path, Schema(time="day", target="sold", id="shop"))
    assert len(found) == 1
    assert "--date-format %d.%m.%Y" in found[0]


def test_integers_that_can_be_counts_from_1970_can_be_the_time() -> None:
    times = [1_704_067_200_000 + 60_000 * n for n in range(40)]
    table = pl.DataFrame({"at": times, "sensor": ["A"] * 40, "value": list(range(40))})
    assert notes(table, Schema())[1:] == [
        'perhaps: time="at" (--time at), target="value" (--target value), id="sensor" (--id sensor), '
        'date_format="epoch-ms" (--date-format epoch-ms)'
    ]
    assert "date_format" not in notes(table.with_columns(at=pl.col("sensor").cum_count()), Schema())[1]


def test_a_frame_is_looked_at_as_well() -> None:
    table = pl.DataFrame({"store": ["A"] * 5, "when": [*DAYS[:4], DAYS[3]], "y": [1.0, None, 3.0, 4.0, 4.0]})
    found = notes(table, Schema())
    assert found[1:] == [
        'perhaps: time="when" (--time when), id="store" (--id store)',
        "then: " + notes(table, Schema(time="when", id="store"))[0],
        "then: " + notes(table, Schema(time="when", id="store", duplicates="first"))[0],
    ]
    assert "1 missing value, first at row 2" in found[3]


def test_columns_that_may_have_a_role_are_named_only_where_there_is_one(tmp_path: Path) -> None:
    lines = [f"A,B,{day},{day},{n},{n % 3}" for n, day in enumerate(DAYS)]
    header = "shop,item,ordered,delivered,sold,returned"
    assert notes(write(tmp_path / "a.csv", lines, header), Schema())[1:] == []
    assert notes(write(tmp_path / "a.csv", lines, header), Schema(time="ordered", target="units sold"))[1:] == []
    lines = [f"A,{day},{n},{n % 3}" for n, day in enumerate(DAYS)]
    (first, *found) = notes(write(tmp_path / "a.csv", lines, "the shop,day,sold,price"), Schema())
    assert found == ['perhaps: time="day" (--time day), id="the shop" (--id \'the shop\')'], "sold or price: unclear"
    assert "target= (--target)" in first


def test_a_column_of_texts_that_never_repeat_is_no_name_of_series(tmp_path: Path) -> None:
    lines = [f"{day},order {n},${n}.5" for n, day in enumerate(DAYS)]
    found = notes(write(tmp_path / "a.csv", lines, "day,note,sold"), Schema())
    assert found[1] == 'perhaps: time="day" (--time day), target="sold" (--target sold)'
    assert found[2].endswith("Write the number without the currency sign '$'")


def test_offers_that_do_not_go_together_end_the_search(tmp_path: Path) -> None:
    lines = [f"{day};1'500;2,5{n % 9}" for n, day in enumerate(DAYS)]
    lines[3] = lines[3].replace("1'500", "1.500,5").replace("2,5", "2.5")
    found = notes(write(tmp_path / "a.csv", lines, "ds;y;x"), Schema(past="x", strict=True))
    assert found[0].startswith("row ")


def test_large_tables_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.csv", [line.replace(",", ".") for line in MESSY])
    assert len(notes(path, Schema(target="sold"))) > 1
    monkeypatch.setattr(further_findings, "_LARGEST_FILES", 100)
    assert len(notes(path, Schema(target="sold"))) == 1


def test_further_looks_warn_of_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [line.replace(",", ".") for line in [*reversed(MESSY[:40]), MESSY[3]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = notes(path, Schema(target="sold"))
    assert any("twice" in note for note in found)
