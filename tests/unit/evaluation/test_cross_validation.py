"""Cross-validation: nothing of the test part is seen, and however it is run the result is the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, InputError, StorageWarning, WorkerDiedError
from neuro_divergent.core.parallel import TaskResult
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation import metrics
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.evaluation.cross_validation.cross_validation import CrossValidation, cross_validate
from neuro_divergent.evaluation.cross_validation.fold_task import FoldTask, clone, fit_fold, training_part
from neuro_divergent.evaluation.splitters.blocked import BlockedSplit
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit
from neuro_divergent.forecasting.ensemble.ensemble import Ensemble

HORIZON, HISTORY, SEASON = 4, 12, 7
FRAME = Synthetic(num_series=3, length=90, missing=0.0).frame()
THREE = TimeSeriesSplit(n_splits=3, test_size=HORIZON)


def forecaster(name: str = "nlinear", *, steps: int = 5, **task: Any) -> nd.Forecaster:
    training = nd.TrainingConfig(max_steps=steps, batch_size=16, threads=1)
    return nd.Forecaster(name, training=training, **{"horizon": HORIZON, "input_size": HISTORY, **task})


@pytest.fixture(scope="module")
def plain() -> CrossValidation:
    return cross_validate(forecaster(), FRAME, THREE, levels=[80], quantiles=[0.1])


def test_each_fold_is_what_training_on_its_past_and_predicting_gives(plain: CrossValidation) -> None:
    for fold in range(3):
        rows = 90 - (3 - fold) * HORIZON
        past = FRAME.with_columns(place=pl.int_range(pl.len()).over("unique_id")).filter(pl.col("place") < rows)
        alone = forecaster().fit(past.drop("place")).predict(levels=[80], quantiles=[0.1])
        found = plain.forecasts.filter(pl.col("fold") == fold)
        assert found.select("unique_id", "ds").equals(alone.select("unique_id", "ds"))
        for name in ("forecast", "lo-80", "hi-80", "q-0.1"):
            assert found[name].to_numpy() == pytest.approx(alone[name].to_numpy(), rel=1e-5)


def test_table_has_cutoffs_steps_and_observed_values(plain: CrossValidation) -> None:
    frame = plain.forecasts
    assert frame.height == 3 * 3 * HORIZON
    assert frame["step"].to_list() == [1, 2, 3, 4] * 9
    assert (frame["ds"] > frame["cutoff"]).all()
    joined = frame.join(FRAME, on=["unique_id", "ds"])
    assert joined["actual"].to_numpy() == pytest.approx(joined["y"].to_numpy(), rel=1e-6)
    assert set(NAMES) <= set(frame.columns)


def test_scores_are_mean_and_deviation_over_folds(plain: CrossValidation) -> None:
    of_folds = [
        metrics.mae(part["actual"].to_numpy(), part["forecast"].to_numpy())
        for part in plain.forecasts.partition_by("fold", maintain_order=False)
    ]
    row = plain.scores.row(by_predicate=pl.col("model") == "forecast", named=True)
    assert row["mae"] == pytest.approx(np.mean(of_folds))
    assert row["mae_std"] == pytest.approx(np.std(of_folds, ddof=1))
    assert plain.per_fold.filter(pl.col("model") == "forecast")["mae"].to_list() == pytest.approx(sorted_by_fold(plain))
    assert plain.scores["model"].to_list() == ["forecast", *NAMES]


def sorted_by_fold(result: CrossValidation) -> list[float]:
    parts = [result.forecasts.filter(pl.col("fold") == fold) for fold in range(3)]
    return [metrics.mae(part["actual"].to_numpy(), part["forecast"].to_numpy()) for part in parts]


def test_the_given_forecaster_does_not_change() -> None:
    template = forecaster()
    cross_validate(template, FRAME, TimeSeriesSplit(n_splits=1, test_size=HORIZON))
    with pytest.raises(nd.errors.NeuroDivergentError, match="not been trained"):
        _ = template.fitted


@pytest.mark.parametrize("series_scaler", [None, "standard"])
def test_changing_test_values_changes_no_weight_and_no_scaler_parameter(series_scaler: str | None) -> None:
    fold = list(THREE.split(build_panel(FRAME)))[1]
    learned = []
    for change in (0.0, 1e4):
        panel = build_panel(FRAME)
        for begin, end in zip(fold.test_begins, fold.test_ends, strict=True):
            panel.y[begin:] += change * (np.arange(len(panel.y) - begin) < end - begin)
        template = clone(forecaster(series_scaler=series_scaler))
        template.fit(training_part(template.task, fold, panel))
        network = template.fitted.predictor.network.state_dict()
        learned.append(
            [value.numpy().copy() for value in network.values()]
            + [template.fitted.predictor.intervals.errors.numpy().copy()]
            + ([] if series_scaler is None else [template.fitted.scaler_params])
        )
    assert all(np.array_equal(one, other) for one, other in zip(*learned, strict=True))


def test_a_forecast_does_not_see_what_it_forecasts() -> None:
    panel = build_panel(FRAME)
    fold = list(THREE.split(panel))[1]
    assignment = FoldTask("a", forecaster(), (fold,), levels=(80.0,))
    before = fit_fold(assignment, panel)[0].values
    changed = build_panel(FRAME)
    for begin, end in zip(fold.test_begins, panel.offsets[1:][fold.test_series], strict=True):
        changed.y[begin:end] = -1e6
    assert fit_fold(assignment, changed)[0].values.equals(before)


def test_without_refit_all_folds_come_from_the_first_training(plain: CrossValidation) -> None:
    once = cross_validate(forecaster(), FRAME, THREE, refit=False, levels=[80], quantiles=[0.1])
    first = pl.col("fold") == 0
    columns = ["forecast", "lo-80", "hi-80", "q-0.1"]
    of_first = [item.forecasts.filter(first).select(columns).to_numpy() for item in (once, plain)]
    assert of_first[0] == pytest.approx(of_first[1], rel=1e-5)
    later = [item.forecasts.filter(~first)["forecast"].to_numpy() for item in (once, plain)]
    assert not np.allclose(later[0], later[1], rtol=1e-5)
    assert once.forecasts.select("unique_id", "ds", "actual", *NAMES).equals(
        plain.forecasts.select("unique_id", "ds", "actual", *NAMES)
    )


def test_refit_of_two_trains_for_every_second_fold(plain: CrossValidation) -> None:
    every_two = cross_validate(forecaster(), FRAME, THREE, refit=2, levels=[80], quantiles=[0.1])
    third = pl.col("fold") == 2
    assert every_two.forecasts.filter(third)["forecast"].to_numpy() == pytest.approx(
        plain.forecasts.filter(third)["forecast"].to_numpy(), rel=1e-5
    )


def test_one_training_cannot_serve_folds_whose_test_part_it_learned_from() -> None:
    with pytest.raises(InputError, match="refit: fold 1 is tested on rows that fold 0 trains on"):
        cross_validate(forecaster(), FRAME, BlockedSplit(blocks=3), refit=False)


def test_several_models_are_scored_on_the_same_windows() -> None:
    short = FRAME.filter((pl.col("unique_id") != "series-1") | (pl.col("ds") >= FRAME["ds"].unique().sort()[60]))
    models = {"short": forecaster(), "long": forecaster(input_size=26)}
    result = cross_validate(models, short, THREE, levels=[80])
    assert {"short", "long", "short-lo-80", "long-hi-80"} <= set(result.forecasts.columns)
    # Series 1 has 30 rows: only its last fold has room for a history of 26, and there is none to train on.
    counts = result.forecasts.group_by("unique_id").len().sort("unique_id")["len"].to_list()
    assert counts == [3 * HORIZON, HORIZON, 3 * HORIZON]
    assert result.scores["model"].to_list() == ["short", "long", *NAMES]
    assert set(result.seconds) == {"short", "long"}
    assert all(seconds > 0 for seconds in result.seconds.values())


def test_models_in_a_list_are_named_after_their_architecture() -> None:
    one = TimeSeriesSplit(n_splits=1, test_size=HORIZON)
    result = cross_validate([forecaster(), forecaster("dlinear"), forecaster(steps=1)], FRAME, one, baselines=False)
    assert result.models == ("nlinear", "dlinear", "nlinear_2")
    assert result.scores["mae_std"].null_count() == 3  # a single fold has no deviation


def test_a_joint_model_is_cross_validated() -> None:
    result = cross_validate(forecaster("tsmixer"), FRAME, THREE, refit=False)
    assert result.forecasts.height == 3 * 3 * HORIZON
    joined = result.forecasts.join(FRAME, on=["unique_id", "ds"])
    assert joined["actual"].to_numpy() == pytest.approx(joined["y"].to_numpy(), rel=1e-6)


def test_a_joint_model_refuses_folds_of_some_series() -> None:
    with pytest.raises(InputError):
        cross_validate(forecaster("tsmixer"), FRAME, BlockedSplit(groups=3, test="groups"))


def test_an_ensemble_is_cross_validated_like_its_members(tmp_path: Path) -> None:
    short, long = forecaster(), forecaster("dlinear", input_size=20)
    models = {"short": short, "long": long, "both": Ensemble([short, long])}
    result = cross_validate(models, FRAME, THREE, refit=2, store=tmp_path)
    mean = (result.forecasts["short"] + result.forecasts["long"]).to_numpy() / 2
    assert result.forecasts["both"].to_numpy() == pytest.approx(mean, rel=1e-5)
    assert result.forecasts.height == 3 * 3 * HORIZON
    assert len(list(tmp_path.glob("fold-*"))) == 9


def test_a_series_can_be_held_out_whole() -> None:
    result = cross_validate(forecaster(), FRAME, BlockedSplit(groups=3, test="groups"))
    held_out = result.forecasts.group_by("fold").agg(pl.col("unique_id").unique())
    assert sorted(name for names in held_out["unique_id"].to_list() for name in names) == [
        "series-0",
        "series-1",
        "series-2",
    ]


def test_any_function_can_split() -> None:
    def last_rows(panel: Panel) -> list[tuple[np.ndarray, np.ndarray]]:
        test = np.zeros(len(panel), bool)
        test[panel.offsets[1:, None] - np.arange(1, HORIZON + 1)] = True
        return [(~test, test)]

    result = cross_validate(forecaster(), FRAME, last_rows)
    assert result.forecasts.height == 3 * HORIZON


def test_unobserved_values_are_left_out() -> None:
    gone = FRAME.with_columns(y=pl.when(pl.int_range(pl.len()).over("unique_id") == 88).then(None).otherwise("y"))
    result = cross_validate(
        forecaster(), gone, TimeSeriesSplit(n_splits=1, test_size=HORIZON), missing="mask", metrics=["mae"]
    )
    assert result.forecasts["actual"].null_count() == 3
    kept = result.forecasts.drop_nulls("actual")
    assert result.scores["mae"][0] == pytest.approx(metrics.mae(kept["actual"].to_numpy(), kept["forecast"].to_numpy()))


def test_pandas_input_gives_pandas_tables() -> None:
    pandas = pytest.importorskip("pandas")
    one = TimeSeriesSplit(n_splits=2, test_size=HORIZON)
    result = cross_validate(forecaster(), FRAME.to_pandas(), one, levels=[80])
    same = cross_validate(forecaster(), FRAME, one, levels=[80])
    for name in ("forecasts", "scores", "per_fold"):
        frame = getattr(result, name)
        assert isinstance(frame, pandas.DataFrame)
        assert list(frame.columns) == getattr(same, name).columns
    assert result.forecasts["forecast"].to_numpy() == pytest.approx(same.forecasts["forecast"].to_numpy())


def test_two_processes_give_the_same_bits_as_one(plain: CrossValidation) -> None:
    apart = cross_validate(forecaster(), FRAME, THREE, levels=[80], quantiles=[0.1], jobs=2)
    assert apart.forecasts.equals(plain.forecasts)
    assert apart.scores.equals(plain.scores)


def test_an_error_in_a_worker_is_raised_in_the_parent() -> None:
    two = TimeSeriesSplit(n_splits=2, test_size=HORIZON)
    with pytest.raises(InputError, match=r"quantile 0\.1 was not trained"):
        cross_validate(forecaster(loss=nd.QuantileLoss([0.3, 0.5])), FRAME, two, quantiles=[0.1], jobs=2)


class OneByOne:
    """Runs the tasks of a pool here, one after another."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    @contextmanager
    def pool(self, function: Any, shared: Any, *, workers: int, threads: int) -> Iterator[Any]:
        self.asked.append((workers, threads))

        def run(tasks: list[Any]) -> Iterator[TaskResult[Any, Any]]:
            for index, task in enumerate(tasks):
                yield TaskResult(index, task, function(task, shared))

        yield SimpleNamespace(run=run)


@pytest.mark.parametrize(("jobs", "threads", "asked"), [(1, None, (1, 1)), (3, None, (3, 1)), (2, 8, (2, 4))])
def test_an_executor_runs_the_folds_with_its_threads_and_changes_nothing(
    plain: CrossValidation, jobs: int, threads: int | None, asked: tuple[int, int]
) -> None:
    executor = OneByOne()
    found = cross_validate(
        forecaster(), FRAME, THREE, levels=[80], quantiles=[0.1], jobs=jobs, threads=threads, executor=executor
    )
    assert executor.asked == [asked]
    assert found.forecasts.equals(plain.forecasts)


class KilledForecaster:
    """Trains like a forecaster until the system kills its process."""

    def __init__(self) -> None:
        self.task = forecaster().task

    def fit(self, data: Any) -> None:
        del data
        os.kill(os.getpid(), signal.SIGKILL)

    def forecast_windows(self, *arguments: Any) -> None:
        raise AssertionError


def test_a_killed_worker_is_an_error_that_names_model_and_fold() -> None:
    with pytest.raises(WorkerDiedError, match=r"killedforecaster, fold [12]: .*SIGKILL"):
        cross_validate(KilledForecaster(), FRAME, TimeSeriesSplit(n_splits=2, test_size=HORIZON), jobs=2)


def test_a_forecaster_that_cannot_be_pickled_is_an_error_that_names_the_part() -> None:
    unpicklable = KilledForecaster()
    unpicklable.loss = lambda: 1  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"template\.loss \(<function .* cannot be sent to another process"):
        cross_validate(unpicklable, FRAME, TimeSeriesSplit(n_splits=2, test_size=HORIZON), jobs=2)


def test_progress_reports_every_fold() -> None:
    told: list[tuple[int, int, str]] = []
    cross_validate(
        [forecaster(), forecaster("dlinear")], FRAME, THREE, progress=lambda *report: told.append(report), refit=2
    )
    assert [done for done, _, _ in told] == [2, 4, 5, 6]
    assert {total for _, total, _ in told} == {6}
    assert told[0][2].startswith("nlinear")


class Counting(nd.Forecaster):
    """Not a plain forecaster: it is copied as a whole."""

    trained = 0

    def fit(self, data: Any, **schema: Any) -> Any:
        Counting.trained += 1
        return super().fit(data, **schema)

    def to_dict(self) -> dict[str, Any]:
        return {"architecture": self.architecture.to_dict(), "training": self.training.to_dict()}


def counting() -> Counting:
    return Counting("nlinear", horizon=HORIZON, input_size=HISTORY, training=nd.TrainingConfig(max_steps=3, threads=1))


@pytest.fixture
def trainings() -> Callable[[], int]:
    Counting.trained = 0
    return lambda: Counting.trained


def test_stored_folds_are_not_computed_again(tmp_path: Path, trainings: Callable[[], int]) -> None:
    first = cross_validate(counting(), FRAME, THREE, store=tmp_path)
    assert trainings() == 3
    again = cross_validate(counting(), FRAME, THREE, store=tmp_path)
    assert trainings() == 3
    assert again.forecasts.equals(first.forecasts)
    assert again.seconds == first.seconds
    # One fold more is the first one: the others are the same, although their numbers are not.
    more = cross_validate(counting(), FRAME, TimeSeriesSplit(n_splits=4, test_size=HORIZON), store=tmp_path)
    assert trainings() == 3 + 1
    later = more.forecasts.filter(pl.col("fold") > 0).with_columns(pl.col("fold") - 1)
    assert later.equals(first.forecasts)


@pytest.mark.parametrize(
    "change",
    [
        {"data": FRAME.with_columns(pl.col("y") + 1)},
        {"levels": [80]},
        {"refit": False},
        {"splitter": TimeSeriesSplit(n_splits=3, test_size=HORIZON, gap=1)},
    ],
    ids=["data", "levels", "refit", "splitter"],
)
def test_folds_of_other_data_are_not_found_in_the_store(
    tmp_path: Path, trainings: Callable[[], int], change: dict[str, Any]
) -> None:
    usual = {"forecasters": counting(), "data": FRAME, "splitter": THREE, "store": tmp_path}
    cross_validate(**usual)
    before = trainings()
    cross_validate(**{**usual, **change})
    assert trainings() > before


def test_folds_of_other_settings_are_not_found_but_threads_are_ignored(tmp_path: Path) -> None:
    one = TimeSeriesSplit(n_splits=1, test_size=HORIZON)
    first = cross_validate(forecaster(), FRAME, one, store=tmp_path)
    entries = set(tmp_path.glob("fold-*"))
    other = cross_validate(forecaster(steps=6), FRAME, one, store=tmp_path)
    assert len(set(tmp_path.glob("fold-*")) - entries) == 1
    assert not other.forecasts["forecast"].equals(first.forecasts["forecast"])
    more_threads = forecaster()
    more_threads.training = more_threads.training.replace(threads=2)
    cross_validate(more_threads, FRAME, one, store=tmp_path)
    assert len(list(tmp_path.glob("fold-*"))) == 2


def test_a_damaged_fold_is_computed_again(tmp_path: Path) -> None:
    first = cross_validate(forecaster(), FRAME, THREE, store=tmp_path)
    victim = sorted(tmp_path.glob("fold-*"))[1] / "forecasts.parquet"
    victim.write_bytes(victim.read_bytes()[:-9] + b"something")
    with pytest.warns(StorageWarning, match="computed again"):
        again = cross_validate(forecaster(), FRAME, THREE, store=tmp_path)
    assert again.forecasts.equals(first.forecasts)
    cross_validate(forecaster(), FRAME, THREE, store=tmp_path)  # whole again: no warning


def test_a_store_that_is_in_use_is_refused(tmp_path: Path) -> None:
    def again(*_: Any) -> None:
        cross_validate(forecaster(), FRAME, THREE, store=tmp_path)

    with pytest.raises(InputError, match="in use by this process"):
        cross_validate(forecaster(), FRAME, THREE, store=tmp_path, progress=again)


def test_wrong_arguments_are_named() -> None:
    for arguments, message in [
        ({"forecasters": []}, "pass at least one"),
        ({"forecasters": "nlinear"}, "is not a forecaster"),
        ({"forecasters": nd.Forecaster}, "is not a forecaster"),
        ({"forecasters": [forecaster(), forecaster(horizon=5)]}, "same horizon"),
        ({"forecasters": {"drift": forecaster()}}, "'drift' cannot be the name"),
        ({"forecasters": {"a-lo-80": forecaster()}}, "'a-lo-80' cannot be the name"),
        ({"jobs": 0}, "jobs: 0"),
        ({"refit": -1}, "refit: -1"),
        ({"season_length": 0}, "season_length: 0"),
        ({"splitter": 3}, "splitter"),
        ({"metrics": ["maee"]}, "'maee'"),
    ]:
        with pytest.raises(InputError, match=message):
            cross_validate(**{"forecasters": forecaster(), "data": FRAME, "splitter": THREE, **arguments})


def test_a_fold_without_a_window_is_named() -> None:
    with pytest.raises(DataError, match="fold 0: no training segment is long enough"):
        cross_validate(forecaster(input_size=80), build_panel(FRAME, Schema(short="error")), THREE)


def test_a_segment_too_short_for_a_window_is_left_out() -> None:
    panel = build_panel(FRAME, Schema(short="error"))
    fold = Fold(
        0,
        train_series=np.array([0, 0, 1]),
        train_begins=np.array([0, 70, 90]),
        train_ends=np.array([60, 75, 160]),
        test_series=np.array([0]),
        test_begins=np.array([62]),
        test_ends=np.array([68]),
    )
    part = training_part(forecaster().task, fold, panel)
    assert part.lengths.tolist() == [60, 70]
