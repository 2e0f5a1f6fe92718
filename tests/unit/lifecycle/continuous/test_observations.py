"""Batches of rows, and the table as of each of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.continuous.observations import BATCH, Observations

SCHEMA = Schema()


def table(values: dict[tuple[str, int], float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "unique_id": [series for series, _ in values],
            "ds": [time for _, time in values],
            "y": list(values.values()),
        },
        schema={"unique_id": pl.String, "ds": pl.Int64, "y": pl.Float64},
    )


def as_dict(view: pl.DataFrame) -> dict[tuple[str, int], float | None]:
    return {(series, time): value for series, time, value in view.select("unique_id", "ds", "y").iter_rows()}


cells = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.integers(0, 5)), st.none() | st.floats(-5, 5), min_size=1, max_size=8
)


@settings(max_examples=40, deadline=None)
@given(st.lists(cells, min_size=1, max_size=5))
def test_the_view_as_of_any_batch_has_the_latest_value_of_each_row(
    tmp_path_factory: pytest.TempPathFactory, batches: list[dict[tuple[str, int], float | None]]
) -> None:
    store = Observations(tmp_path_factory.mktemp("observations"), SCHEMA)
    known: dict[tuple[str, int], float | None] = {}
    states = []
    for number, batch in enumerate(batches, 1):
        found = store.differences(table(batch), store.view(number - 1))
        assert as_dict(found.new) == {key: value for key, value in batch.items() if key not in known}
        assert as_dict(found.revised) == {
            key: value for key, value in batch.items() if key in known and known[key] != value
        }
        store.write(number, found.rows)
        known |= batch
        states.append(dict(known))
        view = store.view(number)
        assert view is not None
        assert as_dict(view) == known
    for number, state in enumerate(states, 1):  # also when only later ones are kept as files
        view = store.view(number)
        assert view is not None
        assert as_dict(view) == state
        assert view[BATCH].max() <= number  # type: ignore[operator]


def test_rows_of_other_types_are_converted_where_nothing_is_lost_and_refused_otherwise(tmp_path: Path) -> None:
    store = Observations(tmp_path, SCHEMA)
    store.write(1, table({("a", 1): 1.0}))
    view = store.view(1)
    found = store.differences(table({("a", 1): 1.0}).cast({"y": pl.Int64}), view)
    assert len(found) == 0
    with pytest.raises(DataError, match="column 'y' is String"):
        store.differences(table({("a", 1): 1.0}).with_columns(y=pl.lit("many")), view)
    with pytest.raises(DataError, match="'y' is missing"):
        store.differences(table({("a", 1): 1.0}).drop("y"), view)


def test_only_the_latest_two_views_are_kept(tmp_path: Path) -> None:
    store = Observations(tmp_path, SCHEMA)
    for number in range(1, 6):
        store.write(number, table({("a", number): 1.0}))
        store.view(number)
    assert sorted(path.name for path in tmp_path.glob("view-*")) == ["view-000004", "view-000005"]
