from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.data.datasets.bundled import air_passengers
from neuro_divergent.data.panel_builder import build_panel

CLASSIC = Path(__file__).parents[5] / "shared" / "data" / "classic.parquet"


def test_air_passengers() -> None:
    frame = air_passengers()
    assert frame.schema == {"unique_id": pl.String, "ds": pl.Date, "y": pl.Float64}
    assert frame.height == 144
    assert frame["ds"].to_list()[::143] == [date(1949, 1, 1), date(1960, 12, 1)]
    assert frame["y"].to_list()[::143] == [112, 432]
    assert build_panel(frame).frequency.season_length == 12


@pytest.mark.shared_data
@pytest.mark.skipif(not CLASSIC.exists(), reason="the public data sets are not here")
def test_air_passengers_are_those_of_the_books() -> None:
    frame = pl.read_parquet(CLASSIC)
    names = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    passengers = frame.filter(pl.col(names[0]).str.to_lowercase().str.contains("air"))
    assert passengers.height == 144
    assert sorted(passengers["y"].to_list()) == sorted(air_passengers()["y"].to_list())
    assert passengers["y"].to_list() == air_passengers()["y"].to_list()
