from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError, DataWarning, InputError, UntrustedFileError
from neuro_divergent.data.joined_array import JoinedArray
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.panel_store.appending import append_rows, lock_panel
from neuro_divergent.data.panel_store.checking import check_panel
from neuro_divergent.data.panel_store.compaction import compact
from neuro_divergent.data.schema import Schema
from tests.unit.data.panel_store.tables import ROLES, START, assert_same, table

LENGTHS = {"a": 40, "c": 25, "e": 33, "g": 40}


def split(frame: pl.DataFrame, ends: dict[str, int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the first rows of each series, as many as given, and the rest."""
    place = pl.int_range(pl.len()).over("unique_id")
    limit = pl.col("unique_id").replace_strict(ends, default=0, return_dtype=pl.Int64)
    marked = frame.with_columns((place < limit).alias("old"))
    return marked.filter("old").drop("old"), marked.filter(~pl.col("old")).drop("old")


def stored(frame: pl.DataFrame, directory: Path, **schema: Any) -> Path:
    build_panel(frame, Schema(**{**ROLES, **schema})).save(directory)
    return directory


@pytest.mark.parametrize(
    "ends",
    [
        {"a": 30, "c": 20, "e": 33, "g": 40},  # later rows of some
        {"c": 25, "e": 33, "g": 40},  # a new series before all others
        {"a": 40, "e": 33, "g": 40},  # between
        {"a": 40, "c": 25, "e": 33},  # after
        {"c": 10, "e": 33},  # all of it
    ],
)
def test_appended_rows_give_the_panel_that_all_rows_give(ends: dict[str, int], tmp_path: Path) -> None:
    frame = table(LENGTHS)
    old, new = split(frame, ends)
    found = Panel.append(stored(old, tmp_path / "panel"), new)
    expected = build_panel(frame, Schema(**ROLES))
    assert_same(found, expected)
    assert found.to_frame().equals(expected.to_frame())
    assert found.is_memory_mapped
    assert isinstance(found.y, JoinedArray)
    assert_same(Panel.open(tmp_path / "panel", mmap=False), expected)


def test_many_appends_and_compaction_give_the_panel_that_all_rows_give(tmp_path: Path) -> None:
    frame = table(LENGTHS)
    ends = [{"e": 8}, {"e": 9, "a": 5}, {"e": 9, "a": 22, "c": 1}, {"e": 30, "a": 22, "c": 2, "g": 40}, LENGTHS]
    old, _ = split(frame, ends[0])
    directory = stored(old, tmp_path / "panel")
    for following in ends[1:]:
        before = Panel.open(directory)
        kept = before.to_frame()
        present, _ = split(frame, following)
        new = present.join(kept, on=["unique_id", "ds"], how="anti")
        append_rows(directory, new.sample(fraction=1.0, shuffle=True, seed=1).sort("ds"))
        assert_same(Panel.open(directory), build_panel(present, Schema(**ROLES)))
        assert before.to_frame().equals(kept)  # who had it open keeps what was there
    expected = build_panel(frame, Schema(**ROLES))
    opened = Panel.open(directory)
    assert check_panel(directory).parts == 5
    assert compact(directory) == 5
    assert_same(opened, expected)  # its files are gone from the directory, and still mapped
    compacted = Panel.open(directory)
    assert isinstance(compacted.y, np.memmap)
    assert_same(compacted, expected)
    assert check_panel(directory).parts == 1
    assert compact(directory) == 1
    assert not (directory / "parts").exists()


@pytest.mark.parametrize("policy", ["mask", "forward", "zero", "interpolate"])
def test_a_gap_before_the_new_rows_is_filled_as_within_a_table(policy: str, tmp_path: Path) -> None:
    frame = table(LENGTHS, missing=0.0)
    gap = frame.filter(~((pl.col("unique_id") == "c") & pl.int_range(pl.len()).over("unique_id").is_between(10, 14)))
    old, new = split(gap, {**LENGTHS, "c": 10})
    found = Panel.append(stored(old, tmp_path / "panel", gaps=policy), new)
    assert_same(found, build_panel(gap, Schema(**{**ROLES, "gaps": policy})))


def test_missing_values_at_the_beginning_of_new_rows_are_filled_from_the_last_known_row(tmp_path: Path) -> None:
    frame = table(LENGTHS, missing=0.0).with_columns(
        y=pl.when(pl.int_range(pl.len()).over("unique_id") == 20).then(None).otherwise("y")
    )
    old, new = split(frame, dict.fromkeys(LENGTHS, 20))
    for policy in ("interpolate", "forward"):
        found = Panel.append(stored(old, tmp_path / policy, missing=policy), new)
        assert_same(found, build_panel(frame, Schema(**{**ROLES, "missing": policy})))


def test_a_policy_of_the_append_counts_for_its_rows_only(tmp_path: Path) -> None:
    frame = table({"a": 20}, missing=0.0)
    old, new = split(frame, {"a": 10})
    directory = stored(old, tmp_path / "panel", missing="error")
    with pytest.raises(DataError, match="gap after 2024-03-01 09:00:00"):
        append_rows(directory, new.slice(2))
    done = append_rows(directory, new.slice(2), gaps="zero")
    assert (done.rows, done.series, done.new_series, done.skipped, done.part) == (10, 1, 0, 0, "0001")
    found = Panel.open(directory)
    assert found.schema.gaps == "error"
    assert found.y[10:12].tolist() == [0, 0]
    assert found.mask is None


def test_rows_that_are_known_are_refused_or_left_out(tmp_path: Path) -> None:
    frame = table({"a": 20, "b": 20}, missing=0.0)
    old, _ = split(frame, {"a": 10, "b": 12})
    directory = stored(old, tmp_path / "panel")
    files = {path: path.read_bytes() for path in directory.iterdir()}
    with pytest.raises(DataError) as caught:
        append_rows(directory, frame)
    assert str(caught.value) == (
        "series 'a': row 1, 2024-03-01 is not after the last known time, 2024-03-01 09:00:00; 22 such rows in all. "
        "Rows that are there are not changed; skip_known=True (--skip-known) leaves such rows out"
    )
    assert {path: path.read_bytes() for path in directory.iterdir()} == files
    done = append_rows(directory, frame, skip_known=True)
    assert (done.rows, done.skipped) == (18, 22)
    assert_same(Panel.open(directory), build_panel(frame, Schema(**ROLES)))
    assert append_rows(directory, frame, skip_known=True).part is None
    assert check_panel(directory).parts == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("y"), "column 'y' missing"),
        (lambda f: f.drop("price"), "column 'price' missing"),
        (lambda f: f.drop("weather"), "column 'weather' missing"),
        (lambda f: f.with_columns(pl.col("ds").dt.date()), "column 'ds' is Date; in the panel it is Datetime"),
        (lambda f: f.with_columns(ds=pl.col("ds") + timedelta(minutes=1)), "is not an integer number of steps"),
        (lambda f: f.with_columns(unique_id=pl.lit(7)), "column 'unique_id' is"),
        (lambda f: f.with_columns(size=pl.lit(9.0)), "9.0 differs from a row before; a static covariate has one value"),
        (lambda f: f.with_columns(region=pl.lit("north")), "'north' differs from a row before"),
        (lambda f: f.with_columns(price=pl.lit("much")), "price"),
        (lambda f: pl.concat([f, f.tail(1)]), "twice"),
        (lambda f: f.with_columns(y=pl.lit(float("inf"))), "infinite"),
        (lambda f: f.head(0), "no data rows"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_changes(change: Any, message: str, tmp_path: Path) -> None:
    frame = table({"a": 20}, missing=0.0)
    old, new = split(frame, {"a": 10})
    directory = stored(old, tmp_path / "panel")
    before = sorted(path.name for path in directory.iterdir())
    with pytest.raises(DataError, match=message):
        append_rows(directory, change(new))
    assert sorted(path.name for path in directory.iterdir()) == before
    assert_same(Panel.open(directory), build_panel(old, Schema(**ROLES)))


def test_row_numbers_in_messages_are_those_of_the_new_table(tmp_path: Path) -> None:
    frame = table({"a": 20}, missing=0.0)
    old, new = split(frame, {"a": 10})
    wrong = new.with_columns(y=pl.when(pl.int_range(pl.len()) == 6).then(float("inf")).otherwise("y"))
    with pytest.raises(DataError, match="row 7: infinite"):
        append_rows(stored(old, tmp_path / "panel"), wrong)


def test_new_categories_get_the_codes_after_the_known_ones(tmp_path: Path) -> None:
    frame = table({"a": 20}, missing=0.0)
    old, new = split(frame, {"a": 10})
    new = new.with_columns(weather=pl.when(pl.int_range(pl.len()) < 2).then(pl.lit("fog")).otherwise("weather"))
    directory = stored(old, tmp_path / "panel")
    before = Panel.open(directory)
    found = Panel.append(directory, new)
    assert found.categories["weather"] == ["rain", "snow", "sun", "fog"]
    assert {feature.name: feature.cardinality for feature in found.future}["weather"] == 5
    np.testing.assert_array_equal(found.future_x[:10], before.future_x)  # type: ignore[index]
    assert found.to_frame()["weather"].to_list() == [*old["weather"], *new["weather"]]
    compact(directory)
    assert_same(Panel.open(directory), found)


def test_rows_out_of_time_order_are_sorted_with_a_warning(tmp_path: Path) -> None:
    frame = table({"a": 20}, missing=0.0)
    old, new = split(frame, {"a": 10})
    with pytest.warns(DataWarning, match="series 'a': rows are out of time order"):
        found = Panel.append(stored(old, tmp_path / "panel"), new.reverse())
    assert_same(found, build_panel(frame, Schema(**ROLES)))


def test_a_table_without_names_of_series_continues_the_only_one(tmp_path: Path) -> None:
    frame = pl.DataFrame({"ds": range(30), "y": np.arange(30.0)})
    build_panel(frame.head(20)).save(tmp_path / "panel")
    assert_same(Panel.append(tmp_path / "panel", frame.tail(10)), build_panel(frame))
    with pytest.raises(DataError, match="names series, and the panel has only one without a name"):
        append_rows(tmp_path / "panel", frame.with_columns(unique_id=pl.lit("a")))


def test_csv_files_are_appended_with_the_types_of_the_panel(tmp_path: Path) -> None:
    frame = table(LENGTHS, missing=0.0)
    old, new = split(frame, dict.fromkeys(LENGTHS, 20))
    new.write_csv(tmp_path / "new.csv")
    assert_same(
        Panel.append(stored(old, tmp_path / "panel"), tmp_path / "new.csv"), build_panel(frame, Schema(**ROLES))
    )


def test_integers_names_continue_whatever_their_width(tmp_path: Path) -> None:
    frame = pl.DataFrame({"unique_id": [3] * 9 + [12] * 9, "ds": [*range(9)] * 2, "y": np.arange(18.0)})
    old, new = frame.filter(pl.col("ds") < 5), frame.filter(pl.col("ds") >= 5)
    build_panel(old).save(tmp_path / "panel")
    found = Panel.append(tmp_path / "panel", new.with_columns(pl.col("unique_id").cast(pl.Int16)))
    assert_same(found, build_panel(frame))


def test_a_panel_of_the_first_format_can_be_appended_to(tmp_path: Path) -> None:
    place = Path(__file__).parents[3] / "fixtures" / "formats" / "panel-1"
    shutil.copytree(place, tmp_path / "panel")
    before = Panel.open(tmp_path / "panel")
    new = before.tail(1).to_frame().with_columns(pl.col("ds") + timedelta(days=1), y=pl.lit(100.0))
    found = Panel.append(tmp_path / "panel", new)
    assert len(found) == len(before) + 2
    assert check_panel(tmp_path / "panel").parts == 2
    compact(tmp_path / "panel")
    assert_same(Panel.open(tmp_path / "panel"), found)


def test_a_version_that_knows_no_parts_refuses_by_the_number_of_the_format(tmp_path: Path) -> None:
    old, new = split(table({"a": 20}), {"a": 10})
    directory = stored(old, tmp_path / "panel")
    append_rows(directory, new)
    assert json.loads((directory / "panel.json").read_text())["format"] == 3


def test_two_processes_cannot_append_at_once(tmp_path: Path) -> None:
    old, new = split(table({"a": 20}), {"a": 10})
    directory = stored(old, tmp_path / "panel")
    with lock_panel(directory), pytest.raises(InputError, match="in use by this process"):
        append_rows(directory, new)
    append_rows(directory, new)


@pytest.mark.parametrize("left", ["part", "list"])
def test_a_process_killed_while_it_appended_leaves_the_panel_as_it_was(left: str, tmp_path: Path) -> None:
    frame = table({"a": 20, "b": 20})
    old, new = split(frame, {"a": 10})
    directory = stored(old, tmp_path / "panel")
    expected = Panel.open(directory).to_frame()
    done = tmp_path / "done"
    shutil.copytree(directory, done)
    append_rows(done, new)
    shutil.copytree(done / "parts", directory / "parts")  # killed before the part was listed
    (directory / "parts" / ".0001.partial-abc").mkdir()
    (directory / ".parts.json.partial-abc").write_bytes(b"{")
    if left == "list":
        shutil.copy(done / "parts.json", directory)
    assert Panel.open(directory).to_frame().equals(expected)
    append_rows(directory, new)
    assert_same(Panel.open(directory), build_panel(frame, Schema(**ROLES)))
    assert [path.name for path in (directory / "parts").iterdir()] == ["0001"]


@pytest.mark.parametrize("file", ["y.float32", "offsets.npy", "manifest.json", "series.npy"])
def test_a_damaged_part_is_refused(file: str, tmp_path: Path) -> None:
    old, new = split(table({"a": 20}), {"a": 10})
    directory = stored(old, tmp_path / "panel")
    append_rows(directory, new)
    path = directory / "parts" / "0001" / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(UntrustedFileError):
        check_panel(directory)


@pytest.mark.parametrize("joint", [False, True])
def test_batches_of_appended_rows_are_those_of_all_rows(joint: bool, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from neuro_divergent.data.batcher import WindowBatcher
    from neuro_divergent.data.scaling.window import StandardScaler

    frame = table({"a": 30, "b": 30, "c": 30})
    if joint:
        frame = frame.with_columns(ds=START + pl.duration(hours=pl.int_range(pl.len()).over("unique_id")))
    old, new = split(frame, {"a": 17, "c": 17})
    appended = Panel.append(stored(old, tmp_path / "panel"), new)
    whole = build_panel(frame, Schema(**ROLES))
    rows = np.random.default_rng(1).integers(0, 30 - 12, 40)
    series = np.zeros(40, np.int64) if joint else np.random.default_rng(2).integers(0, 3, 40)
    batches = []
    for panel in (appended, whole):
        batcher = WindowBatcher(
            panel, input_size=8, horizon=4, scaler=StandardScaler(), weight=panel.weight, joint=joint
        )
        batches.append(batcher.windows(series, rows if joint else rows + 30 * series))
    for one, other in zip(*batches, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_forecasts_and_losses_on_appended_rows_are_those_on_all_rows(tmp_path: Path) -> None:
    import torch

    import neuro_divergent as nd

    frame = table({"a": 60, "c": 45, "e": 53})
    old, new = split(frame, {"a": 33, "c": 45})
    appended = Panel.append(stored(old, tmp_path / "panel"), new)
    results = []
    for panel in (appended, build_panel(frame, Schema(**ROLES))):
        torch.manual_seed(0)
        model = nd.Forecaster(
            nd.NHITS(hidden_size=8),
            horizon=4,
            input_size=8,
            training=nd.TrainingConfig(max_steps=6, batch_size=16, validate_every=3, log_every=1, threads=1),
        )
        model.fit(panel)
        ahead = frame.group_by("unique_id", maintain_order=True).last()
        future = pl.concat([ahead.with_columns(ds=pl.col("ds") + timedelta(hours=step)) for step in range(1, 5)]).sort(
            "unique_id", "ds"
        )
        results.append((model.history, model.predict(future=future)))
    losses = [history.select([name for name in history.columns if "loss" in name]) for history, _ in results]
    assert losses[0].width >= 2
    assert losses[0].equals(losses[1])
    assert results[0][1].equals(results[1][1])


def test_appending_in_another_process_is_seen_by_the_next_open(tmp_path: Path) -> None:
    frame = table({"a": 20})
    old, new = split(frame, {"a": 10})
    directory = stored(old, tmp_path / "panel")
    opened = Panel.open(directory)
    new.write_parquet(tmp_path / "new.parquet")
    code = "import sys; from neuro_divergent.data.panel import Panel; Panel.append(sys.argv[1], sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, str(directory), str(tmp_path / "new.parquet")], check=True)
    assert len(opened) == 10
    opened.check_files()
    assert len(Panel.open(directory)) == 20
