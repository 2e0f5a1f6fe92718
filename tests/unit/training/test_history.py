"""Rows, epochs and files of the history, against plain Python."""

from __future__ import annotations

import json
import math
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError, StorageError
from neuro_divergent.training.history import History


def row(step: int, epoch: int, **more: Any) -> dict[str, Any]:
    return {
        "seconds": step / 10,
        "step": step,
        "epoch": epoch,
        "train_loss": 1 / step,
        "learning_rate": 0.1 / step,
        "gradient_norm": float(step),
        "samples_per_second": 100.0 + step,
        "waiting_share": step / 100,
        **more,
    }


def history(*rows: dict[str, Any]) -> History:
    made = History()
    made.load_state_dict({"rows": list(rows)})
    return made


def test_metrics_may_appear_late_and_be_missing_later() -> None:
    rows = [row(number, 0) for number in range(1, 200)]
    rows += [row(200, 1, validation_loss=0.5, validation_accuracy=1), row(201, 1), row(202, 1, validation_accuracy=0.5)]
    frame = history(*rows).frame()
    assert frame.columns[-2:] == ["validation_loss", "validation_accuracy"]
    assert frame["validation_accuracy"].to_list() == [None] * 199 + [1.0, None, 0.5]
    assert frame["validation_accuracy"].dtype == pl.Float64
    assert frame["step"].to_list() == list(range(1, 203))


def test_an_empty_history_has_its_columns() -> None:
    assert History().frame().columns == History().columns
    assert History().frame().is_empty()
    assert History().by_epoch().is_empty()


@given(
    st.lists(
        st.tuples(
            st.integers(1, 20),  # steps since the row before
            st.integers(0, 2),  # epochs since the row before
            st.floats(0.01, 10),  # seconds since the row before
            st.floats(-100, 100),
            st.none() | st.floats(0, 100),
            st.none() | st.floats(-10, 10),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_epochs_sum_up_their_rows(parts: list[tuple[Any, ...]]) -> None:
    rows: list[dict[str, Any]] = []
    step = epoch = 0
    seconds = 0.0
    for steps, epochs, spent, loss, norm, result in parts:
        step, epoch, seconds = step + steps, epoch + epochs, seconds + spent
        rows.append(row(step, epoch, seconds=seconds, train_loss=loss, gradient_norm=norm))
        if result is not None:
            rows[-1]["validation_loss"] = result
    table = history(*rows).by_epoch().to_dicts()
    numbered = list(zip(rows, parts, strict=True))
    epochs_of_rows = groupby(numbered, key=lambda pair: pair[0]["epoch"])
    for found, (number, group) in zip(table, epochs_of_rows, strict=True):
        members = list(group)
        steps = sum(part[0] for _, part in members)
        spent = sum(part[2] for _, part in members)
        norms = [part[4] for _, part in members if part[4] is not None]
        results = [part[5] for _, part in members if part[5] is not None]
        last = members[-1][0]
        assert found["epoch"] == number
        assert (found["step"], found["seconds"]) == (last["step"], last["seconds"])
        assert found["learning_rate"] == last["learning_rate"]
        assert found["epoch_seconds"] == pytest.approx(spent)
        assert found["train_loss"] == pytest.approx(
            sum(part[3] * part[0] for _, part in members) / steps, rel=1e-9, abs=1e-9
        )
        speed = sum(item["samples_per_second"] * part[2] for item, part in members) / spent
        assert found["samples_per_second"] == pytest.approx(speed)
        waited = sum(item["waiting_share"] * part[2] for item, part in members) / spent
        assert found["waiting_share"] == pytest.approx(waited)
        assert found["gradient_norm"] == (pytest.approx(sum(norms) / len(norms)) if norms else None)
        assert found["gradient_norm_max"] == (max(norms) if norms else None)
        assert found["validation_loss"] == (results[-1] if results else None)


@pytest.mark.parametrize("ending", ["json", "parquet", "csv"])
def test_files_hold_the_rows(tmp_path: Path, ending: str) -> None:
    made = history(row(1, 0), row(2, 0, validation_loss=0.25, validation_mae=0.125), row(3, 1))
    path = tmp_path / "new" / f"history.{ending}"
    made.write(path)
    if ending == "json":
        found = pl.DataFrame(json.loads(path.read_text()), schema=made.frame().schema)
    else:
        found = pl.read_parquet(path) if ending == "parquet" else pl.read_csv(path)
    assert found.equals(made.frame())
    assert found["validation_mae"].to_list() == [None, 0.125, None]


def test_json_is_strict(tmp_path: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    path = tmp_path / "history.json"
    history(row(1, 0, train_loss=math.nan, gradient_norm=math.inf)).write(path)
    loaded = json.loads(path.read_text(), parse_constant=refuse)
    assert loaded[0]["train_loss"] is None
    assert loaded[0]["gradient_norm"] is None
    assert loaded[0]["step"] == 1


def test_other_endings_and_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"history\.xlsx: write a history to a \.json, \.parquet or \.csv file"):
        History().write(tmp_path / "history.xlsx")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError):
        History().write(tmp_path / "file" / "history.csv")


def test_a_state_is_a_copy_and_the_clock_goes_on() -> None:
    made = history(row(1, 0), row(600, 3))
    state = made.state_dict()
    again = history()
    again.load_state_dict(state)
    again.start()
    assert 60.0 <= again.seconds < 600.0
    again.add(step=601, epoch=3)
    again.rows[0]["step"] = 7
    assert len(state["rows"]) == 2
    assert made.rows[0]["step"] == state["rows"][0]["step"] == 1
    assert again.rows[-1]["seconds"] >= 60.0
