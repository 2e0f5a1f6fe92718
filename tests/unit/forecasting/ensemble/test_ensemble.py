"""Several forecasters forecast together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import (
    ConfigError,
    DataError,
    InputError,
    Interrupted,
    NewerFormatError,
    NotFittedError,
    UntrustedFileError,
)
from neuro_divergent.core.storage.atomic import read_directory, write_directory
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.ensemble.ensemble import Ensemble
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.losses.implicit import ImplicitQuantileLoss
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.schedules.cosine import Cosine

HORIZON = 4
QUICK = nd.TrainingConfig(max_steps=20, threads=1)
TABLE = Synthetic(num_series=3, length=120, seed=1).frame()
LEVELS: dict[str, Any] = {"levels": [80], "quantiles": [0.5]}
THREE = {"loss": nd.QuantileLoss([0.1, 0.5, 0.9])}


def forecaster(architecture: Any = "nlinear", seed: int = 0, **task: Any) -> Forecaster:
    training = task.pop("training", QUICK.replace(seed=seed))
    return Forecaster(architecture, training=training, **{"horizon": HORIZON, "input_size": 14, **task})


@pytest.fixture(scope="module")
def seeds() -> Ensemble:
    return Ensemble.seeds(forecaster(), 3).fit(TABLE)


@pytest.fixture(scope="module")
def mixed() -> Ensemble:
    """Members that read different histories, one series at a time or all at once."""
    joint = forecaster(nd.ITransformer(hidden_size=8, num_layers=1, num_heads=2), input_size=10)
    return Ensemble([forecaster("mlp", input_size=7), joint, forecaster(input_size=21, scaler="revin")]).fit(TABLE)


def points(ensemble: Ensemble, *arguments: Any, **keywords: Any) -> Any:
    """Forecasts of each member, ``(members, rows)``."""
    return np.stack([member.predict(*arguments, **keywords)["forecast"].to_numpy() for member in ensemble.members])


@pytest.mark.parametrize(
    ("architecture", "task"),
    [
        ("nlinear", {}),
        ("nlinear", THREE),
        ("nlinear", {"loss": ImplicitQuantileLoss()}),
        (nd.ITransformer(hidden_size=8, num_layers=1, num_heads=2), {"series_scaler": "standard"}),
    ],
    ids=["point", "quantiles", "any quantile", "joint"],
)
def test_an_ensemble_of_one_is_its_member(architecture: Any, task: dict[str, Any]) -> None:
    alone = forecaster(architecture, **task).fit(TABLE)
    one = Ensemble([forecaster(architecture, **task)], combine="median").fit(TABLE)
    assert one.predict(**LEVELS).equals(alone.predict(**LEVELS))
    recent = TABLE.filter(pl.col("ds") < TABLE["ds"].max())
    assert one.predict(recent, **LEVELS).equals(alone.predict(recent, **LEVELS))
    assert one.predict(horizon=9).equals(alone.predict(horizon=9))
    assert alone.split is not None
    made, own = (item.forecast_windows(alone.split.validation, [80], [0.5]) for item in (one, alone))
    for name in ("series", "rows", "point", "actual", "observed"):
        assert (getattr(made, name) == getattr(own, name)).all()
    assert (made.upper[80] == own.upper[80]).all()
    assert (made.quantiles[0.5] == own.quantiles[0.5]).all()


def test_seeds_differ_and_are_averaged(seeds: Ensemble) -> None:
    each = points(seeds)
    assert [member.training.seed for member in seeds.members] == [0, 1, 2]
    assert all(not np.allclose(each[first], each[second], rtol=1e-3) for first, second in ((0, 1), (0, 2), (1, 2)))
    made = seeds.predict()
    assert (made["forecast"].to_numpy() == each.astype(np.float64).mean(0).astype(np.float32)).all()
    assert made.drop("forecast").equals(seeds.members[0].predict().drop("forecast"))
    assert points(seeds)[0].tolist() == forecaster().fit(TABLE).predict()["forecast"].to_list()


@pytest.mark.parametrize("combine", ["mean", "median"])
def test_the_order_of_members_does_not_matter(seeds: Ensemble, combine: Any) -> None:
    one, other = (
        Ensemble(members, combine=combine).calibrate(TABLE) for members in (seeds.members, seeds.members[::-1])
    )
    assert one.predict(**LEVELS)["forecast"].equals(other.predict(**LEVELS)["forecast"])
    if combine == "median":
        assert (one.predict()["forecast"].to_numpy() == np.median(points(seeds), axis=0)).all()


def test_weights_count(seeds: Ensemble) -> None:
    weighted = Ensemble(seeds.members, weights=[2, 1, 1])
    assert weighted.weights is not None
    assert weighted.weights.tolist() == [0.5, 0.25, 0.25]
    expected = np.average(points(seeds).astype(np.float64), axis=0, weights=[2, 1, 1])
    np.testing.assert_allclose(weighted.predict()["forecast"].to_numpy(), expected, rtol=1e-6)


def test_no_ensemble_by_the_mean_is_worse_than_its_members_are_on_average(seeds: Ensemble, mixed: Ensemble) -> None:
    """The absolute error is convex, so this holds for every single value."""
    for ensemble in (seeds, mixed):
        assert ensemble.split is not None
        windows = ensemble.split.validation
        whole = ensemble.forecast_windows(windows)
        alone = [Ensemble(ensemble.members, weights=row).forecast_windows(windows).point for row in np.eye(3).tolist()]
        errors = np.abs(np.stack(alone) - whole.actual)
        rounding = 1e-5 * np.abs(whole.actual)
        assert (np.abs(whole.point - whole.actual) <= errors.mean(0) + rounding).all()
        assert np.abs(whole.point - whole.actual).mean() < errors.mean()  # not all members miss on the same side


def test_members_see_the_same_windows_through_their_own_histories(mixed: Ensemble) -> None:
    """The last validation window is forecast again by each member from the table cut off before it."""
    assert mixed.split is not None
    assert mixed.fitted.task.history == 21
    assert mixed.fitted.task.joint
    made = mixed.forecast_windows(mixed.split.validation)
    assert len(made.rows) == 3 * (24 // HORIZON)
    times = TABLE["ds"].unique().sort()
    for back in (HORIZON, 24):
        cut = TABLE.filter(pl.col("ds") < times[-back])
        expected = points(mixed, cut).mean(0).reshape(3, HORIZON)
        for series in range(3):
            place = np.flatnonzero((made.series == series) & (made.rows == 120 * (series + 1) - back))
            np.testing.assert_allclose(made.point[place], expected[[series]], rtol=1e-4)
            actual = TABLE["y"].to_numpy()[made.rows[place[0]] :][:HORIZON]
            np.testing.assert_allclose(made.actual[place[0]], actual, rtol=1e-5)
    np.testing.assert_allclose(mixed.predict()["forecast"].to_numpy(), points(mixed).mean(0), rtol=1e-6)
    assert mixed.predict(levels=[80]).columns == ["unique_id", "ds", "forecast", "lo-80", "hi-80"]


def test_intervals_are_those_of_the_errors_of_the_whole() -> None:
    """Without scaling, half of the width is the split-conformal quantile of the ensemble's absolute errors."""
    ensemble = Ensemble.seeds(forecaster(scaler="identity"), 2).fit(TABLE)
    times = TABLE["ds"].unique().sort()
    errors: list[Any] = []
    for back in range(HORIZON, 25):
        past, future = TABLE.filter(pl.col("ds") < times[-back]), TABLE.filter(pl.col("ds") >= times[-back])
        actual = future.group_by("unique_id", maintain_order=True).head(HORIZON)["y"].to_numpy()
        validated = np.stack([member.validated.predict(past)["forecast"].to_numpy() for member in ensemble.members])
        errors.extend(np.abs(validated.mean(0) - actual).reshape(3, HORIZON))
    count = len(errors)
    assert count == 3 * 21
    half = np.sort(np.array(errors), axis=0)[int(np.ceil((count + 1) * 0.8)) - 1]
    made = ensemble.predict(levels=[80])
    for end, sign in (("lo-80", -1), ("hi-80", 1)):
        offsets = (made[end] - made["forecast"]).to_numpy().reshape(3, HORIZON)
        np.testing.assert_allclose(offsets, np.tile(sign * half, (3, 1)), rtol=1e-3)
    of_members = [member.predict(levels=[80]) for member in ensemble.members]
    mean_width = np.mean([(table["hi-80"] - table["lo-80"]).to_numpy() for table in of_members])
    assert mean_width > 1.01 * 2 * half.mean()


def test_nothing_is_measured_on_the_test_part() -> None:
    last = TABLE["ds"].unique().sort()[-12:]
    changed = TABLE.with_columns(
        pl.when(pl.col("ds").is_in(last.to_list())).then(500.0).otherwise(pl.col("y")).alias("y")
    )
    one, other = (Ensemble.seeds(forecaster(test=12), 2, weights="validation").fit(table) for table in (TABLE, changed))
    assert one.weights is not None
    assert other.weights is not None
    assert one.weights.tolist() == other.weights.tolist()
    assert one.fitted.intervals is not None
    assert other.fitted.intervals is not None
    assert torch.equal(one.fitted.intervals.errors, other.fitted.intervals.errors)
    assert one.split is not None
    assert one.split.validation.ends.tolist() == [108, 228, 348]


def test_weights_of_the_validation_part_follow_from_the_errors_of_each_member() -> None:
    good, bad = (
        forecaster(training=QUICK.replace(max_steps=150)),
        forecaster(seed=1, training=QUICK.replace(max_steps=1)),
    )
    ensemble = Ensemble([good, bad], weights="validation").fit(TABLE)
    assert good.split is not None
    squared = []
    for member in (good, bad):
        made = member.validated.forecast_windows(good.split.validation)
        error = np.square(made.point.astype(np.float64) - made.actual).mean(1)
        squared.append([error[made.series == series].mean() for series in range(3)])
    relative = (np.array(squared) / np.mean(squared, axis=0)).mean(1)
    expected = (1 / relative) / (1 / relative).sum()
    assert ensemble.weights is not None
    np.testing.assert_allclose(ensemble.weights, expected, rtol=1e-5)
    assert expected[0] > 0.55
    made = np.average(points(ensemble).astype(np.float64), axis=0, weights=expected)
    np.testing.assert_allclose(ensemble.predict()["forecast"].to_numpy(), made, rtol=1e-5)


def test_one_model_per_quantile_never_crosses() -> None:
    ensemble = Ensemble.quantiles(forecaster(), [0.9, 0.1, 0.5]).fit(TABLE)
    assert [member.task.loss for member in ensemble.members] == [nd.QuantileLoss([share]) for share in (0.1, 0.5, 0.9)]
    each = points(ensemble)
    assert (each != np.sort(each, axis=0)).any()  # they do by themselves, so little trained
    made = ensemble.predict(levels=[80], quantiles=[0.5])
    ordered = made.select("lo-80", "q-0.5", "hi-80").to_numpy()
    assert (ordered == np.sort(each, axis=0).T).all()
    assert made["forecast"].equals(made["q-0.5"].alias("forecast"))
    assert ensemble.predict()["forecast"].equals(made["forecast"])
    assert ensemble.split is not None
    result = ensemble.forecast_windows(ensemble.split.validation, [80])
    assert (result.lower[80] <= result.point).all()
    assert (result.point <= result.upper[80]).all()
    assert nd.evaluate(ensemble).coverage["level"].to_list() == [80]
    with pytest.raises(InputError, match="was not trained"):
        ensemble.predict(levels=[95])
    with pytest.raises(InputError, match="quantiles reach 4 steps"):
        ensemble.predict(horizon=9)


@pytest.mark.parametrize("combine", ["mean", "median", "quantile_average", "pool"])
def test_members_with_quantiles_give_quantiles(combine: Any) -> None:
    ensemble = Ensemble.seeds(forecaster(loss=ImplicitQuantileLoss()), 2, combine=combine).fit(TABLE)
    made = ensemble.predict(levels=[80], quantiles=[0.3])
    of = [member.predict(levels=[80], quantiles=[0.3]) for member in ensemble.members]
    for name in ("lo-80", "q-0.3", "hi-80"):
        both = np.stack([table[name].to_numpy() for table in of])
        values = made[name].to_numpy()
        if combine != "pool":
            np.testing.assert_allclose(values, both.mean(0), rtol=1e-5)
        assert (values >= both.min(0) - 1e-2).all()
        assert (values <= both.max(0) + 1e-2).all()
    assert ensemble.fitted.intervals is None


def test_snapshots_are_the_ends_of_the_cycles_of_one_training() -> None:
    source = forecaster(training=QUICK.replace(max_steps=31))
    ensemble = Ensemble.snapshots(source, 3).fit(TABLE)
    weights = [member.fitted.predictor.network.state_dict() for member in ensemble.members]
    assert len(weights) == 3
    assert all(
        not torch.equal(weights[first]["linear.weight"], weights[second]["linear.weight"])
        for first, second in ((0, 1), (1, 2))
    )
    plain = forecaster(training=ensemble.members[-1].training, refit=False).fit(TABLE)
    ten = QUICK.replace(max_steps=10, schedule=Cosine(), early_stopping=None)
    first = forecaster(training=ten, refit=False).fit(TABLE)
    for expected, found in ((plain, weights[-1]), (first, weights[0])):
        own = expected.fitted.predictor.network.state_dict()
        assert all(torch.equal(own[name], found[name]) for name in own)
    assert first.predict(levels=[80]).equals(ensemble.members[0].predict(levels=[80]))
    rates = plain.history["learning_rate"]
    assert rates.equals(ensemble.history["learning_rate"])
    assert source.training.schedule == QUICK.schedule
    with pytest.raises(ConfigError, match="no room for 40 cycles"):
        Ensemble.snapshots(source, 40).fit(TABLE)
    with pytest.raises(ConfigError, match="averages weights"):
        Ensemble.snapshots(forecaster(training=QUICK.replace(optimizer="schedule_free_adamw")), 2)


@pytest.mark.parametrize("kind", ["seeds", "mixed", "snapshots", "quantiles", "weighted"])
def test_what_is_saved_is_what_is_loaded(kind: str, seeds: Ensemble, mixed: Ensemble, tmp_path: Path) -> None:
    made = {
        "seeds": lambda: seeds,
        "mixed": lambda: mixed,
        "snapshots": lambda: Ensemble.snapshots(forecaster(), 2, combine="median").fit(TABLE),
        "quantiles": lambda: Ensemble.quantiles(forecaster()).fit(TABLE),
        "weighted": lambda: Ensemble(seeds.members, weights="validation").calibrate(TABLE),
    }[kind]()
    made.save(tmp_path / "model")
    loaded = Ensemble.load(tmp_path / "model")
    assert loaded.predict(**LEVELS).equals(made.predict(**LEVELS))
    assert (loaded.weights is None) == (made.weights is None)
    assert loaded.history.equals(made.history)
    scores = [nd.evaluate(item, TABLE, levels=[80]).table for item in (loaded, made)]
    assert scores[0].equals(scores[1])
    assert loaded.to_dict() == Ensemble.load(tmp_path / "model").to_dict()
    if kind == "snapshots":
        assert loaded.fit(TABLE).predict().equals(made.predict())


def test_what_was_altered_is_not_loaded(seeds: Ensemble, tmp_path: Path) -> None:
    place = tmp_path / "model"
    seeds.save(place)
    files = read_directory(place)
    assert sorted(files)[:2] == ["ensemble.json", "ensemble.safetensors"]
    description = json.loads(files["ensemble.json"])
    for change, error in (
        ({"combine": "best"}, "Unknown combine method"),
        ({"members": 2}, "member-3"),
        ({"members": 4}, "is not a model"),
        ({"fitted_weights": [1, -1, 1]}, "at least 0"),
        ({"weights": "stacking"}, "weights 'stacking'"),
        ({"backend": "excel"}, "backend"),
        ({"format": "1"}, "does not describe"),
    ):
        changed = {**files, "ensemble.json": json.dumps({**description, **change}).encode()}
        write_directory(place, changed.items())
        with pytest.raises(UntrustedFileError, match=error):
            Ensemble.load(place)
    write_directory(place, {**files, "ensemble.json": json.dumps({**description, "format": 2}).encode()}.items())
    with pytest.raises(NewerFormatError):
        Ensemble.load(place)
    seeds.members[0].save(tmp_path / "one")
    with pytest.raises(UntrustedFileError, match=r"Forecaster\.load"):
        Ensemble.load(tmp_path / "one")


class InterruptAt(Callback):
    """Interrupts the training of one member at a step."""

    def __init__(self, member: int, step: int) -> None:
        self.member, self.step, self._fits = member, step, 0

    def fit_start(self, trainer: Any) -> None:
        self._fits += 1

    def step_end(self, trainer: Any) -> None:
        if self._fits == self.member and trainer.state.step == self.step:
            trainer.interrupt("SIGINT")


def test_resume_of_an_interrupted_ensemble_gives_identical_weights(tmp_path: Path, seeds: Ensemble) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        Ensemble.seeds(forecaster(), 3).fit(TABLE, run=run, callbacks=[InterruptAt(2, 7)])
    assert (run / "member-1" / "model").is_dir()
    assert not (run / "member-2" / "model").exists()
    assert not (run / "member-3").exists()
    trained = (run / "member-1" / "model" / "model.safetensors").stat().st_mtime_ns
    with pytest.raises(InputError, match="table in memory"):
        Ensemble.resume(run)
    with pytest.raises(DataError, match="data have changed"):
        Ensemble.resume(run, TABLE.with_columns(pl.col("y") + 1))
    resumed = Ensemble.resume(run, TABLE)
    assert (run / "member-1" / "model" / "model.safetensors").stat().st_mtime_ns == trained
    assert resumed.predict(**LEVELS).equals(seeds.predict(**LEVELS))
    assert Ensemble.resume(run).predict(**LEVELS).equals(seeds.predict(**LEVELS))
    with pytest.raises(InputError, match=r"Ensemble\.resume"):
        seeds.fit(TABLE, run=run)
    with pytest.raises(InputError, match="no ensemble"):
        Ensemble.resume(tmp_path / "elsewhere")


def test_resume_of_interrupted_snapshots_gives_identical_weights(tmp_path: Path) -> None:
    ensemble = Ensemble.snapshots(forecaster(), 2, weights="validation")
    whole = ensemble.clone().fit(TABLE)
    with pytest.raises(Interrupted):
        ensemble.clone().fit(TABLE, run=tmp_path / "run", callbacks=[InterruptAt(1, 15)])
    resumed = Ensemble.resume(tmp_path / "run", TABLE)
    assert resumed.predict(**LEVELS).equals(whole.predict(**LEVELS))
    (tmp_path / "run" / "model").rename(tmp_path / "aside")  # as if killed between the last step and the end
    again = Ensemble.resume(tmp_path / "run", TABLE)
    assert again.predict(**LEVELS).equals(whole.predict(**LEVELS))


KILLED = """
import os, signal, sys
import neuro_divergent as nd
from neuro_divergent.forecasting.ensemble.ensemble import Ensemble
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.callbacks.checkpointing import Checkpointing

class Kill(Callback):
    fits = 0
    def fit_start(self, trainer):
        self.fits += 1
    def step_end(self, trainer):
        if self.fits == 2 and trainer.state.step == 15:
            os.kill(os.getpid(), signal.SIGKILL)

training = nd.TrainingConfig(max_steps=20, threads=1, seed=0)
one = nd.Forecaster("nlinear", horizon=4, input_size=14, training=training)
checkpoints = Checkpointing(every_epochs=None, every_steps=5)
Ensemble.seeds(one, 3).fit(sys.argv[1], run=sys.argv[2], callbacks=[Kill()], checkpoints=checkpoints)
"""


def test_resume_of_a_killed_ensemble_gives_identical_weights(tmp_path: Path, seeds: Ensemble) -> None:
    TABLE.write_parquet(tmp_path / "data.parquet")
    source = str(Path(nd.__path__[0]).parent)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "data.parquet"), str(tmp_path / "run")],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (tmp_path / "run" / "member-2" / "checkpoints" / "step-000000010").is_dir()
    resumed = Ensemble.resume(tmp_path / "run")
    assert resumed.predict(**LEVELS).equals(seeds.predict(**LEVELS))


def test_an_ensemble_is_evaluated_like_a_forecaster(seeds: Ensemble, mixed: Ensemble) -> None:
    for ensemble, name in ((seeds, "ensemble of 3 nlinear"), (mixed, "ensemble of mlp, itransformer, nlinear")):
        evaluation = nd.evaluate(ensemble)
        assert evaluation.table["model"][0] == name
        assert ensemble.split is not None
        made = ensemble.validated.forecast_windows(ensemble.split.validation)
        assert evaluation.table["mae"][0] == pytest.approx(np.abs(made.point - made.actual).mean(), rel=1e-5)
        assert evaluation.coverage["level"].to_list() == [80, 95]
        assert evaluation.coverage["coverage"][0] == pytest.approx(80, abs=10)
        assert "set the width of the intervals" in evaluation.note


def test_an_ensemble_can_teach_a_single_model(seeds: Ensemble) -> None:
    training = QUICK.replace(max_steps=300, distillation=1.0)
    student = forecaster(seed=7, training=training).fit(TABLE, teacher=seeds)  # type: ignore[arg-type]
    unlike = forecaster(seed=7).fit(TABLE)
    taught, untaught = (
        float((item.predict()["forecast"] - seeds.predict()["forecast"]).abs().mean()) for item in (student, unlike)
    )
    assert taught < 0.3 * untaught


def test_trained_forecasters_are_combined_without_training(seeds: Ensemble) -> None:
    members = [forecaster(seed=seed).fit(TABLE.to_pandas()) for seed in range(3)]
    ensemble = Ensemble(members)
    made = ensemble.predict()
    assert type(made).__module__.startswith("pandas")
    assert made["forecast"].tolist() == seeds.predict()["forecast"].to_list()
    with pytest.raises(InputError, match="measured on a validation part"):
        ensemble.predict(levels=[80])
    assert ensemble.calibrate(TABLE).predict(**LEVELS).equals(seeds.predict(**LEVELS))
    with pytest.raises(NotFittedError, match=r"calibrate\(data\)"):
        Ensemble(members, weights="validation").predict()
    elsewhere = forecaster().fit(TABLE.filter(pl.col("unique_id") != "series-0"))
    with pytest.raises(InputError, match="member 2 was trained on other series"):
        Ensemble([members[0], elsewhere]).predict()


def test_a_series_too_short_for_one_member_is_judged_once_for_all() -> None:
    short = TABLE.filter(
        (pl.col("unique_id") != "series-1") | (pl.col("ds") >= pl.col("ds").max() - pl.duration(days=15))
    )
    members = [forecaster(input_size=7), forecaster(input_size=21)]
    with pytest.warns(nd.errors.DataWarning, match="left out"):
        dropped = Ensemble(members).fit(short, short="drop")
    assert dropped.predict()["unique_id"].unique().sort().to_list() == ["series-0", "series-2"]
    padded = Ensemble(members).fit(short, short="pad")
    assert padded.predict(levels=[80])["unique_id"].n_unique() == 3
    assert padded.split is not None
    assert set(padded.validated.forecast_windows(padded.split.validation).series.tolist()) == {0, 1, 2}


def test_history_and_size_are_of_all_members(seeds: Ensemble) -> None:
    assert seeds.history["member"].unique().sort().to_list() == [1, 2, 3]
    assert seeds.num_parameters == sum(member.num_parameters for member in seeds.members)
    assert seeds.schema.target == "y"
    assert Ensemble([forecaster(input_size=7), forecaster(input_size=9)]).task.input_size == 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ensemble([]), "at least one member"),
        (lambda: Ensemble(["nhits"]), "member 1 is str"),  # type: ignore[list-item]
        (lambda: Ensemble([forecaster(), forecaster(horizon=5)]), "member 2 forecasts 5 steps"),
        (lambda: Ensemble([forecaster()], combine="avg"), "Unknown combine method 'avg'"),  # type: ignore[arg-type]
        (lambda: Ensemble([forecaster()] * 2, weights=[1]), "weights must be 2 numbers"),
        (lambda: Ensemble([forecaster()] * 2, weights=[1, -1]), "at least 0"),
        (lambda: Ensemble([forecaster()] * 2, weights="best"), "must be 'validation' or"),  # type: ignore[arg-type]
        (lambda: Ensemble.quantiles(forecaster(), [0.1, 0.5], weights="validation"), "different quantiles"),
        (lambda: Ensemble.quantiles(forecaster(), [1.5]), "between 0 and 1"),
        (lambda: Ensemble.seeds(forecaster(), 0), "at least 1"),
        (lambda: Ensemble.seeds(forecaster(validation=0), 2, weights="validation").fit(TABLE), "validation part"),
        (lambda: Ensemble.seeds(forecaster(), 2, combine="pool"), "mixes distributions"),
    ],
)
def test_mistakes_are_named(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_unfitted_ensemble_raises_not_fitted_error() -> None:
    with pytest.raises(NotFittedError):
        Ensemble.seeds(forecaster(), 2).predict()
