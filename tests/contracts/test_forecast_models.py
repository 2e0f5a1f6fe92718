"""Every kind of model that forecasts keeps the contract of ``ForecastModel``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError, UntrustedFileError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.windows import Windows

HORIZON, HISTORY = 3, 8
PARTS = Synthetic(num_series=3, length=80, frequency="1d", noise=0.5).frame()
NAMES = PARTS["unique_id"].unique().sort().to_list()
TREE = nd.Hierarchy.from_columns(pl.DataFrame({"unique_id": NAMES}), [])
TABLE = TREE.aggregate_table(PARTS)
TRAINING = nd.TrainingConfig(max_steps=6, threads=1, seed=3, early_stopping=None)


def forecaster(**task: Any) -> nd.Forecaster:
    task = {"horizon": HORIZON, "input_size": HISTORY, "series_scaler": "standard", **task}
    return nd.Forecaster(nd.NHITS(hidden_size=8), training=TRAINING, **task)


def linear() -> nd.Forecaster:
    return nd.Forecaster("dlinear", horizon=HORIZON, input_size=5, training=TRAINING)


BY_SERIES = "Conformal of an Ensemble"
KINDS: dict[str, Callable[[], nd.forecasting.ForecastModel]] = {
    "Forecaster": forecaster,
    "Ensemble": lambda: nd.Ensemble(
        [forecaster(), nd.Forecaster("dlinear", horizon=3, input_size=5, training=TRAINING)]
    ),
    "HINT": lambda: nd.HINT(forecaster(), TREE),
    "Conformal": lambda: nd.Conformal(forecaster()),
    "Conformal of a HINT": lambda: nd.Conformal(nd.HINT(forecaster(), TREE, "bottom_up")),
    BY_SERIES: lambda: nd.Conformal(nd.Ensemble.seeds(forecaster(), 2), per="series"),
    "Statistical": lambda: nd.Statistical("seasonal_naive", horizon=HORIZON),
    "Auto": lambda: nd.AutoForecaster(horizon=HORIZON, budget=5, jobs=1),
    "Conformal of a Statistical": lambda: nd.Conformal(nd.Statistical("auto_theta", horizon=HORIZON), method="cqr"),
}
TRAINED = [kind for kind in KINDS if "Statistical" not in kind and kind != "Auto"]


@pytest.fixture(scope="module")
def fitted() -> Callable[[str], nd.forecasting.ForecastModel]:
    known: dict[str, nd.forecasting.ForecastModel] = {}

    def of(kind: str) -> nd.forecasting.ForecastModel:
        if kind not in known:
            known[kind] = KINDS[kind]().fit(TABLE)
        return known[kind]

    return of


Fitted = Callable[[str], nd.forecasting.ForecastModel]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_trained_kind = pytest.mark.parametrize("kind", TRAINED)


def weights(model: Any) -> list[torch.Tensor]:
    """Return the weights of all networks in a model."""
    if isinstance(model, nd.Statistical | nd.AutoForecaster):
        return []
    if isinstance(model, nd.Ensemble):
        return [tensor for member in model.members for tensor in weights(member)]
    if not isinstance(model, nd.Forecaster):
        return weights(model.forecaster)
    return list(model.fitted.predictor.network.state_dict().values())


def settings(model: Any) -> Any:
    """Return everything that a model is made from."""
    if isinstance(model, nd.Ensemble | nd.Statistical | nd.AutoForecaster):
        return model.to_dict()
    if isinstance(model, nd.Forecaster):
        return model.architecture.to_dict(), model._task.to_dict(), model.training.to_dict()
    own = model.method if isinstance(model, nd.HINT) else model.settings.to_dict()
    return own, settings(model.forecaster)


@every_kind
def test_every_kind_satisfies_the_protocol_fitted_or_not(kind: str, fitted: Fitted) -> None:
    model = KINDS[kind]()
    promised = [name for name in vars(nd.forecasting.ForecastModel) if not name.startswith("_")]
    assert {"fit", "predict", "forecast_windows", "save", "clone", "with_settings"} <= set(promised)
    assert [name for name in promised if name not in {*dir(type(model)), *vars(model)}] == []
    assert not model.is_fitted
    assert model.holds == {}
    with pytest.raises(NotFittedError):
        model.predict()
    assert fitted(kind).is_fitted


@every_kind
def test_predict_of_the_training_table_equals_predict_without_data(kind: str, fitted: Fitted) -> None:
    model = fitted(kind)
    assert model.predict(TABLE, levels=[80]).equals(model.predict(levels=[80]))


@every_kind
def test_forecast_windows_at_the_end_of_the_data_equal_predict_on_what_came_before(kind: str, fitted: Fitted) -> None:
    model = fitted(kind)
    panel = build_panel(TABLE)
    ends = panel.offsets[1:]
    made = model.forecast_windows(Windows(panel, model.task.history, HORIZON, ends - HORIZON, ends), levels=[80])
    known = pl.int_range(pl.len()).over("unique_id") < pl.len().over("unique_id") - HORIZON
    table = model.predict(TABLE.filter(known), levels=[80])
    for column, values in (("forecast", made.point), ("lo-80", made.lower[80]), ("hi-80", made.upper[80])):
        found = torch.from_numpy(values.astype("float64").reshape(-1))
        torch.testing.assert_close(
            found, torch.tensor(table[column].to_list(), dtype=torch.float64), rtol=1e-4, atol=1e-4
        )


@every_kind
def test_backtest_of_new_data_and_of_its_own_gives_the_forecasts_of_the_model(kind: str, fitted: Fitted) -> None:
    model = fitted(kind)
    known = pl.int_range(pl.len()).over("unique_id") < pl.len().over("unique_id") - HORIZON
    expected = model.predict(TABLE.filter(known), levels=[80]).to_dict(as_series=False)
    found = nd.backtest(model, TABLE, cutoffs=1, levels=[80], baselines=False).forecasts.sort("unique_id", "ds")
    for column in ("forecast", "lo-80", "hi-80"):
        assert found[column].to_list() == pytest.approx(expected[column], rel=1e-4, abs=1e-4)
    if model.panel is not None:
        assert nd.backtest(model, cutoffs=2, baselines=False).windows == 2 * len(TREE.nodes)


@every_kind
def test_figure_of_the_forecast_shows_the_end_of_the_series_and_the_forecast(kind: str, fitted: Fitted) -> None:
    pytest.importorskip("plotly")
    figure = nd.plots.plot_forecast(fitted(kind), series=NAMES[0], levels=[80])
    assert {"observed", "forecast", "80 %"} <= {trace.name for trace in figure.data}


@every_kind
def test_saved_and_loaded_model_gives_the_same_forecasts(kind: str, fitted: Fitted, tmp_path: Path) -> None:
    model = fitted(kind)
    model.save(tmp_path / "model")
    for again in (nd.load(tmp_path / "model"), type(model).load(tmp_path / "model")):
        assert type(again) is type(model)
        assert again.predict(levels=[80], quantiles=[0.25]).equals(model.predict(levels=[80], quantiles=[0.25]))
        assert again.predict(TABLE).equals(model.predict(TABLE))
        assert repr(again) == repr(model)
        assert again.holds == model.holds


@every_kind
def test_typed_load_of_another_kind_names_the_right_one(kind: str, fitted: Fitted, tmp_path: Path) -> None:
    model = fitted(kind)
    model.save(tmp_path / "model")
    name = type(model).__name__
    for other in (nd.Forecaster, nd.Ensemble, nd.HINT, nd.Conformal, nd.Statistical):
        if other is not type(model):
            with pytest.raises(UntrustedFileError, match=rf"is a saved {name}, not a {other.__name__}: {name}\.load"):
                other.load(tmp_path / "model")


@every_kind
def test_clone_is_unfitted_with_equal_settings_and_trains_to_the_same_weights(kind: str, fitted: Fitted) -> None:
    model = fitted(kind)
    copy = model.clone()
    assert type(copy) is type(model)
    assert not copy.is_fitted
    assert settings(copy) == settings(KINDS[kind]()) == settings(model)
    copy.fit(TABLE)
    for one, other in zip(weights(copy), weights(model), strict=True):
        assert torch.equal(one, other)
    assert copy.predict(levels=[80]).equals(model.predict(levels=[80]))


CHANGES = {
    "training.optimizer.lr": 3e-4,
    "model.hidden_size": 16,
    "task.validation": 0.25,
    "task.loss": nd.losses.Huber(),
}


def networks(model: Any) -> list[nd.Forecaster]:
    if isinstance(model, nd.Ensemble):
        return list(model.members)
    return [model] if isinstance(model, nd.Forecaster) else networks(model.forecaster)


@every_trained_kind
def test_with_settings_changes_exactly_what_was_named(kind: str, fitted: Fitted) -> None:
    model = fitted(kind)
    before = settings(model)
    changed = model.with_settings(CHANGES)
    assert type(changed) is type(model)
    assert not changed.is_fitted
    assert settings(model) == before
    for new, old in zip(networks(changed), networks(model), strict=True):
        optimizer = old.training.optimizer.replace(lr=3e-4)
        assert new.training == old.training.replace(optimizer=optimizer)
        assert new._task == old._task.replace(validation=0.25, loss=nd.losses.Huber())
        expected = old.architecture.replace(hidden_size=16) if old.architecture.name == "nhits" else old.architecture
        assert new.architecture == expected
    assert settings(model.with_settings({})) == before


OWN = {
    "Ensemble": ("ensemble.combine", "median", "ensemble.combin"),
    "HINT": ("hint.method", "bottom_up", "hint.metod"),
    "Conformal": ("conformal.method", "adaptive", "conformal.metod"),
}


@pytest.mark.parametrize("kind", OWN)
def test_with_settings_of_a_wrapping_model_takes_its_own_settings_by_prefix(kind: str, fitted: Fitted) -> None:
    name, value, wrong = OWN[kind]
    model = fitted(kind)
    changed: Any = model.with_settings({name: value})
    own = {"Ensemble": "combine", "HINT": "method"}
    assert (getattr(changed, own[kind]) if kind in own else changed.settings.method) == value
    assert [settings(one) for one in networks(changed)] == [settings(one) for one in networks(model)]
    with pytest.raises(ConfigError, match=f"Did you mean '{name.partition('.')[2]}'"):
        model.with_settings({wrong: value})


@every_trained_kind
@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("training.optimizer.lrr", "lr"),
        ("task.input_sise", "input_size"),
        ("model.hiden_size", "hidden_size"),
        ("trainig.seed", "training"),
    ],
)
def test_with_settings_refuses_an_unknown_setting_with_the_closest_one(kind: str, key: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"Did you mean '{hint}'"):
        KINDS[kind]().with_settings({key: 1})


@every_trained_kind
def test_repr_says_what_it_is_and_whether_it_is_fitted(kind: str, fitted: Fitted) -> None:
    model, unfitted = fitted(kind), KINDS[kind]()
    for one in (model, unfitted):
        assert repr(one).startswith(f"{type(one).__name__}(")
        for words in ("nhits", "horizon=3", "input_size=8", "loss=mae"):
            assert words in repr(one)
    assert "not fitted" in repr(unfitted)
    assert f"fitted on {len(TREE.nodes)} series" in repr(model)
    assert "parameters" in repr(model)
    assert "not fitted" not in repr(model)


def test_intervals_by_series_are_not_saved_without_context(fitted: Fitted, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="save them with context"):
        fitted(BY_SERIES).save(tmp_path / "model", context=False)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != BY_SERIES])
def test_model_saved_without_context_forecasts_given_data_only(kind: str, fitted: Fitted, tmp_path: Path) -> None:
    model = fitted(kind)
    model.save(tmp_path / "model", context=False)
    bare = nd.load(tmp_path / "model")
    assert "without context" in repr(bare)
    assert {"series", "scaler_params"} & set(model.holds)
    assert not {"series", "scaler_params"} & set(bare.holds)
    with pytest.raises(InputError, match="saved without context, so it holds no series: pass them as data"):
        bare.predict()
    table = bare.predict(TABLE, levels=[80])
    assert table["unique_id"].to_list() == model.predict()["unique_id"].to_list()
    assert (table["lo-80"] <= table["hi-80"]).all()
    # Once more without context changes nothing.
    bare.save(tmp_path / "again", context=False)
    assert nd.load(tmp_path / "again").predict(TABLE, levels=[80]).equals(table)
    assert nd.load(tmp_path / "again").holds == bare.holds


@pytest.mark.parametrize("kind", [kind for kind in TRAINED if kind != BY_SERIES])
def test_points_without_context_equal_those_with_it_where_no_scaler_is_fitted_by_series(
    kind: str, tmp_path: Path
) -> None:
    model = KINDS[kind]().with_settings({"task.series_scaler": None}).fit(TABLE)
    model.save(tmp_path / "model", context=False)
    bare = nd.load(tmp_path / "model")
    assert bare.predict(TABLE)["forecast"].equals(model.predict()["forecast"])


@every_kind
def test_load_of_a_run_directory_reads_its_model_and_refuses_one_without(
    kind: str, fitted: Fitted, tmp_path: Path
) -> None:
    fitted(kind).save(tmp_path / "run" / "model")
    assert repr(nd.load(tmp_path / "run")) == repr(fitted(kind))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UntrustedFileError, match="is not a model"):
        nd.load(tmp_path / "empty")
