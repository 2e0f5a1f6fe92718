"""Splitters against brute force: every row of every series is judged on its own, with plain numbers, sets and dates."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.splitters import Fold
from neuro_divergent.evaluation.splitters.blocked import BlockedSplit
from neuro_divergent.evaluation.splitters.segments import Segments
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit

Key = tuple[int, int]  # series, row of the series


@dataclass
class Roles:
    """The rows of a fold by role."""

    train: set[Key] = field(default_factory=set)
    test: set[Key] = field(default_factory=set)
    gap: set[Key] = field(default_factory=set)
    embargo: set[Key] = field(default_factory=set)


@dataclass
class Data:
    """A panel, and the times of its series as lists."""

    panel: Panel
    times: list[list[date]]
    grid: list[date]

    @property
    def positions(self) -> list[list[int]]:
        """Step of the common calendar in which each row of each series lies."""
        return [[bisect_right(self.grid, time) - 1 for time in series] for series in self.times]


def months_after(start: date, count: int) -> date:
    month = start.month - 1 + count
    return date(start.year + month // 12, month % 12 + 1, start.day)


@st.composite
def panels(draw: st.DrawFn) -> Data:
    """Several series of different lengths and starts, by days, weeks that begin on different days, or months."""
    unit = draw(st.sampled_from(["1d", "3d", "1w", "1mo"]))
    lengths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))

    def after(start: date, count: int) -> date:
        if unit == "1mo":
            return months_after(start, count)
        return start + count * timedelta({"1d": 1, "3d": 3, "1w": 7}[unit])

    starts = [date(2024, 1, 1) + timedelta(draw(st.integers(0, 27))) for _ in lengths]
    starts = [after(start, draw(st.integers(0, 12))) for start in starts]
    times = [[after(start, row) for row in range(length)] for start, length in zip(starts, lengths, strict=True)]
    earliest = min(starts)
    latest = max(series[-1] for series in times)
    grid = [earliest]
    while (step := after(earliest, len(grid))) <= latest:
        grid.append(step)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    panel = Panel(
        schema=Schema(),
        ids=pl.Series("unique_id", [f"s{number}" for number in range(len(lengths))]),
        starts=pl.Series("ds", starts),
        frequency=Frequency.parse(unit),
        offsets=offsets,
        y=np.arange(offsets[-1], dtype=np.float32),
        static_x=np.array([[float(number % 3)] for number in range(len(lengths))], np.float32),
        static=(Feature("region"),),
    )
    return Data(panel, times, grid)


def rows_of(panel: Panel, series: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> set[Key]:
    """List the rows of segments, which must not overlap."""
    rows = [
        (int(number), row - int(panel.offsets[number]))
        for number, begin, end in zip(series, begins, ends, strict=True)
        for row in range(begin, end)
    ]
    assert len(rows) == len(set(rows))
    return set(rows)


def roles_of(panel: Panel, fold: Fold) -> Roles:
    train = Segments(fold.train_series, fold.train_begins, fold.train_ends)
    test = Segments(fold.test_series, fold.test_begins, fold.test_ends)
    return Roles(*(rows_of(panel, *segments) for segments in (train, test, fold.gap, fold.embargo)))


@st.composite
def time_series_splits(draw: st.DrawFn) -> TimeSeriesSplit:
    few = st.integers(0, 5)
    train_size = draw(st.none() | st.integers(1, 12))
    return TimeSeriesSplit(
        n_splits=draw(st.integers(1, 5)),
        test_size=draw(st.integers(1, 6) | st.sampled_from([0.05, 0.1, 0.25, 0.5])),
        gap=draw(few),
        purge=draw(few),
        embargo=draw(few),
        window="expanding" if train_size is None else "sliding",
        train_size=train_size,
        step_size=draw(st.none() | st.integers(1, 6)),
        min_train_size=draw(st.integers(1, min(8, train_size or 8))),
        align=draw(st.sampled_from(["end", "time"])),
    )


def judge_time_series(data: Data, splitter: TimeSeriesSplit) -> Iterator[Roles]:
    """Give the rows of each fold; an empty test set stands for an error."""
    aligned = splitter.align == "time"
    places = data.positions if aligned else [list(range(len(series))) for series in data.times]
    latest = max(max(series) for series in places)
    forbidden: list[set[int]] = [set() for _ in places]
    for number in range(splitter.n_splits):
        found = Roles()
        for series, positions in enumerate(places):
            stop = (latest if aligned else positions[-1]) + 1
            size = splitter.test_size if splitter.test_size >= 1 else max(1, round(splitter.test_size * stop))
            end = stop - (splitter.n_splits - 1 - number) * (splitter.step_size or size)
            begin = end - size
            cut = begin - splitter.gap - splitter.purge
            oldest = -(10**9) if splitter.train_size is None else cut - splitter.train_size
            seen = [place for place in positions if oldest <= place < cut]
            train = [place for place in seen if place not in forbidden[series]]
            if len(train) < splitter.min_train_size or splitter.train_size not in (None, len(seen)):
                continue

            def keys(chosen: list[int], series: int = series, first: int = positions[0]) -> set[Key]:
                return {(series, place - first) for place in chosen}

            test = [place for place in positions if begin <= place < end]
            found.train |= keys(train)
            found.embargo |= keys([place for place in seen if place in forbidden[series]])
            if test:
                found.test |= keys(test)
                found.gap |= keys([place for place in positions if cut <= place < begin])
                forbidden[series] |= set(range(end, end + splitter.embargo))
        yield found
        if not found.test:
            return


@given(panels(), time_series_splits())
def test_time_series_folds_are_those_of_brute_force(data: Data, splitter: TimeSeriesSplit) -> None:
    folds = splitter.split(data.panel)
    count = 0
    for expected in judge_time_series(data, splitter):
        if not expected.test:
            with pytest.raises(DataError, match=f"^fold {count} of {splitter.n_splits}: no series has the rows"):
                next(folds)
            return
        fold = next(folds)
        assert fold.number == count
        assert roles_of(data.panel, fold) == expected
        used = {series for series, _ in expected.train | expected.test}
        assert fold.left_out(data.panel).tolist() == [s for s in range(data.panel.num_series) if s not in used]
        count += 1
    assert count == splitter.n_splits
    assert next(folds, None) is None


@st.composite
def blocked_splits(draw: st.DrawFn, series: int) -> BlockedSplit:
    few = st.integers(0, 4)
    test = draw(st.sampled_from(["blocks", "groups", "both"]))
    kinds = [
        st.just("region"),
        st.fixed_dictionaries({f"s{number}": st.sampled_from("ab") for number in range(series)}),
    ]
    if series > 1:
        kinds.append(st.integers(2, series))
    groups = draw(st.one_of(*kinds, *([st.none()] if test == "blocks" else [])))
    rows = {} if test == "groups" else {"gap": draw(few), "purge": draw(few), "embargo": draw(few)}
    return BlockedSplit(blocks=draw(st.integers(2, 5)), groups=groups, test=test, seed=draw(st.integers(0, 3)), **rows)


def judge_blocks(data: Data, splitter: BlockedSplit, groups: list[set[int]]) -> Iterator[Roles]:
    """Give the rows of each fold that tests something; an empty training set stands for an error."""
    places = data.positions
    total = max(max(series) for series in places) + 1
    borders = [round(block * total / splitter.blocks) for block in range(splitter.blocks + 1)]
    whole = splitter.test == "groups"
    blocks = [(0, total)] if whole else list(pairwise(borders))
    for begin, end in blocks:
        for held in groups:
            found = Roles()
            for series, positions in enumerate(places):
                for row, place in enumerate(positions):
                    inside = begin <= place < end
                    before = 0 < begin - place <= splitter.gap + splitter.purge
                    just_after = 0 <= place - end < splitter.purge
                    later = 0 <= place - end - splitter.purge < splitter.embargo
                    is_held = series in held
                    bound = not whole and (not is_held if splitter.test == "both" else is_held)
                    key = series, row
                    if is_held and inside:
                        found.test.add(key)
                    elif bound and (before or just_after):
                        found.gap.add(key)
                    elif bound and later:
                        found.embargo.add(key)
                    elif not (bound and inside) and not (is_held and splitter.test != "blocks"):
                        found.train.add(key)
            if found.test:
                yield found
                if not found.train:
                    return


@given(st.data(), panels())
def test_blocked_folds_are_those_of_brute_force(choice: st.DataObject, data: Data) -> None:
    panel = data.panel
    splitter = choice.draw(blocked_splits(panel.num_series))
    if splitter.test != "groups" and len(data.grid) < splitter.blocks:
        with pytest.raises(DataError, match=r"blocks need as many times"):
            list(splitter.split(panel))
        return
    groups = [set(range(panel.num_series))]
    if isinstance(splitter.groups, str):
        groups = [{s for s in range(panel.num_series) if s % 3 == label} for label in range(min(3, panel.num_series))]
    elif isinstance(splitter.groups, dict):
        listed = splitter.groups
        labels = sorted(set(listed.values()))
        groups = [{s for s in range(panel.num_series) if listed[f"s{s}"] == label} for label in labels]
    elif isinstance(splitter.groups, int):
        drawn = [set(np.flatnonzero(mask).tolist()) for mask in splitter._groups(panel)]
        assert len(drawn) == splitter.groups
        assert sorted(s for group in drawn for s in group) == list(range(panel.num_series))
        assert max(map(len, drawn)) - min(map(len, drawn)) <= 1
        groups = drawn
    folds = splitter.split(panel)
    for number, expected in enumerate(judge_blocks(data, splitter, groups)):
        if not expected.train:
            with pytest.raises(DataError, match="no row is left to train on"):
                next(folds)
            return
        fold = next(folds)
        assert fold.number == number
        assert roles_of(panel, fold) == expected
    assert next(folds, None) is None


def window_rows(windows: Windows) -> set[tuple[int, ...]]:
    """Return the rows of each window of a panel whose values are numbers of rows."""
    _, begins = windows.locate(np.arange(len(windows)))
    size = windows.input_size + windows.horizon
    return {tuple(int(value) for value in windows.panel.y[begin : begin + size]) for begin in begins}


@given(panels(), time_series_splits(), st.integers(1, 4), st.integers(1, 4))
def test_windows_are_those_of_brute_force(data: Data, splitter: TimeSeriesSplit, size: int, horizon: int) -> None:
    panel = data.panel
    try:
        folds = list(splitter.split(panel))
    except DataError:
        return
    everything = [
        tuple(range(row, row + size + horizon))
        for begin, end in zip(panel.offsets, panel.offsets[1:], strict=False)
        for row in range(begin, end - size - horizon + 1)
    ]
    for fold in folds:
        roles = roles_of(panel, fold)
        train, test = ({int(panel.offsets[s]) + row for s, row in rows} for rows in (roles.train, roles.test))
        trained = fold.train(panel)
        begins, ends = trained.offsets[:-1], trained.offsets[1:]
        assert trained.y.astype(int).tolist() == sorted(train)
        assert window_rows(Windows(trained, size, horizon, begins, ends)) == {w for w in everything if set(w) <= train}
        tested = {w for w in everything if set(w[size:]) <= test}
        assert window_rows(fold.test_windows(panel, size, horizon, 1)) == tested
        targets = [row for window in window_rows(fold.test_windows(panel, size, horizon)) for row in window[size:]]
        assert len(targets) == len(set(targets)), "by default each row is forecast once"


@given(panels(), st.integers(0, 4), st.integers(0, 4), st.integers(1, 4), st.integers(1, 4))
def test_gap_and_purge_remove_the_windows_whose_last_target_lies_in_them(
    data: Data, gap: int, purge: int, size: int, horizon: int
) -> None:
    panel = data.panel

    def trained_on(splitter: TimeSeriesSplit) -> tuple[Fold, set[tuple[int, ...]]]:
        fold = next(splitter.split(panel))
        train = fold.train(panel)
        return fold, window_rows(Windows(train, size, horizon, train.offsets[:-1], train.offsets[1:]))

    try:
        fold, fewer = trained_on(TimeSeriesSplit(n_splits=1, test_size=3, gap=gap, purge=purge))
    except DataError:
        return
    _, more = trained_on(TimeSeriesSplit(n_splits=1, test_size=3))
    taking_part = set(fold.train_series.tolist())
    more = {window for window in more if np.searchsorted(panel.offsets, window[0], side="right") - 1 in taking_part}
    held_back = {int(panel.offsets[s]) + row for s, row in roles_of(panel, fold).gap}
    assert fewer <= more
    assert more - fewer == {window for window in more if window[-1] in held_back}


@given(panels(), time_series_splits())
def test_training_segments_keep_names_times_and_static_features(data: Data, splitter: TimeSeriesSplit) -> None:
    panel = data.panel
    try:
        folds = list(splitter.split(panel))
    except DataError:
        return
    for fold in folds:
        train = fold.train(panel)
        assert train.is_consistent()
        times = train.times().to_list()
        for segment, series in enumerate(fold.train_series):
            rows = slice(*(int(train.offsets[segment + side]) for side in (0, 1)))
            begin = int(fold.train_begins[segment] - panel.offsets[series])
            assert times[rows] == data.times[series][begin : begin + rows.stop - rows.start]
            assert train.ids[segment] == f"s{series}"
            assert train.static_x is not None
            assert train.static_x[segment, 0] == series % 3
