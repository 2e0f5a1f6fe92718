"""Scoring of stored panels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, StorageError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.serving.scoring import panel_part
from neuro_divergent.serving.scoring.score_files import PartDone, score_files

HORIZON, HISTORY = 3, 8


def table(count: int = 9) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {
                "shop": [f"s{place:02d}"] * (20 + place),
                "day": np.arange(20 + place),
                "sold": np.sin(np.arange(20 + place) / 3) + place,
            }
        )
        for place in range(count)
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    training = nd.TrainingConfig(max_steps=3, batch_size=32)
    path = tmp_path_factory.mktemp("model") / "model"
    made = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, training=training)
    made.fit(table(), id="shop", time="day", target="sold").save(path)
    return path


@pytest.fixture
def panel(tmp_path: Path) -> Path:
    build_panel(table(), Schema(id="shop", time="day", target="sold")).save(tmp_path / "panel")
    return tmp_path / "panel"


def read(directory: Path) -> pl.DataFrame:
    return pl.read_parquet(sorted(directory.glob("*.parquet"))).drop("made_at", "model_version")


def test_forecasts_of_a_panel_by_parts_equal_predict(
    model: Path, panel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel_part, "_ROWS", 4 * HORIZON)  # and blocks of one or two histories
    summary = score_files(model, panel, tmp_path / "out", levels=[80])
    assert (summary.series, summary.rows) == (9, 27)
    assert [part["name"] for part in summary.parts] == [f"part-0000{place}.parquet" for place in range(3)]
    found, expected = read(tmp_path / "out"), nd.Forecaster.load(model).predict(table(), levels=[80])
    assert found.select("shop", "day").equals(expected.select("shop", "day"))
    values = [frame.select("forecast", "lo-80", "hi-80").to_numpy() for frame in (found, expected)]
    np.testing.assert_allclose(*values, rtol=1e-6)  # a network rounds differently on a batch of another size


def test_scoring_of_a_panel_is_resumed_and_left_alone_while_nothing_changes(
    model: Path, panel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel_part, "_ROWS", 4 * HORIZON)

    def stop(part: PartDone) -> None:
        if part.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_files(model, panel, tmp_path / "out", observe=stop)
    seen: list[PartDone] = []
    score_files(model, panel, tmp_path / "out", observe=seen.append)
    assert [part.was_there for part in seen] == [True, True, False]
    assert not score_files(model, panel, tmp_path / "out", if_newer=True).is_new
    assert read(tmp_path / "out").height == 27


def test_scoring_of_a_panel_as_of_a_time_leaves_out_later_rows(model: Path, panel: Path, tmp_path: Path) -> None:
    score_files(model, panel, tmp_path / "out", as_of=15)
    known = table().filter(pl.col("day") <= 15)
    assert read(tmp_path / "out").equals(nd.Forecaster.load(model).predict(known))


def test_columns_of_a_panel_may_have_other_names(model: Path, tmp_path: Path) -> None:
    other = table().rename({"shop": "unique_id", "day": "ds", "sold": "y"})
    build_panel(other, Schema()).save(tmp_path / "panel")
    score_files(model, tmp_path / "panel", tmp_path / "out")
    assert read(tmp_path / "out").equals(nd.Forecaster.load(model).predict(table()))


def test_panel_in_memory_is_scored_like_one_on_disk(model: Path, panel: Path, tmp_path: Path) -> None:
    in_memory = build_panel(table(), Schema(id="shop", time="day", target="sold"))
    score_files(model, in_memory, tmp_path / "one")
    score_files(model, panel, tmp_path / "two")
    assert read(tmp_path / "one").equals(read(tmp_path / "two"))


def test_panel_that_lacks_a_covariate_is_refused(panel: Path, tmp_path: Path) -> None:
    training = nd.TrainingConfig(max_steps=3, batch_size=32)
    priced = table().with_columns(price=pl.col("sold") * 2)
    made = nd.Forecaster("mlp", horizon=HORIZON, input_size=HISTORY, training=training)
    made.fit(priced, id="shop", time="day", target="sold", past="price").save(tmp_path / "model")
    with pytest.raises(DataError, match="price"):
        score_files(tmp_path / "model", panel, tmp_path / "out")


def test_panel_that_is_cut_off_while_it_is_scored_is_one_clear_error(
    model: Path, panel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel_part, "_ROWS", 4 * HORIZON)

    def cut(part: PartDone) -> None:
        file = panel / "y.float32"
        if part.number == 1:
            with file.open("r+b") as opened:
                opened.truncate(8)

    with pytest.raises(StorageError, match=r"y\.float32"):
        score_files(model, panel, tmp_path / "out", observe=cut)
