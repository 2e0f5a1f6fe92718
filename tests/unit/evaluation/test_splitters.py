"""Splitters: worked examples, refusals, splitters of the user's, and drawings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import date
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.splitters import Fold, Splitter, as_splitter
from neuro_divergent.evaluation.splitters.blocked import BlockedSplit
from neuro_divergent.evaluation.splitters.function import SplitFunction
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit
from neuro_divergent.evaluation.splitters.timeline import first_steps


def panel_of(*lengths: int, starts: list[int] | None = None, ids: list[Any] | None = None) -> Panel:
    """Return a panel that counts its rows."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Panel(
        schema=Schema(),
        ids=pl.Series("unique_id", ids or [f"s{number}" for number in range(len(lengths))]),
        starts=pl.Series("ds", starts or [0] * len(lengths)),
        frequency=Frequency(1, ""),
        offsets=offsets,
        y=np.arange(offsets[-1], dtype=np.float32),
    )


def train_of(fold: Fold) -> list[tuple[int, int, int]]:
    segments = zip(fold.train_series, fold.train_begins, fold.train_ends, strict=True)
    return [(int(series), int(begin), int(end)) for series, begin, end in segments]


def test_of(fold: Fold) -> list[tuple[int, int, int]]:
    segments = zip(fold.test_series, fold.test_begins, fold.test_ends, strict=True)
    return [(int(series), int(begin), int(end)) for series, begin, end in segments]


test_of.__test__ = False  # type: ignore[attr-defined]


class TestTimeSeriesSplit:
    def test_expanding_folds_count_back_from_the_end(self) -> None:
        folds = list(TimeSeriesSplit(n_splits=3, test_size=2).split(panel_of(10)))
        assert [train_of(fold) for fold in folds] == [[(0, 0, 4)], [(0, 0, 6)], [(0, 0, 8)]]
        assert [test_of(fold) for fold in folds] == [[(0, 4, 6)], [(0, 6, 8)], [(0, 8, 10)]]

    def test_embargo_divides_later_training_into_segments(self) -> None:
        folds = list(TimeSeriesSplit(n_splits=3, test_size=2, step_size=4, embargo=1).split(panel_of(20)))
        assert [train_of(fold) for fold in folds] == [
            [(0, 0, 10)],
            [(0, 0, 12), (0, 13, 14)],
            [(0, 0, 12), (0, 13, 16), (0, 17, 18)],
        ]

    def test_a_fraction_is_of_each_series(self) -> None:
        (fold,) = TimeSeriesSplit(n_splits=1, test_size=0.25).split(panel_of(8, 100, 3))
        assert test_of(fold) == [(0, 6, 8), (1, 83, 108), (2, 110, 111)]

    def test_short_series_are_left_out_of_the_folds_that_they_are_too_short_for(self) -> None:
        panel = panel_of(10, 4)
        folds = list(TimeSeriesSplit(n_splits=3, test_size=2, min_train_size=2).split(panel))
        assert [fold.left_out(panel).tolist() for fold in folds] == [[1], [1], []]
        assert test_of(folds[2]) == [(0, 8, 10), (1, 12, 14)]

    def test_series_that_end_early_are_trained_on_and_tested_as_far_as_they_go(self) -> None:
        panel = panel_of(10, 9, 5)
        (fold,) = TimeSeriesSplit(n_splits=1, test_size=3, align="time").split(panel)
        assert test_of(fold) == [(0, 7, 10), (1, 17, 19)]
        assert train_of(fold) == [(0, 0, 7), (1, 10, 17), (2, 19, 24)]

    def test_no_series_long_enough_is_an_error_with_the_numbers(self) -> None:
        splitter = TimeSeriesSplit(n_splits=3, test_size=4, gap=1, purge=2, step_size=5)
        with pytest.raises(DataError) as error:
            list(splitter.split(panel_of(17, 9)))
        assert str(error.value) == (
            "fold 0 of 3: no series has the rows for it: 1 to train on, 3 of gap and purge, 4 to test and 10 for the "
            "folds after it are 18; the longest series has 17. Lower n_splits, test_size, step_size or the rows to "
            "train on."
        )
        assert len(list(splitter.split(panel_of(18)))) == 3

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"test_size": 0}, "test_size: 0 must be a fraction between 0 and 1 or an integer number of rows"),
            ({"test_size": 1.5}, "test_size: 1.5 must be a fraction"),
            ({"test_size": float("nan")}, "test_size: nan must be a fraction"),
            ({"test_size": float("inf")}, "test_size: inf must be a fraction"),
            ({"test_size": 10**30}, "must be a fraction"),
            ({"gap": -1}, "gap: -1"),
            ({"purge": 10**30}, "purge"),
            ({"n_splits": 0}, "n_splits: 0"),
            ({"window": "sliding"}, "a sliding window needs train_size"),
            ({"train_size": 10}, "train_size is for window='sliding'"),
            ({"window": "sliding", "train_size": 5, "min_train_size": 6}, r"min_train_size \(6\) must be at most"),
            ({"align": "start"}, "align"),
        ],
    )
    def test_settings_that_make_no_sense_are_refused(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            TimeSeriesSplit(**settings)

    def test_an_integer_number_of_rows_may_be_a_float(self) -> None:
        assert TimeSeriesSplit(test_size=24.0) == TimeSeriesSplit(test_size=24)


class TestBlockedSplit:
    def test_a_block_is_cut_out_with_purge_on_both_sides_and_embargo_after(self) -> None:
        folds = list(BlockedSplit(blocks=4, gap=1, purge=1, embargo=2).split(panel_of(40)))
        assert [test_of(fold) for fold in folds] == [[(0, 10 * k, 10 * k + 10)] for k in range(4)]
        assert train_of(folds[1]) == [(0, 0, 8), (0, 23, 40)]
        assert train_of(folds[0]) == [(0, 13, 40)]
        assert train_of(folds[3]) == [(0, 0, 28)]

    def test_a_held_out_group_is_in_no_training(self) -> None:
        splitter = BlockedSplit(groups={"s0": "a", "s1": "b", "s2": "a"}, test="groups")
        folds = list(splitter.split(panel_of(5, 6, 7)))
        assert [test_of(fold) for fold in folds] == [[(0, 0, 5), (2, 11, 18)], [(1, 5, 11)]]
        assert [train_of(fold) for fold in folds] == [[(1, 5, 11)], [(0, 0, 5), (2, 11, 18)]]

    def test_both_trains_on_neither_the_same_series_nor_the_same_time(self) -> None:
        splitter = BlockedSplit(blocks=2, groups={"s0": "a", "s1": "b"}, test="both")
        folds = list(splitter.split(panel_of(10, 10)))
        assert [test_of(fold) for fold in folds] == [[(0, 0, 5)], [(1, 10, 15)], [(0, 5, 10)], [(1, 15, 20)]]
        assert [train_of(fold) for fold in folds] == [[(1, 15, 20)], [(0, 5, 10)], [(1, 10, 15)], [(0, 0, 5)]]

    def test_blocks_of_a_group_leave_other_series_complete(self) -> None:
        splitter = BlockedSplit(blocks=2, groups={"s0": "a", "s1": "b"})
        fold = next(splitter.split(panel_of(10, 10)))
        assert test_of(fold) == [(0, 0, 5)]
        assert train_of(fold) == [(0, 5, 10), (1, 10, 20)]

    def test_series_named_by_numbers_are_found_in_a_table(self) -> None:
        splitter = BlockedSplit(groups={1: 10, 7: 20}, test="groups")
        assert len(list(splitter.split(panel_of(5, 5, ids=[1, 7])))) == 2
        assert BlockedSplit.from_toml(splitter.to_toml()) == splitter

    def test_a_static_column_groups(self) -> None:
        static = np.array([[0, 2], [0, 1], [0, 2]], np.float32)
        names = (Feature("size"), Feature("region", 3))
        panel = dataclasses.replace(panel_of(5, 5, 5), static_x=static, static=names)
        folds = list(BlockedSplit(groups="region", test="groups").split(panel))
        assert [fold.test_series.tolist() for fold in folds] == [[1], [0, 2]]
        with pytest.raises(DataError, match=r"groups: 'regio' is not a static column. Did you mean 'region'\?"):
            list(BlockedSplit(groups="regio", test="groups").split(panel))

    def test_drawn_groups_change_with_the_seed_alone(self) -> None:
        panel = panel_of(*[3] * 12)

        def groups(seed: int) -> list[list[int]]:
            return [fold.test_series.tolist() for fold in BlockedSplit(groups=3, test="groups", seed=seed).split(panel)]

        assert groups(1) == groups(1)
        assert groups(1) != groups(2)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"test": "groups"}, "test='groups' needs groups"),
            ({"test": "both"}, "test='both' needs groups"),
            ({"groups": 1}, "must be at least 2"),
            ({"groups": 2, "test": "groups", "purge": 1}, "purge has no effect with test='groups'"),
            ({"blocks": 1}, "blocks: 1"),
        ],
    )
    def test_settings_that_make_no_sense_are_refused(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            BlockedSplit(**settings)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"blocks": 11}, "11 blocks need as many times, and there are 10. Lower blocks"),
            ({"groups": 3}, "3 groups need as many series, and there are 2"),
            ({"groups": {"s0": "a"}}, "groups: 1 of 2 series have none, the first 's1'"),
            ({"groups": {"s0": "a", "s1": "a"}, "test": "groups"}, "fold 0: no row is left to train on"),
            ({"purge": 5}, "fold 1: no row is left to train on"),
        ],
    )
    def test_panels_that_cannot_be_split_are_refused(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(DataError, match=message):
            list(BlockedSplit(**{"blocks": 3, **settings}).split(panel_of(10, 10)))


class TestUserSplitters:
    def test_a_function_may_give_masks_row_numbers_or_folds(self) -> None:
        panel = panel_of(4, 4)
        mask = np.array([1, 1, 0, 0, 1, 1, 1, 1], bool)
        held = np.array([0, 0, 1, 1, 0, 0, 0, 0], bool)
        fold = Fold(0, [0, 1], [0, 4], [2, 8], [0], [2], [4])  # type: ignore[arg-type]
        for given in ((mask, held), [mask.tolist(), held.tolist()], (np.flatnonzero(mask), [2, 3]), fold):
            (found,) = as_splitter(lambda _, given=given: [given]).split(panel)
            assert train_of(found) == [(0, 0, 2), (1, 4, 8)]
            assert test_of(found) == [(0, 2, 4)]

    def test_marked_rows_on_both_sides_of_a_border_are_two_segments(self) -> None:
        (fold,) = as_splitter(lambda _: [([2, 3, 4, 5], [0, 1, 6, 7])]).split(panel_of(4, 4))
        assert train_of(fold) == [(0, 2, 4), (1, 4, 6)]
        assert test_of(fold) == [(0, 0, 2), (1, 6, 8)]
        (fold,) = as_splitter(lambda _: [([0, 1, 6, 7], [2, 3, 4, 5])]).split(panel_of(4, 4))
        assert test_of(fold) == [(0, 2, 4), (1, 4, 6)]

    def test_an_object_with_split_is_a_splitter(self) -> None:
        class Halves:
            def split(self, panel: Panel) -> Iterator[tuple[np.ndarray, np.ndarray]]:
                first = np.arange(len(panel)) < len(panel) // 2
                yield first, ~first

        splitter = as_splitter(Halves())
        assert isinstance(splitter, SplitFunction)
        assert test_of(next(splitter.split(panel_of(6)))) == [(0, 3, 6)]
        assert splitter.to_dict()["function"].endswith("Halves.split")
        assert "fold 0" in splitter.draw(panel_of(6))

    def test_names_and_tables_are_splitters(self) -> None:
        assert as_splitter("time_series") == TimeSeriesSplit()
        assert as_splitter({"name": "blocked", "blocks": 3}) == BlockedSplit(blocks=3)
        splitter = TimeSeriesSplit()
        assert as_splitter(splitter) is splitter

    @pytest.mark.parametrize("value", [3, None, [1]])
    def test_other_objects_are_refused_as_splitters(self, value: object) -> None:
        with pytest.raises(ConfigError, match=r"expected a splitter, its name or table, a function"):
            as_splitter(value)

    def test_a_class_is_refused_as_splitter(self) -> None:
        with pytest.raises(ConfigError, match=r"TimeSeriesSplit is a class; pass an object of it"):
            as_splitter(TimeSeriesSplit)

    def test_an_unknown_name_offers_the_closest(self) -> None:
        with pytest.raises(ConfigError, match="Did you mean 'blocked'"):
            as_splitter("blockd")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([], "yielded no fold"),
            (3, "returned int; expected an iterable of folds"),
            ([3], "fold 0 of .* is int; expected a Fold, or a pair"),
            ([([0], [1], [2])], "fold 0 of .* is tuple; expected"),
            ([([0, 1], [1, 2])], "row 1, of series 's0', is both to train and to test"),
            ([([0, 1], [8])], "row 8 does not exist; the panel has the rows 0 to 7"),
            ([([-1], [3])], "row -1 does not exist"),
            ([([0, 0], [3])], "a row number comes twice"),
            ([([0, 1], [])], "fold 0: there is no row to test"),
            ([([0.5], [3])], "got float64 shaped"),
            (
                [([True, False], [False, True])],
                r"got bool shaped \(2,\); expected True or False for each of the 8 rows",
            ),
            ([(np.zeros(8, bool), np.ones(8, bool))], "there is no row to train"),
            ([([0], [2]), ([0], np.zeros(0, int))], "fold 1: there is no row to test"),
            ([([0], [1, 3])], "series 's0' is tested on more than one segment"),
            ([Fold(1, [0], [0], [2], [0], [2], [4])], "fold 0 has 1"),
            ([Fold(0, [0], [0], [2], [2], [2], [4])], "test_series has 2, and the panel has the series 0 to 1"),
            ([Fold(0, [-1], [0], [2], [0], [2], [4])], "train_series has -1"),
            (
                [Fold(0, [0], [0], [5], [1], [5], [8])],
                r"the rows 0 to 5 \(exclusive\) to train .* not all of series 's0'",
            ),
            ([Fold(0, [0], [2], [2], [1], [5], [8])], "are empty or not all of series 's0'"),
            ([Fold(0, [0, 0], [0, 1], [2, 3], [1], [5], [8])], "row 1, of series 's0', is twice to train"),
        ],
    )
    def test_folds_that_cannot_be_used_are_refused(self, given: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            list(as_splitter(lambda _: given).split(panel_of(4, 4)))

    def test_arrays_of_a_fold_must_agree_and_hold_integers(self) -> None:
        with pytest.raises(
            DataError, match="fold 3: train_series, train_begins and train_ends have 2, 1 and 1 entries"
        ):
            Fold(3, [0, 1], [0], [2], [0], [2], [4])  # type: ignore[arg-type]
        with pytest.raises(DataError, match="fold 0: test_ends must be a list of integers; got float64"):
            Fold(0, [0], [0], [2], [0], [2], [4.5])  # type: ignore[arg-type]

    def test_a_new_splitter_is_one_class(self) -> None:
        class SecondHalf(Splitter):
            """Tests the second half of each series."""

            name: ClassVar[str] = "second_half"

            def folds(self, panel: Panel) -> Iterator[Fold]:
                middle = panel.offsets[:-1] + panel.lengths // 2
                series = np.arange(panel.num_series)
                yield Fold(0, series, panel.offsets[:-1], middle, series, middle, panel.offsets[1:])

        assert test_of(next(SecondHalf().split(panel_of(4, 6)))) == [(0, 2, 4), (1, 7, 10)]


class TestWindows:
    def test_joint_windows_need_the_same_rows_of_every_series(self) -> None:
        panel = panel_of(10, 10)
        fold = next(TimeSeriesSplit(n_splits=1, test_size=4).split(panel))
        windows = fold.test_windows(panel, 3, 2, joint=True)
        assert len(windows) == 2
        held = next(BlockedSplit(groups=2, test="groups").split(panel))
        with pytest.raises(DataError, match="needs the same test rows in each"):
            held.test_windows(panel, 3, 2, joint=True)


class TestTimeline:
    def test_series_that_begin_between_two_steps_count_from_the_step_before(self) -> None:
        starts = pl.Series("ds", [date(2024, 1, 1), date(2024, 1, 3), date(2024, 1, 14), date(2024, 1, 15)])
        panel = dataclasses.replace(panel_of(2, 2, 2, 2), starts=starts, frequency=Frequency(1, "w"))
        assert first_steps(panel).tolist() == [0, 0, 1, 2]


class TestDrawings:
    def test_text_drawing_of_a_small_panel(self) -> None:
        splitter = TimeSeriesSplit(n_splits=3, test_size=4, gap=1, purge=1, embargo=1, step_size=5)
        assert splitter.draw(panel_of(32), width=40, plain=True).splitlines() == [
            "fold 0  ================..####",
            "fold 1  =====================..####",
            "fold 2  ======================x===..####",
            "        0                             31",
            "        == train   .. gap and purge   ## test   xx embargo",
        ]

    def test_series_that_differ_get_a_line_each_with_their_number(self) -> None:
        splitter = BlockedSplit(groups={"s0": "a", "s1": "b", "s2": "b", "s3": "b"}, test="groups")
        lines = splitter.draw(panel_of(10, 10, 10, 10), width=40, plain=True).splitlines()
        assert lines[:4] == [
            "fold 0  ======================  3 series",
            "        ######################  1 series",
            "fold 1  ######################  3 series",
            "        ======================  1 series",
        ]

    def test_series_that_are_not_shown_are_counted(self) -> None:
        panel = panel_of(60, 50, 40, 30, 20, 2)
        drawn = TimeSeriesSplit(n_splits=1, test_size=5).draw(panel)
        assert "2 more with other layouts, 1 series left out" in drawn

    def test_a_short_test_range_in_a_long_series_is_drawn(self) -> None:
        lines = TimeSeriesSplit(n_splits=1, test_size=1, gap=1000).draw(panel_of(1_000_000), plain=True).splitlines()
        assert lines[0].endswith("=#")
        twice = TimeSeriesSplit(n_splits=2, test_size=1, step_size=500_000).draw(panel_of(1_000_000), plain=True)
        assert twice.splitlines()[0].endswith("=#")

    def test_tables_are_drawn_like_panels(self) -> None:
        frame = pl.DataFrame({"day": [date(2024, 1, day) for day in range(1, 21)], "sold": range(20)})
        lines = TimeSeriesSplit(n_splits=1, test_size=5).draw(frame, target="sold", time="day").splitlines()
        assert lines[1].split() == ["2024-01-01", "2024-01-20"]


def test_pieces_carry_everything_that_rows_and_series_have() -> None:
    panel = dataclasses.replace(
        panel_of(5, 4, starts=[3, 7]),
        mask=np.arange(9) % 2 == 0,
        weight=np.arange(9, dtype=np.float32),
        past_x=np.arange(18, dtype=np.float32).reshape(9, 2),
        future_x=np.arange(9, dtype=np.float32).reshape(9, 1),
        static_x=np.array([[1], [2]], np.float32),
        past=(Feature("a"), Feature("b")),
        future=(Feature("c"),),
        static=(Feature("d"),),
    )
    pieces = panel.pieces([0, 1, 0], [1, 5, 4], [3, 9, 5])
    rows = [1, 2, 5, 6, 7, 8, 4]
    assert pieces.is_consistent()
    assert pieces.ids.to_list() == ["s0", "s1", "s0"]
    assert pieces.starts.to_list() == [4, 7, 7]
    assert pieces.offsets.tolist() == [0, 2, 6, 7]
    for name in ("y", "mask", "weight", "past_x", "future_x"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(panel, name)[rows])
    np.testing.assert_array_equal(pieces.static_x, [[1], [2], [1]])
    pieces.y[:] = -1
    assert panel.y.min() == 0, "values are copied"
