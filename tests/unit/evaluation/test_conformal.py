"""Conformal intervals against loops that do what the words say."""

import dataclasses
import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.conformal.conformal import Conformal
from neuro_divergent.evaluation.evaluate import evaluate
from neuro_divergent.forecasting.ensemble.ensemble import Ensemble

HORIZON, HISTORY = 4, 12
FRAME = Synthetic(num_series=3, length=240, noise=4.0, seed=3).frame()


def trained(frame: pl.DataFrame, loss: Any = None, **task: Any) -> nd.Forecaster:
    return nd.Forecaster(
        nd.NLinear(),
        horizon=HORIZON,
        input_size=HISTORY,
        validation=0.3,
        test=0.3,
        loss=nd.losses.MAE() if loss is None else loss,
        training=nd.TrainingConfig(max_steps=30, threads=1),
        **task,
    ).fit(frame)


@pytest.fixture(scope="module")
def point() -> nd.Forecaster:
    return trained(FRAME)


@pytest.fixture(scope="module")
def quantile() -> nd.Forecaster:
    return trained(FRAME, nd.QuantileLoss([0.1, 0.5, 0.9]))


def parts(forecaster: nd.Forecaster) -> tuple[Windows, Windows]:
    assert forecaster.split is not None
    return dataclasses.replace(forecaster.split.validation, step=1), forecaster.split.test


def spreads(panel: Panel, rows: np.ndarray) -> np.ndarray:
    return np.array([panel.y[row - HISTORY : row].astype(np.float64).std() for row in rows])


def kth(values: np.ndarray, share: float) -> float:
    """The split-conformal quantile, in the words of the textbook."""
    return float(np.sort(values.reshape(-1))[math.ceil((values.size + 1) * share - 1e-9) - 1])


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("by", ["step", "pooled"])
def test_split_widths_are_ranked_errors_of_the_validation_part(
    point: nd.Forecaster, by: Any, symmetric: bool, scaled: bool
) -> None:
    validation, test = parts(point)
    old, new = point.validated.forecast_windows(validation), point.forecast_windows(test)
    unit = spreads(validation.panel, old.rows)[:, None] if scaled else 1.0
    error = (old.actual.astype(np.float64) - old.point) / unit
    made = Conformal(point, by=by, symmetric=symmetric, scaled=scaled).calibrate().forecast_windows(test, [80])
    spread = spreads(test.panel, new.rows) if scaled else np.ones(len(new.rows))
    for step in range(HORIZON):
        own = error if by == "pooled" else error[:, step]
        if symmetric:
            below = above = kth(np.abs(own), 0.8)
        else:
            below, above = kth(-own, 0.9), kth(own, 0.9)
        assert made.lower[80][:, step] == pytest.approx(new.point[:, step] - below * spread, rel=1e-5)
        assert made.upper[80][:, step] == pytest.approx(new.point[:, step] + above * spread, rel=1e-5)


@pytest.mark.parametrize("symmetric", [True, False])
def test_cqr_adjusts_the_quantiles_of_the_forecaster(quantile: nd.Forecaster, symmetric: bool) -> None:
    validation, test = parts(quantile)
    old = quantile.validated.forecast_windows(validation, [80])
    new = quantile.forecast_windows(test, [80])
    unit, spread = spreads(validation.panel, old.rows)[:, None], spreads(test.panel, new.rows)
    below = (old.lower[80].astype(np.float64) - old.actual) / unit
    above = (old.actual - old.upper[80].astype(np.float64)) / unit
    # A level that was not trained for is reached from the nearest one that was.
    for level in (80, 95):
        share = level / 100
        made = Conformal(quantile, method="cqr", symmetric=symmetric).calibrate().forecast_windows(test, [level])
        for step in range(HORIZON):
            if symmetric:
                low = high = kth(np.maximum(below, above)[:, step], share)
            else:
                low, high = kth(below[:, step], (1 + share) / 2), kth(above[:, step], (1 + share) / 2)
            assert made.lower[level][:, step] == pytest.approx(new.lower[80][:, step] - low * spread, rel=1e-5)
            assert made.upper[level][:, step] == pytest.approx(new.upper[80][:, step] + high * spread, rel=1e-5)


def test_cqr_with_a_point_loss_is_refused(point: nd.Forecaster, quantile: nd.Forecaster) -> None:
    for wrong in ({"method": "cqr"}, {"method": "adaptive", "around": "quantiles"}):
        with pytest.raises(InputError, match=r"'mae' forecasts a point.*method='split'"):
            Conformal(point, **wrong)
    lopsided = trained(FRAME, nd.QuantileLoss([0.5, 0.9]))
    with pytest.raises(InputError, match=r"has the quantiles 0\.5, 0\.9"):
        Conformal(lopsided, method="cqr")
    Conformal(quantile, method="cqr")


@pytest.mark.parametrize("settings", [{"method": "split"}, {"method": "cqr"}, {"method": "adaptive"}])
def test_predict_equals_forecast_windows_at_the_end(quantile: nd.Forecaster, settings: dict[str, Any]) -> None:
    assert quantile.panel is not None
    conformal = Conformal(quantile, **settings).calibrate()
    panel = quantile.panel
    row = int(panel.lengths[0]) - 40
    past = FRAME.filter(pl.int_range(pl.len()).over("unique_id") < row)
    made = conformal.predict(past, levels=[80, 95], quantiles=[0.1, 0.5, 0.9])
    assert made.columns == [
        "unique_id",
        "ds",
        "forecast",
        "lo-80",
        "hi-80",
        "lo-95",
        "hi-95",
        "q-0.1",
        "q-0.5",
        "q-0.9",
    ]
    begins = panel.offsets[:-1] + row
    windows = Windows(panel, HISTORY, HORIZON, begins, begins + HORIZON)
    expected = conformal.forecast_windows(windows, [80, 95])
    for level in (80, 95):
        for name, ends in ((f"lo-{level}", expected.lower), (f"hi-{level}", expected.upper)):
            assert made[name].to_numpy() == pytest.approx(ends[level].reshape(-1), rel=1e-5)
    assert made["q-0.1"].to_list() == made["lo-80"].to_list()
    assert made["q-0.9"].to_list() == made["hi-80"].to_list()
    assert made["q-0.5"].to_list() == made["forecast"].to_list()
    assert (made["lo-95"] <= made["lo-80"]).all()
    assert (made["hi-95"] >= made["hi-80"]).all()
    assert made["forecast"].dtype == made["lo-80"].dtype


def test_tables_are_of_the_same_kind_as_the_input() -> None:
    pandas = pytest.importorskip("pandas")
    frame = FRAME.to_dict(as_series=False)
    forecaster = trained(pandas.DataFrame(frame))
    assert isinstance(Conformal(forecaster).calibrate().predict(), pandas.DataFrame)


@pytest.mark.parametrize("method", ["split", "cqr", "adaptive"])
def test_changing_the_test_part_changes_no_width(quantile: nd.Forecaster, method: Any) -> None:
    assert quantile.split is not None
    begins = quantile.split.test.begins - quantile.split.test.panel.offsets[:-1]
    first = int(begins[0])
    place = pl.int_range(pl.len()).over("unique_id")
    changed = FRAME.with_columns(pl.when(place >= first).then(pl.col("y") * 7 - 300).otherwise("y").alias("y"))
    other = trained(changed, nd.QuantileLoss([0.1, 0.5, 0.9]))
    one, two = (Conformal(model, method=method).calibrate() for model in (quantile, other))
    assert one.to_dict() == two.to_dict()
    past = FRAME.filter(place < first)
    assert one.predict(past).equals(two.predict(past))


@pytest.mark.parametrize("settings", [{}, {"per": "series"}, {"by": "pooled"}, {"symmetric": False}])
def test_adaptive_widths_ignore_values_after_the_cutoff(point: nd.Forecaster, settings: dict[str, Any]) -> None:
    conformal = Conformal(point, method="adaptive", **settings).calibrate()
    test = dataclasses.replace(parts(point)[1], step=1)  # so that windows overlap
    panel = test.panel
    before = conformal.forecast_windows(test, [80, 90])
    for series in range(panel.num_series):
        row = int(panel.offsets[series + 1]) - 20
        y = panel.y.copy()
        y[row] += 1000.0
        after = conformal.forecast_windows(dataclasses.replace(test, panel=dataclasses.replace(panel, y=y)), [80, 90])
        # A window whose first target is at the changed row, or earlier, cannot know: neither of this nor of another
        # series that is at the same time.
        within = before.rows - panel.offsets[before.series]
        early = within <= row - panel.offsets[series]
        assert early.any()
        for level in (80, 90):
            assert np.array_equal(before.lower[level][early], after.lower[level][early])
            assert np.array_equal(before.upper[level][early], after.upper[level][early])
        # One row later it is known. Histories have changed too, so compare in units of their spread.
        next_one = (within == row - panel.offsets[series] + 1) & (before.series == series)
        old, new = (
            (made.upper[80] - made.lower[80])[next_one][0] / spreads(source, made.rows[next_one])
            for made, source in ((before, panel), (after, dataclasses.replace(panel, y=y)))
        )
        assert np.abs(new / old - 1).max() > 1e-3


@pytest.mark.parametrize("per", ["all", "series"])
def test_updating_day_by_day_is_the_same_as_one_pass(point: nd.Forecaster, per: Any) -> None:
    test = parts(point)[1]
    panel = test.panel
    online = Conformal(point, method="adaptive", per=per).calibrate(step=HORIZON)
    expected = online.forecast_windows(test, [80])
    within = expected.rows - panel.offsets[expected.series]
    place = pl.int_range(pl.len()).over("unique_id")
    begins = np.unique(within)
    # Windows are counted from the end of a part, so the first may begin some rows after the validation part.
    for begin in begins[:6].tolist():
        made = online.predict(FRAME.filter(place < begin), levels=[80])
        chosen = within == begin
        assert made["lo-80"].to_numpy() == pytest.approx(expected.lower[80][chosen].reshape(-1), rel=1e-5)
        online.update(FRAME.filter(place < begin + HORIZON), step=HORIZON)
    fresh = Conformal(point, method="adaptive", per=per).calibrate(step=HORIZON)
    last = fresh.update_windows(dataclasses.replace(test, ends=panel.offsets[:-1] + begins[5] + HORIZON))
    assert last.predict()["hi-80"].to_list() == pytest.approx(online.predict()["hi-80"].to_list(), rel=1e-6)


def test_updating_with_nothing_new_changes_nothing(point: nd.Forecaster) -> None:
    conformal = Conformal(point, method="adaptive").calibrate()
    before = conformal.to_dict()
    place = pl.int_range(pl.len()).over("unique_id")
    assert point.split is not None
    known = int(point.split.validation.ends[0])
    assert conformal.update(FRAME.filter(place < known)).to_dict() == before
    assert conformal.update(FRAME.filter(place < known + 1)).to_dict() != before
    with pytest.raises(InputError, match="step: 0"):
        conformal.update(FRAME, step=0)


def test_update_adds_errors_to_split_calibration(point: nd.Forecaster) -> None:
    validation, test = parts(point)
    conformal = Conformal(point).calibrate_windows(validation).update_windows(test)
    both = [point.forecast_windows(part) for part in (validation, test)]
    error = np.concatenate(
        [np.abs(made.actual - made.point) / spreads(test.panel, made.rows)[:, None] for made in both]
    )
    made = conformal.forecast_windows(test, [90])
    width = (made.upper[90] - made.lower[90]) / 2 / spreads(test.panel, made.rows)[:, None]
    assert width[0] == pytest.approx([kth(error[:, step], 0.9) for step in range(HORIZON)], rel=1e-4)


def test_adaptive_refuses_windows_it_was_calibrated_on(point: nd.Forecaster) -> None:
    validation, test = parts(point)
    conformal = Conformal(point, method="adaptive").calibrate()
    with pytest.raises(InputError, match=r"series 'series-0': a window begins before"):
        conformal.forecast_windows(validation, [80])
    conformal.update_windows(test)
    with pytest.raises(InputError, match="its values are already known"):
        conformal.forecast_windows(test, [80])


@pytest.mark.parametrize(
    "settings", [{}, {"per": "series"}, {"method": "cqr"}, {"method": "adaptive", "around": "quantiles", "whole": True}]
)
def test_calibration_round_trips_through_json(quantile: nd.Forecaster, settings: dict[str, Any]) -> None:
    conformal = Conformal(quantile, **settings).calibrate().update_windows(parts(quantile)[1])
    again = Conformal.from_dict(quantile, json.loads(json.dumps(conformal.to_dict())))
    assert again.settings == conformal.settings
    assert again.predict().equals(conformal.predict())


def test_an_interval_contains_the_narrower_ones_whatever_was_measured() -> None:
    """The quantiles for 80 % are calibrated to lie inside those for 50 %."""
    forecaster = trained(FRAME, nd.QuantileLoss([0.1, 0.25, 0.5, 0.75, 0.9]))
    values = Conformal(forecaster, method="cqr").calibrate().to_dict()
    calibration = values["calibration"]
    assert calibration["pairs"] == [[0.1, 0.9], [0.25, 0.75]]
    for side in ("below", "above"):
        shape = np.array(calibration[side]).shape[1:]
        calibration[side] = [np.full(shape, score).tolist() for score in (-2.0, 2.0)]
    made = Conformal.from_dict(forecaster, values).predict(levels=[50, 80])
    np.testing.assert_array_equal(made["lo-80"], made["lo-50"])
    np.testing.assert_array_equal(made["hi-80"], made["hi-50"])
    assert (made["hi-50"] > made["lo-50"]).all()


def test_a_calibration_of_another_forecaster_is_refused(point: nd.Forecaster, quantile: nd.Forecaster) -> None:
    values = Conformal(quantile, method="adaptive", around="quantiles").calibrate().to_dict()
    other = Conformal(quantile).calibrate().to_dict()
    with pytest.raises(InputError, match="another horizon or loss"):
        Conformal.from_dict(quantile, {**values, "calibration": other["calibration"]})
    del values["calibration"]["times"]
    with pytest.raises(InputError, match="not the scores of a calibration"):
        Conformal.from_dict(quantile, values)
    with pytest.raises(InputError, match="forecasts a point"):
        Conformal.from_dict(point, values)
    with pytest.raises(InputError, match="pass what to_dict returned"):
        Conformal.from_dict(point, {})


def test_integer_bounds_cover_the_same_integers(point: nd.Forecaster) -> None:
    test = parts(point)[1]
    plain, whole = (Conformal(point, whole=whole).calibrate().forecast_windows(test, [80]) for whole in (False, True))
    assert np.array_equal(whole.lower[80], np.ceil(plain.lower[80]))
    assert np.array_equal(whole.upper[80], np.floor(plain.upper[80]))
    numbers = np.round(plain.actual)
    inside = [(made.lower[80] <= numbers) & (numbers <= made.upper[80]) for made in (plain, whole)]
    assert np.array_equal(*inside)


def test_new_data_can_be_calibrated_on() -> None:
    point = trained(FRAME, refit=False)
    validation, test = parts(point)
    place = pl.int_range(pl.len()).over("unique_id")
    known = FRAME.filter(place < int(validation.ends[0]))
    rows = int(validation.ends[0] - validation.begins[0])
    whole, given = Conformal(point).calibrate(), Conformal(point).calibrate(known, last=rows)
    assert whole.to_dict() == given.to_dict()
    few = Conformal(point).calibrate(known, last=rows, cutoffs=5, step=2).to_dict()["calibration"]
    assert len(few["ids"]) == 5 * test.panel.num_series
    for wrong in ({"last": 0}, {"last": 2.5}, {"cutoffs": 0}, {"step": 1.5}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Conformal(point).calibrate(known, **wrong)


def test_unobserved_values_do_not_count() -> None:
    frame = Synthetic(num_series=2, length=200, noise=2.0, missing=0.2, seed=1).frame()
    forecaster = nd.Forecaster(
        nd.NLinear(),
        horizon=HORIZON,
        input_size=HISTORY,
        validation=0.3,
        test=0.3,
        training=nd.TrainingConfig(max_steps=10, threads=1),
    ).fit(frame, missing="mask")
    for method in ("split", "adaptive"):
        conformal = Conformal(forecaster, method=method).calibrate()
        made = conformal.forecast_windows(parts(forecaster)[1], [80])
        assert np.isfinite(made.lower[80]).all()
        measured = np.array(conformal.to_dict()["calibration"]["below"], dtype=np.float64)
        assert 0.1 < np.isnan(measured).mean() < 0.3


def test_invalid_calls_are_refused_with_the_reason(point: nd.Forecaster, tmp_path: Any) -> None:
    with pytest.raises(NotFittedError, match="calibrate"):
        Conformal(point).predict()
    with pytest.raises(InputError, match="at least 9999 errors"):
        Conformal(point).calibrate().predict(levels=[99.99])
    with pytest.raises(InputError, match="percentages"):
        Conformal(point).calibrate().predict(levels=[0.8, 100])
    with pytest.raises(ConfigError, match="method"):
        Conformal(point, method="magic")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="does not go with method='split'"):
        Conformal(point, around="quantiles")
    point.save(tmp_path / "model")
    loaded = nd.Forecaster.load(tmp_path / "model")
    with pytest.raises(InputError, match="pass data"):
        Conformal(loaded).calibrate()
    assert Conformal(loaded).calibrate(FRAME, last=60).predict().height == 3 * HORIZON


def test_an_ensemble_can_be_calibrated(quantile: nd.Forecaster) -> None:
    ensemble = Ensemble.seeds(quantile, 2).fit(FRAME)
    assert ensemble.split is not None
    validation = dataclasses.replace(ensemble.split.validation, step=1)
    old = ensemble.validated.forecast_windows(validation, [80])
    below, above = old.lower[80].astype(np.float64) - old.actual, old.actual - old.upper[80].astype(np.float64)
    moved = [kth(np.maximum(below, above)[:, step], 0.8) for step in range(HORIZON)]
    plain = ensemble.predict(levels=[80])
    made = Conformal(ensemble, method="cqr", scaled=False).calibrate().predict(levels=[80])
    assert (plain["lo-80"] - made["lo-80"]).to_numpy() == pytest.approx(np.tile(moved, 3), abs=1e-3)
    assert (made["hi-80"] - plain["hi-80"]).to_numpy() == pytest.approx(np.tile(moved, 3), abs=1e-3)


def test_models_of_all_series_at_once_can_be_calibrated() -> None:
    forecaster = trained(FRAME, joint=True)
    validation, test = parts(forecaster)
    error = forecaster.validated.forecast_windows(validation)
    relative = np.abs(error.actual - error.point) / spreads(validation.panel, error.rows)[:, None]
    made = Conformal(forecaster).calibrate().forecast_windows(test, [80])
    width = (made.upper[80] - made.lower[80]) / 2 / spreads(test.panel, made.rows)[:, None]
    assert width == pytest.approx(
        np.tile([kth(relative[:, h], 0.8) for h in range(HORIZON)], (len(width), 1)), rel=1e-4
    )
    own = Conformal(forecaster, per="series").calibrate().forecast_windows(test, [80])
    wide = (own.upper[80] - own.lower[80]) / 2 / spreads(test.panel, own.rows)[:, None]
    per_series = [np.unique(wide[own.series == series].round(4), axis=0) for series in range(3)]
    assert [len(found) for found in per_series] == [1, 1, 1]
    assert not np.allclose(per_series[0], per_series[1])


def test_evaluation_takes_calibrated_forecasters(point: nd.Forecaster) -> None:
    conformal = Conformal(point, method="adaptive").calibrate()
    coverage = evaluate(conformal, levels=[80]).coverage  # type: ignore[arg-type]
    test = parts(point)[1]
    made = conformal.forecast_windows(test, [80])
    inside = (made.lower[80] <= made.actual) & (made.actual <= made.upper[80])
    assert coverage["coverage"].to_list() == pytest.approx([100 * inside.mean()])
