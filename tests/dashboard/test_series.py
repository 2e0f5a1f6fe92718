"""The series of a run: listed by pages, searched, and read one at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.interfaces.dashboard.index import id_of
from neuro_divergent.runs import series_table
from tests.dashboard.client import Client
from tests.dashboard.conftest import ids
from tests.dashboard.run_maker import line, make_run, row

MakeClient = Callable[..., Client]


def test_series_are_found_by_prefix_and_by_exact_name(tmp_path: Path, make_client: MakeClient) -> None:
    names = [f"{region} {number}" for region in ("East", "Northeast") for number in range(60)]
    make_run(tmp_path / "runs" / "many", series=tuple(names))
    client = make_client(tmp_path / "runs")
    target = f"/api/runs/{ids(client)['many']}/series"
    assert client.get(f"{target}?search=eaST&limit=1").json() == {"total": 120, "series": ["East 0"]}
    assert client.get(f"{target}?search=eaST&match=prefix&limit=1").json() == {"total": 60, "series": ["East 0"]}
    assert client.get(f"{target}?search=East%207&match=exact").json() == {"total": 1, "series": ["East 7"]}
    assert client.get(f"{target}?search=east%207&match=exact").json() == {"total": 0, "series": []}
    assert client.get(f"{target}?match=regex").status == 422
    assert client.get(f"{target}?around=Northeast%2037").json() == {"total": 120, "series": names[50:100], "offset": 50}
    shown = client.get(f"{target}?around=Northeast%2037&limit=10&search=north").json()
    assert (shown["total"], shown["offset"], shown["series"][0]) == (60, 30, "Northeast 30")
    assert client.get(f"{target}?around=Northeast").json() == {"total": 120, "series": [], "offset": None}


@pytest.mark.parametrize("kind", [pl.String, pl.Int32], ids=["text", "numbers"])
def test_forecasts_in_a_parquet_file_are_shown(tmp_path: Path, make_client: MakeClient, kind: pl.DataType) -> None:
    path = make_run(tmp_path / "runs" / "run", series=("7", "10", "8"))
    number = pl.col("store").cast(kind)
    pl.read_csv(path / "forecasts.csv", try_parse_dates=True).with_columns(number).write_parquet(
        path / "forecasts.parquet"
    )
    (path / "forecasts.csv").unlink()
    for file in ("context.parquet", "backtest.parquet"):
        pl.read_parquet(path / file).with_columns(number).write_parquet(path / file)
    client = make_client(tmp_path / "runs")
    target = f"/api/runs/{ids(client)['run']}"
    assert client.get(target).json()["has"]["forecasts"]
    assert client.get(f"{target}/series").json() == {"total": 3, "series": ["7", "10", "8"]}
    shown = client.get(f"{target}/forecast?series=10").json()
    assert shown["rows"][0] == {"time": "2024-01-31T00:00:00", "forecast": 0.1, "lo-80": -1.0, "hi-80": 1.0}
    assert len(shown["rows"]) == 6
    assert {line["name"] for line in shown["figure"]["data"]} >= {"observed", "held out, forecast", "forecast"}


def test_series_that_only_some_tables_have_are_listed_once(tmp_path: Path, make_client: MakeClient) -> None:
    path = make_run(tmp_path / "runs" / "run", series=("A", "B"))
    context = pl.read_parquet(path / "context.parquet")
    pl.concat([context, context.filter(store="A").with_columns(store=pl.lit("Z"))]).write_parquet(
        path / "context.parquet"
    )
    client = make_client(tmp_path / "runs")
    target = f"/api/runs/{ids(client)['run']}"
    assert client.get(f"{target}/series").json()["series"] == ["A", "B", "Z"]
    assert client.get(f"{target}/forecast?series=Z").json()["rows"] == []


def test_series_are_looked_for_again_only_when_a_table_changes(
    tmp_path: Path, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_run(tmp_path / "runs" / "run")
    read: list[object] = []
    make = series_table.index_series
    monkeypatch.setattr(series_table, "index_series", lambda *given: read.append(given) or make(*given))
    client = make_client(tmp_path / "runs")
    target = f"/api/runs/{ids(client)['run']}/series"
    assert client.get(target).json()["series"] == ["A", "B"]
    assert len(read) == 3
    with (path / "events.jsonl").open("a") as file:
        file.write(line(row(41)))
    assert client.get(f"{target}?search=b").json()["series"] == ["B"]
    assert len(read) == 3
    text = (path / "forecasts.csv").read_text()
    (path / "forecasts.csv").write_text(text.replace("\nB,", "\nC,"))
    assert client.get(target).json()["series"] == ["A", "C", "B"]
    assert len(read) == 4


def test_a_run_that_is_being_written_shows_the_series_that_are_complete(
    tmp_path: Path, make_client: MakeClient
) -> None:
    path = make_run(tmp_path / "runs" / "run", series=("A", "B", "C"))
    content = (path / "backtest.parquet").read_bytes()
    (path / "backtest.parquet").write_bytes(content[: len(content) // 2])
    forecasts = (path / "forecasts.csv").read_bytes()
    (path / "forecasts.csv").unlink()
    client = make_client(tmp_path / "runs")
    target = f"/api/runs/{ids(client)['run']}"
    assert client.get(f"{target}/series").json()["total"] == 3
    assert client.get(f"{target}/forecast?series=B").json()["rows"] == []
    (path / "forecasts.csv").write_bytes(forecasts)
    assert len(client.get(f"{target}/forecast?series=B").json()["rows"]) == 6


def test_figures_of_a_large_backtest_are_drawn_of_some_series_and_the_ranking_of_all(
    tmp_path: Path, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tuple(f"s{number:03d}" for number in range(300))
    path = make_run(tmp_path / "runs" / "run", series=names)
    place = pl.col("store").str.slice(1).cast(pl.Float64)
    pl.read_parquet(path / "backtest.parquet").with_columns(
        forecast=pl.col("actual") + (place - 137.5).abs() / 100
    ).write_parquet(path / "backtest.parquet")
    target = f"/api/runs/{id_of(path)}/figures"
    whole = make_client(tmp_path / "runs").get(f"{target}/ranking").json()
    monkeypatch.setattr("neuro_divergent.interfaces.dashboard.tables._ROWS_OF_BACKTEST", 200)
    client = make_client(tmp_path / "runs")
    ranked = client.get(f"{target}/ranking").json()
    assert (ranked["note"], ranked["alt_text"]) == (whole["note"], whole["alt_text"])
    for one, other in zip(ranked["data"], whole["data"], strict=True):
        assert one["y"] == other["y"]
        assert one["x"] == pytest.approx(other["x"])
    assert "300 series" in whole["note"]
    assert "s000" in whole["alt_text"] or "s299" in whole["alt_text"]
    drawn = client.get(f"{target}/residual-histogram").json()
    found = re.search(r"Drawn of (\d+) evenly spread series", drawn["note"])
    assert found is not None
    assert 20 <= int(found[1]) <= 40
    assert "Drawn of" not in client.get(f"{target}/loss").json()["note"]


def test_path_of_a_stored_panel_is_shown(tmp_path: Path, make_client: MakeClient) -> None:
    path = make_run(tmp_path / "runs" / "run")
    config = (path / "config.toml").read_text()
    (path / "config.toml").write_text(config.replace('"sales.csv"', '"/data/panels/sales"'))
    client = make_client(tmp_path / "runs")
    (listed,) = client.get("/api/runs").json()["runs"]
    assert listed["data"] == "/data/panels/sales"
    assert client.get(f"/api/runs/{listed['id']}").json()["data_path"] == "/data/panels/sales"
    assert client.get("/api/runs?search=panels/sales").json()["total"] == 1
