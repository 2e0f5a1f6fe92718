from pathlib import Path

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation.comparison.comparison import compare
from neuro_divergent.evaluation.evaluate import evaluate
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit
from neuro_divergent.reporting import plots

from .figures.backtests import make_backtest
from .run_files import write_run

graph_objects = pytest.importorskip("plotly.graph_objects")


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    time = np.arange(200)
    values = [np.sin(2 * np.pi * time / 24) + np.random.default_rng(seed).normal(size=200) / 9 for seed in (0, 1)]
    return pl.DataFrame(
        {
            "store": np.repeat(["north", "<b>south</b>"], 200),
            "hour": np.tile(np.datetime64("2024-01-01", "us") + time.astype("timedelta64[h]"), 2),
            "units": np.concatenate(values),
        }
    )


@pytest.fixture(scope="module")
def forecaster(frame):
    training = nd.TrainingConfig(max_steps=3, log_every=1)
    made = nd.Forecaster("dlinear", horizon=12, input_size=24, training=training)
    return made.fit(frame, id="store", time="hour", target="units")


@pytest.fixture
def run(tmp_path) -> Path:
    return write_run(tmp_path / "run")


def _names(figure) -> list[str]:
    return [trace.name for trace in figure.data if trace.name]


def test_everything_is_drawn_of_a_forecaster(forecaster):
    drawn = [
        plots.plot_forecast(forecaster),
        plots.plot_history(forecaster),
        plots.plot_residuals(forecaster, "autocorrelation"),
        plots.plot_calibration(forecaster),
        plots.plot_ranking(forecaster),
        plots.plot_scores(forecaster),
        plots.plot_architecture(forecaster),
        plots.plot_layers(forecaster, "weights"),
    ]
    for figure in drawn:
        assert isinstance(figure, graph_objects.Figure)
        assert figure.data


def test_a_forecast_has_the_usual_intervals_where_they_can_be_given(forecaster):
    figure = plots.plot_forecast(forecaster, series="north")
    assert {"80 %", "95 %", "observed", "forecast"} <= set(_names(figure))
    assert set(_names(plots.plot_forecast(forecaster, levels=[50]))) >= {"50 %"}
    line = next(trace for trace in figure.data if trace.name == "forecast")
    expected = forecaster.predict().filter(pl.col("store") == "north")["forecast"]
    np.testing.assert_allclose(np.asarray(line.y, float), expected, rtol=1e-5)


def test_a_loaded_forecaster_shows_the_end_of_its_series(forecaster, tmp_path):
    forecaster.save(tmp_path / "model")
    figure = plots.plot_forecast(nd.Forecaster.load(tmp_path / "model"))
    assert {"observed", "forecast", "95 %"} <= set(_names(figure))


def test_what_evaluate_returned_is_understood(forecaster):
    evaluation = evaluate(forecaster)
    for kind in ("time", "histogram", "autocorrelation", "step"):
        assert plots.plot_residuals(evaluation, kind).data
    assert plots.plot_ranking(evaluation).data
    assert plots.plot_calibration(evaluation).data
    assert plots.plot_scores(evaluation, "rmse").data


def test_a_run_is_drawn_from_its_files(run):
    assert {"80 %", "observed", "forecast"} <= set(_names(plots.plot_forecast(run)))
    for kind in ("loss", "rate", "gradient", "speed"):
        assert plots.plot_history(str(run), kind).data
    for kind in ("time", "histogram", "autocorrelation", "step"):
        assert plots.plot_residuals(run, kind).data
    for kind in ("gradient", "update", "weights"):
        assert plots.plot_layers(run, kind).data
    for draw in (plots.plot_calibration, plots.plot_ranking, plots.plot_scores, plots.plot_architecture):
        assert draw(run).data
    assert plots.plot_calibration(run, "pit").data


def test_several_histories_are_drawn_together(forecaster, run):
    figure = plots.plot_history({"mine": forecaster, "a run": run}, column="train_loss")
    assert _names(figure) == ["mine", "a run"]


def test_tables_are_drawn(frame):
    backtest = make_backtest(["a", "b"]).to_pandas()
    assert plots.plot_residuals(backtest).data
    assert plots.plot_ranking(backtest).data
    assert plots.plot_comparison(compare(backtest)).data
    assert plots.plot_forecast(frame, id="store", time="hour", target="units").data
    assert plots.plot_folds(TimeSeriesSplit(n_splits=2), frame, id="store", time="hour", target="units").data
    assert plots.plot_schedule("one_cycle").data
    assert plots.plot_importance(pl.DataFrame({"variable": ["a"], "importance": [1.0]})).data
    curve = {f"{part}_{end}": [1.0, 2.0] for part in ("train", "validation") for end in ("mean", "low", "high")}
    assert plots.plot_learning_curve(pl.DataFrame({"size": [1, 2], **curve})).data


def test_explanations_are_drawn(frame):
    training = nd.TrainingConfig(max_steps=1)
    forecaster = nd.Forecaster(nd.TFT(hidden_size=4), horizon=4, input_size=8, training=training)
    explanation = forecaster.fit(frame, id="store", time="hour", target="units").explain()
    assert _names(plots.plot_importance(explanation))
    assert plots.plot_importance(explanation, "attention").data[0].type == "heatmap"


def test_a_figure_asks_for_forecasts_where_covariates_ahead_are_needed(frame):
    with_price = frame.with_columns(price=pl.lit(1.0))
    model = nd.Forecaster("nhits", horizon=4, input_size=8, training=nd.TrainingConfig(max_steps=1))
    model.fit(with_price, id="store", time="hour", target="units", future=["price"])
    with pytest.raises(InputError, match=r"price are needed .* plot\(forecaster.predict\(future=\.\.\., levels="):
        model.plot()


def test_wrong_arguments_are_refused(run, tmp_path):
    with pytest.raises(InputError, match="kind: 'los' must be one of loss, rate, gradient, speed"):
        plots.plot_history(run, "los")
    with pytest.raises(InputError, match=r"no network\.json"):
        plots.plot_architecture(tmp_path)
    with pytest.raises(InputError, match="is no forecaster and no directory of a run"):
        plots.plot_architecture(3)
    with pytest.raises(InputError, match=r"no backtest\.parquet"):
        plots.plot_residuals(tmp_path)
    with pytest.raises(InputError, match=r"no forecasts\.csv that can be read; 'nd train' writes one"):
        plots.plot_forecast(tmp_path)
    with pytest.raises(InputError, match="needs what check_calibration returned"):
        plots.plot_calibration(pl.DataFrame({"level": [80.0], "coverage": [80.0]}), "pit")
