"""Fit, predict, save, load."""

from __future__ import annotations

import re
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import neuro_divergent as nd

H, L = 6, 18


def sales(num_series: int = 3, length: int = 120, seed: int = 0) -> pl.DataFrame:
    """Return daily series with a weekly season, a price that matters, a weather nobody knows ahead, and a region."""
    random = np.random.default_rng(seed)
    frames = []
    for index in range(num_series):
        time = np.arange(length)
        price = 1 + 0.2 * random.random(length)
        y = 50 * (index + 1) + 10 * np.sin(2 * np.pi * time / 7) - 20 * price + random.normal(0, 1, length)
        frames.append(
            pl.DataFrame(
                {
                    "unique_id": f"shop{index}",
                    "ds": [date.fromordinal(date(2024, 1, 1).toordinal() + day) for day in range(length)],
                    "y": y,
                    "price": price,
                    "weather": random.normal(0, 1, length),
                    "region": "north" if index % 2 else "south",
                }
            )
        )
    return pl.concat(frames)


def training(**changes: Any) -> nd.TrainingConfig:
    return nd.TrainingConfig(**{"max_steps": 40, "threads": 1, "batch_size": 32, **changes})


def forecaster(model: Any = "nlinear", **task: Any) -> nd.Forecaster:
    settings = {"horizon": H, "input_size": L, **task}
    return nd.Forecaster(model, training=settings.pop("training", training()), **settings)


@pytest.fixture(scope="module")
def fitted() -> nd.Forecaster:
    return forecaster().fit(sales())


class TestPredict:
    def test_gives_the_next_steps_of_each_series(self, fitted: nd.Forecaster) -> None:
        table = fitted.predict()
        assert table.columns == ["unique_id", "ds", "forecast"]
        assert table.shape == (3 * H, 3)
        assert table["unique_id"].to_list() == [f"shop{index}" for index in range(3) for _ in range(H)]
        last = sales()["ds"].max()
        assert (table["ds"][:H] - last).dt.total_days().to_list() == list(range(1, H + 1))

    @pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars"])
    def test_predict_returns_the_same_kind_of_table_as_the_input(self, fitted: nd.Forecaster, kind: str) -> None:
        frame = sales()
        given = {"pandas": frame.to_pandas, "pyarrow": frame.to_arrow, "polars": lambda: frame}[kind]()
        expected = {"pandas": pd.DataFrame, "pyarrow": pa.Table, "polars": pl.DataFrame}[kind]
        assert isinstance(fitted.predict(given), expected)
        again = forecaster().fit(given).predict(levels=[80])
        assert isinstance(again, expected)
        values = pl.from_pandas(again) if kind == "pandas" else pl.DataFrame(again)
        assert np.array_equal(values["forecast"].to_numpy(), fitted.predict()["forecast"].to_numpy())

    def test_new_data_moves_the_forecast_on(self, fitted: nd.Forecaster) -> None:
        frame = sales()
        earlier = fitted.predict(frame.filter(pl.col("ds") < date(2024, 4, 1)))
        assert earlier["ds"].min() == date(2024, 4, 1)
        assert fitted.predict(frame).equals(fitted.predict())

    def test_series_that_training_never_saw_are_forecast(self, fitted: nd.Forecaster) -> None:
        stranger = sales(1, seed=5).with_columns(pl.lit("new shop").alias("unique_id"))
        assert np.isfinite(fitted.predict(stranger)["forecast"].to_numpy()).all()

    def test_levels_are_nested_and_around_the_forecast(self, fitted: nd.Forecaster) -> None:
        table = fitted.predict(levels=[50, 90])
        assert table.columns[2:] == ["forecast", "lo-50", "hi-50", "lo-90", "hi-90"]
        ordered = table.select("lo-90", "lo-50", "forecast", "hi-50", "hi-90").to_numpy()
        assert (np.diff(ordered, axis=1) >= 0).all()

    def test_quantiles_of_a_quantile_loss(self) -> None:
        model = forecaster(loss=nd.QuantileLoss([0.1, 0.5, 0.9])).fit(sales())
        table = model.predict(levels=[80], quantiles=[0.1, 0.5])
        assert np.array_equal(table["lo-80"], table["q-0.1"])
        assert np.array_equal(table["forecast"], table["q-0.5"])
        with pytest.raises(
            nd.errors.InputError, match=r"quantile 0\.025 was not trained: the loss has 0\.1, 0\.5, 0\.9"
        ):
            model.predict(levels=[95])

    @pytest.mark.parametrize(
        ("ask", "message"), [({"levels": [0.8, 120]}, "between 0 and 100"), ({"quantiles": [5]}, "0 and 1")]
    )
    def test_impossible_levels_are_refused(self, fitted: nd.Forecaster, ask: dict[str, Any], message: str) -> None:
        with pytest.raises(nd.errors.InputError, match=message):
            fitted.predict(**ask)

    def test_a_longer_horizon_feeds_forecasts_back(self, fitted: nd.Forecaster) -> None:
        far = fitted.predict(horizon=2 * H + 1)
        assert far.shape[0] == 3 * (2 * H + 1)
        near = far.filter(pl.col("ds") <= sales()["ds"].max() + pl.duration(days=H))
        assert np.allclose(near["forecast"], fitted.predict()["forecast"])
        # The second block is what the model says after the first block had happened.
        happened = pl.concat(
            [
                sales().select("unique_id", "ds", "y"),
                near.select("unique_id", "ds", pl.col("forecast").cast(pl.Float64).alias("y")),
            ]
        ).sort("unique_id", "ds")
        second = far.filter(pl.col("ds") > near["ds"].max()).group_by("unique_id", maintain_order=True).head(H)
        assert np.allclose(second["forecast"], fitted.predict(happened)["forecast"], rtol=1e-5)
        with pytest.raises(nd.errors.InputError, match="intervals reach 6 steps"):
            fitted.predict(horizon=2 * H, levels=[80])

    def test_a_shorter_horizon_is_the_beginning(self, fitted: nd.Forecaster) -> None:
        short = fitted.predict(horizon=2, levels=[80])
        whole = fitted.predict(levels=[80]).group_by("unique_id", maintain_order=True).head(2)
        assert short.equals(whole)

    @pytest.mark.parametrize("horizon", [0, -3, 1.5, "x", True])
    def test_horizon_that_is_not_a_positive_integer_is_refused(self, fitted: nd.Forecaster, horizon: Any) -> None:
        with pytest.raises(nd.errors.InputError, match="horizon"):
            fitted.predict(horizon=horizon)

    def test_predict_before_fit_raises_not_fitted_error(self) -> None:
        with pytest.raises(nd.errors.NotFittedError, match="call fit"):
            forecaster().predict()


class TestCovariates:
    @pytest.fixture(scope="class")
    @staticmethod
    def model() -> nd.Forecaster:
        return forecaster("mlp").fit(
            sales(), past="weather", future=["price"], static="region", calendar=["day_of_week"]
        )

    @staticmethod
    def future(days: int = H) -> pl.DataFrame:
        last = sales()["ds"].max()
        return pl.DataFrame(
            {
                "unique_id": [f"shop{index}" for index in range(3) for _ in range(days)],
                "ds": [date.fromordinal(last.toordinal() + day + 1) for _ in range(3) for day in range(days)],
                "price": [1.1] * (3 * days),
            }
        )

    def test_known_ahead_values_change_the_forecast(self, model: nd.Forecaster) -> None:
        cheap = self.future()
        dear = cheap.with_columns(pl.lit(3.0).alias("price"))
        assert not np.allclose(model.predict(future=cheap)["forecast"], model.predict(future=dear)["forecast"])

    def test_they_must_be_given_for_the_whole_horizon(self, model: nd.Forecaster) -> None:
        with pytest.raises(nd.errors.DataError, match="price"):
            model.predict()
        with pytest.raises(nd.errors.DataError, match="price"):
            model.predict(future=self.future().drop("price"))
        with pytest.raises(nd.errors.DataError, match="shop1"):
            model.predict(future=self.future().filter(pl.col("unique_id") != "shop1"))

    def test_unknown_categories_are_refused_or_get_their_slot(self, model: nd.Forecaster) -> None:
        moved = sales().with_columns(pl.lit("east").alias("region"))
        with pytest.raises(nd.errors.DataError, match="east"):
            model.predict(moved, future=self.future())
        lenient = forecaster("mlp").fit(sales(), static="region", unknown_category="unknown")
        assert np.isfinite(lenient.predict(moved)["forecast"].to_numpy()).all()

    def test_survive_a_round_trip(self, model: nd.Forecaster, tmp_path: Path) -> None:
        model.save(tmp_path / "model")
        again = nd.Forecaster.load(tmp_path / "model")
        assert again.predict(future=self.future(), levels=[80]).equals(model.predict(future=self.future(), levels=[80]))
        assert again.predict(sales(), future=self.future()).equals(model.predict(future=self.future()))

    def test_a_longer_horizon_uses_what_is_known_ahead(self) -> None:
        model = forecaster("mlp").fit(sales(), future="price", calendar="day_of_week")
        far = model.predict(future=self.future(2 * H + 3), horizon=2 * H + 3)
        assert far.shape[0] == 3 * (2 * H + 3)
        near = far.group_by("unique_id", maintain_order=True).head(H)
        assert np.allclose(near["forecast"], model.predict(future=self.future())["forecast"], rtol=1e-5)
        dear_later = self.future(2 * H + 3).with_columns(
            pl.when(pl.col("ds") > near["ds"].max()).then(3.0).otherwise(pl.col("price")).alias("price")
        )
        changed = model.predict(future=dear_later, horizon=2 * H + 3)
        assert np.allclose(changed.group_by("unique_id", maintain_order=True).head(H)["forecast"], near["forecast"])
        assert not np.allclose(changed["forecast"], far["forecast"])

    def test_what_is_not_known_ahead_ends_the_horizon(self, model: nd.Forecaster) -> None:
        with pytest.raises(nd.errors.InputError, match="weather"):
            model.predict(future=self.future(2 * H), horizon=2 * H)

    def test_joint_windows_refuse_them_but_know_the_calendar(self) -> None:
        with pytest.raises(nd.errors.ConfigError, match="windows that span all series cannot have covariates of each"):
            forecaster("mlp", joint=True).fit(sales(), future="price")
        model = forecaster("mlp", joint=True).fit(sales(), calendar="day_of_week")
        assert np.isfinite(model.predict()["forecast"].to_numpy()).all()

    def test_their_units_do_not_matter(self) -> None:
        roles = {"past": "weather", "future": "price"}
        plain = forecaster("mlp").fit(sales(), **roles)
        cents = [pl.col("price") * 1e4 + 7e4, pl.col("weather") * 1e-3]
        scaled = forecaster("mlp").fit(sales().with_columns(cents), **roles)
        first = plain.predict(future=self.future())
        second = scaled.predict(future=self.future().with_columns(cents[0]))
        assert np.allclose(first["forecast"], second["forecast"], rtol=1e-2)

    def test_covariates_of_a_model_that_cannot_use_them_are_refused(self) -> None:
        with pytest.raises(nd.errors.ConfigError, match="nlinear cannot use future covariates"):
            forecaster("nlinear").fit(sales(), future="price")


class TestSaveAndLoad:
    @pytest.mark.parametrize(
        "task",
        [
            {},
            {"scaler": "revin"},
            {"series_scaler": "standard", "scaler": "identity"},
            {"loss": nd.QuantileLoss([0.25, 0.5, 0.75])},
            {"joint": True},
        ],
    )
    def test_a_loaded_model_forecasts_the_same(self, task: dict[str, Any], tmp_path: Path) -> None:
        model = forecaster(**task).fit(sales())
        model.save(tmp_path / "model")
        again = nd.Forecaster.load(tmp_path / "model")
        assert again.predict(levels=[50]).equals(model.predict(levels=[50]))
        assert again.predict(sales()).equals(model.predict())
        assert again.task == model.task
        assert again.training == model.training
        assert again.history.equals(model.history)
        assert again.num_parameters == model.num_parameters

    def test_altered_files_are_refused(self, fitted: nd.Forecaster, tmp_path: Path) -> None:
        fitted.save(tmp_path / "model")
        weights = tmp_path / "model" / "model.safetensors"
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
        with pytest.raises(nd.errors.UntrustedFileError, match="SHA-256 differs"):
            nd.Forecaster.load(tmp_path / "model")

    def test_what_is_not_a_model_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(nd.errors.UntrustedFileError, match="is not a model"):
            nd.Forecaster.load(tmp_path)
        with pytest.raises(nd.errors.UntrustedFileError, match="there is no such directory"):
            nd.Forecaster.load(tmp_path / "misspelt")
        with pytest.raises(nd.errors.UntrustedFileError, match="pickle is never loaded"):
            nd.Forecaster.load(tmp_path / "model.ckpt")

    def test_a_newer_format_is_refused(self, fitted: nd.Forecaster, tmp_path: Path) -> None:
        from neuro_divergent.core.storage.atomic import new_directory

        fitted.save(tmp_path / "model")
        with new_directory(tmp_path / "newer") as work:
            shutil.copy(tmp_path / "model" / "model.safetensors", work)
            text = (tmp_path / "model" / "model.json").read_text().replace('"format": 4', '"format": 99')
            (work / "model.json").write_text(text)
        with pytest.raises(nd.errors.UntrustedFileError, match="format 99, this version reads up to 4"):
            nd.Forecaster.load(tmp_path / "newer")


class TestFit:
    def test_the_same_seed_gives_the_same_model(self) -> None:
        first, second = (forecaster("nhits").fit(sales()).predict()["forecast"] for _ in range(2))
        assert first.equals(second)
        other = forecaster("nhits", training=training(seed=2)).fit(sales()).predict()["forecast"]
        assert not first.equals(other)

    @pytest.mark.parametrize("task", [{}, {"series_scaler": "standard"}, {"scaler": "revin"}, {"joint": True}])
    def test_nothing_moves_when_the_future_changes(self, task: dict[str, Any]) -> None:
        """The last 20 % of each series are validation; weights trained without early stopping must not depend on it."""
        settings = training(early_stopping=None)
        frame = sales()
        border = frame["ds"].min() + pl.duration(days=96)
        changed = frame.with_columns(
            pl.when(pl.col("ds") >= border).then(pl.col("y") * 3 + 100).otherwise(pl.col("y")).alias("y")
        )
        weights = []
        for data in (frame, changed):
            model = forecaster("dlinear", training=settings, **task).fit(data)
            parameters = model.validated.fitted.predictor.network.parameters()
            weights.append(torch.cat([p.detach().flatten() for p in parameters]))
        assert torch.equal(weights[0], weights[1])

    def test_learns_a_season_better_than_repeating_the_last_value(self) -> None:
        model = forecaster("nlinear", training=training(max_steps=400), test=2 * H).fit(sales())
        assert model.split is not None
        result = model.forecast_windows(model.split.test)
        last = model.panel.y[result.rows - 1][:, None]
        assert np.abs(result.point - result.actual).mean() < 0.7 * np.abs(last - result.actual).mean()

    def test_intervals_cover_about_what_they_claim(self) -> None:
        model = forecaster("nlinear", training=training(max_steps=300), test=0.2, validation=0.3).fit(
            sales(num_series=20, length=200)
        )
        result = model.forecast_windows(model.split.test, levels=[80])
        inside = (result.lower[80] <= result.actual) & (result.actual <= result.upper[80])
        assert inside.mean() == pytest.approx(0.8, abs=0.05)

    def test_one_series_needs_no_id(self) -> None:
        frame = sales(1).select("ds", "y")
        assert forecaster().fit(frame).predict().columns == ["ds", "forecast"]

    def test_columns_can_have_any_name(self, tmp_path: Path) -> None:
        frame = sales().rename({"unique_id": "shop", "ds": "day", "y": "units"})
        frame.write_parquet(tmp_path / "sales.parquet")
        model = forecaster().fit(tmp_path / "sales.parquet", target="units", time="day", id="shop")
        assert model.predict().columns == ["shop", "day", "forecast"]

    def test_masked_values_do_not_affect_training(self) -> None:
        frame = sales().with_columns(
            pl.when(pl.int_range(pl.len()) % 17 == 3).then(None).otherwise(pl.col("y")).alias("y")
        )
        with pytest.raises(nd.errors.DataError, match="missing"):
            forecaster().fit(frame)
        assert np.isfinite(forecaster().fit(frame, missing="mask").predict()["forecast"].to_numpy()).all()

    def test_series_too_short_to_hold_anything_out_train_without_validation(self) -> None:
        model = forecaster().fit(sales(length=L + H + 2), short="error")
        assert model.history["validation_loss"].null_count() == model.history.height
        with pytest.raises(nd.errors.InputError, match="intervals were not measured"):
            model.predict(levels=[80])

    def test_input_size_follows_from_the_horizon_and_the_series(self) -> None:
        assert nd.Forecaster("nlinear", horizon=6, training=training()).fit(sales()).task.input_size == 18
        assert nd.Forecaster("nlinear", horizon=1, training=training()).fit(sales()).task.input_size == 8
        assert nd.Forecaster("nlinear", horizon=6, training=training()).fit(sales(length=14)).task.input_size == 14

    def test_channel_mixing_models_need_aligned_series(self) -> None:
        small = nd.ITransformer(hidden_size=16, num_layers=1)
        model = forecaster(small).fit(sales())
        assert model.task.joint
        assert model.predict(levels=[80]).shape == (3 * H, 5)
        ragged = sales().filter((pl.col("unique_id") != "shop1") | (pl.col("ds") > date(2024, 1, 9)))
        with pytest.raises(nd.errors.DataError, match="shop1"):
            forecaster(small).fit(ragged)

    def test_windows_in_order_of_time_and_made_ahead_train_too(self) -> None:
        model = forecaster(training=training(shuffle=False, prefetch=2, drop_last=True)).fit(sales())
        assert model.history["train_loss"].is_finite().all()

    def test_a_panel_on_disk_trains_the_same_model(self, fitted: nd.Forecaster, tmp_path: Path) -> None:
        sales().sort("unique_id", "ds").write_parquet(tmp_path / "sales.parquet")
        panel = nd.Panel.from_parquet(tmp_path / "sales.parquet", tmp_path / "panel")
        assert panel.is_memory_mapped
        assert forecaster().fit(panel).predict().equals(fitted.predict())

    def test_the_environment_is_recorded(self, fitted: nd.Forecaster) -> None:
        assert fitted.environment["threads"] == 1
        assert fitted.environment["packages"]["torch"] == torch.__version__


@pytest.mark.parametrize("series_scaler", ["boxcox", "log", "standard"])
@pytest.mark.parametrize("scaler", ["mean_abs", "standard", "robust", "minmax", "identity"])
def test_a_series_that_is_hardly_observed_is_forecast_all_the_same(series_scaler: str, scaler: str) -> None:
    """Its padding is stored as zeros, of which Box-Cox makes infinities, and training has seen none of its values."""
    times = [*range(20), 0]
    values = [*(10 + 3 * np.sin(np.arange(20))), 1.0]
    frame = pl.DataFrame({"unique_id": ["long"] * 20 + ["short"], "ds": times, "y": values})
    training = nd.TrainingConfig(max_steps=2, threads=1)
    task = {"scaler": scaler, "series_scaler": series_scaler, "validation": 0}
    model = nd.Forecaster("nlinear", horizon=1, input_size=4, training=training, **task)
    assert model.fit(frame, short="pad").predict()["forecast"].is_finite().all()


@pytest.mark.parametrize("joint", [False, True])
def test_what_happened_is_what_stands_in_the_data(joint: bool) -> None:
    """Scaling and its undoing would move a zero to the wrong side of an interval that ends at zero."""
    counts = np.random.default_rng(0).poisson(0.7, (3, 90)).astype(float)
    frame = pl.DataFrame({"unique_id": np.repeat(["a", "b", "c"], 90), "ds": np.tile(np.arange(90), 3)})
    frame = frame.with_columns(y=counts.reshape(-1))
    training = nd.TrainingConfig(max_steps=2, threads=1)
    forecaster = nd.Forecaster("dlinear", horizon=H, input_size=L, joint=joint, training=training).fit(frame)
    assert forecaster.split is not None
    made = forecaster.forecast_windows(forecaster.split.validation)
    places = made.rows[:, None] + np.arange(H)
    assert np.array_equal(made.actual, counts.reshape(-1)[places])
    assert made.observed.all()


def test_targets_that_a_distribution_cannot_have_are_not_made() -> None:
    training = nd.TrainingConfig(augment=(nd.augment.MaskHistory(), nd.augment.Mixup()))
    nd.Forecaster("nlinear", horizon=H, loss=nd.losses.Normal(), training=training)
    with pytest.raises(nd.errors.ConfigError, match="mixup changes targets, and poisson needs them as they are"):
        nd.Forecaster("nlinear", horizon=H, loss=nd.losses.Poisson(), training=training)


@pytest.mark.parametrize("levels", ["80", 80])
def test_levels_that_are_no_list_are_refused(fitted: nd.Forecaster, levels: Any) -> None:
    with pytest.raises(nd.errors.InputError, match=r"levels are a list of numbers, such as \[80, 95\]"):
        fitted.predict(levels=levels)


def test_levels_that_are_fractions_are_refused(fitted: nd.Forecaster) -> None:
    with pytest.raises(nd.errors.InputError, match=r"for 0\.8 write 80"):
        fitted.predict(levels=[0.8])


@pytest.mark.parametrize(
    ("architecture", "training", "message"),
    [
        (nd.NLinear, None, "NLinear is a class; pass one of its objects, such as NLinear()"),
        (3, None, "int is not an architecture"),
        ("nlinear", {"max_steps": 5}, "training: dict is not a TrainingConfig; pass TrainingConfig"),
    ],
)
def test_architecture_and_training_of_a_wrong_type_are_refused(architecture: Any, training: Any, message: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match=re.escape(message)):
        nd.Forecaster(architecture, horizon=4, training=training)


def test_settings_of_training_and_architecture_are_refused_with_where_they_belong() -> None:
    with pytest.raises(nd.errors.ConfigError, match=r"pass it in training, as TrainingConfig\(max_steps=...\)"):
        nd.Forecaster("nlinear", horizon=H, max_steps=30)
    with pytest.raises(nd.errors.ConfigError, match=r"pass it in the first argument, as NHITS\(hidden_size=...\)"):
        nd.Forecaster("nhits", horizon=H, hidden_size=30)
