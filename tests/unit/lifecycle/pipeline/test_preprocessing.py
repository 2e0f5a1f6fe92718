"""Outliers, missing values and missing rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.pipeline.data_source import FileDigests, source_artifacts
from neuro_divergent.lifecycle.pipeline.stage import StageContext
from neuro_divergent.lifecycle.pipeline.stages.preprocessing import Preprocessing
from tests.unit.lifecycle.pipeline.tables import daily


def clean(frame: pl.DataFrame, tmp_path: Path, schema: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    inputs = source_artifacts(frame, Schema(**(schema or {})), FileDigests(tmp_path / "files.json"))
    return dict(Preprocessing(**settings).run(inputs, StageContext("clean", tmp_path)))


def holes() -> pl.DataFrame:
    row = pl.int_range(pl.len())
    frame = daily(30).with_columns(y=pl.when(row.is_in([3, 4, 40])).then(None).otherwise("y"), note=pl.lit("kept"))
    return frame.filter(~pl.int_range(pl.len()).is_in([10, 50, 51]))


@pytest.mark.parametrize("policy", ["interpolate", "forward", "zero"])
def test_filled_table_is_what_training_would_make_of_it(policy: str, tmp_path: Path) -> None:
    found = clean(holes(), tmp_path, missing=policy, gaps=policy)
    expected = build_panel(holes(), Schema(missing=policy, gaps=policy)).to_frame()  # type: ignore[arg-type]
    assert found["table"].drop("note").equals(expected)
    assert found["table"]["note"].null_count() == 3
    assert Schema.from_dict(found["schema"]).missing == "error"
    again = build_panel(found["table"], Schema.from_dict(found["schema"]))
    assert len(again) == 60
    assert (
        sorted(found["changes"]["reason"].to_list())
        == [f"missing row, {policy}"] * 3 + [f"missing value, {policy}"] * 3
    )


def test_masked_values_stay_missing_and_the_schema_says_so(tmp_path: Path) -> None:
    found = clean(holes(), tmp_path, missing="mask", gaps="mask")
    assert found["table"]["y"].null_count() == 6
    panel = build_panel(found["table"], Schema.from_dict(found["schema"]))
    assert panel.mask is not None
    assert int((~panel.mask).sum()) == 6


def test_holes_that_are_errors_stop(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing value"):
        clean(holes(), tmp_path, missing="error")
    with pytest.raises(DataError, match="gap after"):
        clean(holes(), tmp_path, gaps="error")


def spiky(place: int = 45) -> tuple[pl.DataFrame, pl.DataFrame]:
    values = np.random.default_rng(3).normal(10, 1, 60)
    frame = daily(60, 1).with_columns(y=pl.Series(values))
    return frame, frame.with_columns(y=pl.when(pl.int_range(pl.len()) == place).then(500.0).otherwise("y"))


def test_outliers_are_clipped_or_missing_and_nothing_else_changes(tmp_path: Path) -> None:
    healthy, wild = spiky()
    clipped = clean(wild, tmp_path, outliers="clip")
    assert clipped["changes"]["reason"].to_list() == ["outlier, clip"]
    assert 10 < clipped["changes"]["after"][0] < 30
    gone = clean(wild, tmp_path, outliers="missing")
    assert gone["changes"]["reason"].to_list() == ["outlier, missing"]
    expected = (healthy["y"][44] + healthy["y"][46]) / 2
    assert gone["table"]["y"][45] == pytest.approx(expected, rel=1e-6)
    assert clean(healthy, tmp_path, outliers="clip")["changes"].height == 0
    with pytest.raises(DataError, match=r"series 's0', 2024-02-15: y is 500, more than 6 robust"):
        clean(wild, tmp_path, outliers="error")


def test_outliers_are_judged_by_earlier_rows_only(tmp_path: Path) -> None:
    _, wild = spiky()
    for cut in (46, 50, 55):
        part = clean(wild.head(cut), tmp_path, outliers="clip")["table"]
        assert part.equals(clean(wild, tmp_path, outliers="clip")["table"].head(cut))


def test_empty_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the table has no rows"):
        clean(daily().clear(), tmp_path)


def test_covariates_and_categories_keep_their_values(tmp_path: Path) -> None:
    frame = daily(20).with_columns(
        price=pl.int_range(pl.len()).cast(pl.Float64), kind=pl.lit("a"), shop=pl.col("unique_id")
    )
    roles = {"past": ["price"], "future": ["kind"], "static": ["shop"]}
    found = clean(frame.filter(pl.int_range(pl.len()) != 7), tmp_path, roles)
    assert found["table"]["price"].to_list() == [float(row) for row in range(40)]
    assert found["table"]["kind"].unique().to_list() == ["a"]
    assert found["table"]["shop"].to_list() == frame["unique_id"].to_list()
