"""Which models are exported with which quantiles, and what the others say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import ExportError, InputError
from neuro_divergent.serving.export.exporter import exportable
from neuro_divergent.serving.export.model_module import requested_quantiles
from tests.unit.serving.export.small_models import COVARIATES, TABLE, TREE, forecaster, nhits

Models = Callable[[str], nd.Forecaster]
USUAL = (0.025, 0.05, 0.1, 0.9, 0.95, 0.975)


def test_quantiles_by_default_are_those_that_the_model_forecasts_by_itself(models: Models) -> None:
    def usual(model: Any) -> tuple[float, ...]:
        return requested_quantiles(model, None, None)

    assert usual(models("linear")) == USUAL
    assert usual(forecaster(loss=nd.QuantileLoss([0.9, 0.2])).fit(TABLE)) == (0.2, 0.9)
    assert usual(forecaster(loss="normal").fit(TABLE)) == USUAL
    assert usual(forecaster(validation=0).fit(TABLE)) == ()
    assert usual(nd.Ensemble.quantiles(forecaster(), [0.3, 0.6]).fit(TABLE)) == (0.3, 0.6)
    assert usual(nd.Conformal(forecaster()).fit(TABLE)) == USUAL


def test_levels_that_cannot_be_claimed_are_left_out_by_default_and_refused_by_request() -> None:
    model = forecaster(validation=4, refit=False).fit(TABLE.filter(pl.col("unique_id") == "a"))
    found = requested_quantiles(model, None, None)
    assert found == (0.1, 0.9)
    with pytest.raises(InputError, match="level 95 needs at least"):
        exportable(model, levels=[95])


def test_requested_levels_and_quantiles_are_put_in_order_without_repetition(models: Models) -> None:
    assert requested_quantiles(models("linear"), [80, 95], [0.9, 0.5]) == (0.025, 0.1, 0.5, 0.9, 0.975)
    assert requested_quantiles(models("linear"), [], None) == ()


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "statistical": (lambda: nd.Statistical("seasonal_naive", horizon=3).fit(TABLE), "no weights"),
    "adaptive": (lambda: nd.Conformal(forecaster(), method="adaptive").fit(TABLE), "observed after each forecast"),
    "pool": (
        lambda: nd.Ensemble([forecaster(loss="normal"), forecaster(loss="normal", input_size=8)], combine="pool").fit(
            TABLE
        ),
        "combine='pool'",
    ),
    "top_down": (
        lambda: nd.HINT(forecaster(), TREE, "top_down").fit(TREE.aggregate_table(TABLE)),
        "'top_down' splits the total",
    ),
    "short history": (lambda: forecaster(input_size=2).fit(TABLE), "input_size of at least 3"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_models_that_no_graph_can_hold_are_refused_with_the_reason(kind: str) -> None:
    make, reason = REFUSED[kind]
    with pytest.raises(ExportError, match=reason):
        exportable(make())


def test_series_scaler_without_its_parameters_is_refused_unless_it_has_none(models: Models, tmp_path: Path) -> None:
    models("scaled").save(tmp_path / "bare", context=False)
    with pytest.raises(ExportError, match="saved without context"):
        exportable(nd.load(tmp_path / "bare"))
    forecaster(series_scaler="log").fit(TABLE).save(tmp_path / "log", context=False)
    _, description = exportable(nd.load(tmp_path / "log"))
    assert not description.takes_series
    assert not description.requires_known_series


def test_pool_without_quantiles_is_exportable() -> None:
    make, _ = REFUSED["pool"]
    _, description = exportable(make(), levels=[])
    assert description.quantiles == ()


def test_description_of_a_model_has_what_a_caller_needs() -> None:
    table = TABLE.rename({"y": "units", "unique_id": "store", "ds": "hour_of_sale"})
    model = nhits().fit(
        table, target="units", id="store", time="hour_of_sale", missing="forward", short="error", **COVARIATES
    )
    _, found = exportable(model, levels=[80])
    assert (found.target, found.id, found.time, found.frequency) == ("units", "store", "hour_of_sale", "1h")
    assert (found.time_type, found.time_unit, found.time_zone) == ("datetime", "us", None)
    assert [feature.name for feature in found.past] == ["seen", "color"]
    assert found.past[1].categories == (3, 5, 9)
    assert found.future[0].categories is None
    assert found.future[1].categories == ("fair", "game", "no")
    assert [feature.name for feature in found.static] == ["region", "size"]
    assert found.calendar == ("hour", "day_of_week_sin")
    assert (found.missing, found.gaps, found.short) == ("forward", "error", "error")
    assert (found.takes_series, found.requires_known_series, found.series) == (True, False, ("a", "b", "c"))
    units = table["units"].cast(pl.Float32)
    assert found.target_range == (units.min(), units.max())
    assert (found.kind, found.architecture, found.quantiles) == ("Forecaster", "nhits", (0.1, 0.9))


def test_integer_ids_and_times_keep_their_type() -> None:
    row = pl.int_range(pl.len()).over("unique_id")
    table = TABLE.with_columns(row.alias("ds"), pl.col("unique_id").replace_strict({"a": 7, "b": 9, "c": 8}))
    _, found = exportable(forecaster().fit(table), levels=[])
    assert (found.series, found.time_type, found.frequency) == ((7, 8, 9), "integer", "1")


def test_loss_whose_quantiles_cannot_be_exported_gives_the_point_by_default_and_is_refused_by_request(
    tmp_path: Path,
) -> None:
    model = forecaster(loss=nd.losses.Tweedie()).fit(TABLE.with_columns(pl.col("y").abs()))
    assert requested_quantiles(model, None, None) == ()
    model.export(tmp_path / "point.onnx")
    with pytest.raises(ExportError, match="incomplete gamma"):
        model.export(tmp_path / "interval.onnx", levels=[80])
    assert [path.name for path in tmp_path.iterdir()] == ["point.onnx"]


def test_architecture_that_cannot_be_exported_says_why_and_is_still_a_module_for_torch(tmp_path: Path) -> None:
    model = forecaster(nd.TimesNet(hidden_size=4, conv_hidden_size=4, num_layers=1)).fit(TABLE)
    with pytest.raises(ExportError, match="timesnet cannot be exported: the periods"):
        model.export(tmp_path / "model.onnx")
    _, description = exportable(model)
    assert description.architecture == "timesnet"
    assert not list(tmp_path.iterdir())
