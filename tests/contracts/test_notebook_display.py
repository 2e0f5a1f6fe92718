"""Every object that a notebook shows has HTML that is well-formed and safe, and a plain text of one line."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.diagnostics.finding import Diagnosis, Finding
from neuro_divergent.lifecycle.pipeline.pipeline_result import PipelineResult, StageOutcome

HOSTILE = "<script>alert(1)</script>"
NAMES = {"id": f"{HOSTILE} id", "time": "hour & day", "target": f'{HOSTILE} "units"'}
HIERARCHY = nd.Hierarchy.from_entries([HOSTILE, HOSTILE, "a", "b"], ["a", "b", "a", "b"], [1, 1, 1, 1])
LONGEST = 300  # characters of a plain text
FEW_STEPS = nd.TrainingConfig(max_steps=3, log_every=1, threads=1)
UNFITTED: dict[str, Callable[[], Any]] = {
    "forecaster": lambda: nd.Forecaster("nlinear", horizon=4, training=FEW_STEPS),
    "ensemble": lambda: nd.Ensemble.seeds(nd.Forecaster("nlinear", horizon=4), 2),
    "hint": lambda: nd.HINT(nd.Forecaster("nlinear", horizon=4), HIERARCHY),
    "conformal": lambda: nd.Conformal(nd.Forecaster("nlinear", horizon=4)),
    "statistical": lambda: nd.Statistical("naive", horizon=4),
    "auto": lambda: nd.AutoForecaster(horizon=4, budget=5),
    "history": lambda: nd.training.History(),
    "config": lambda: nd.TrainingConfig(max_steps=5, stop_file=HOSTILE),
    "architecture": lambda: nd.NHITS(),
    "task": lambda: nd.Task(horizon=4),
    "schema": lambda: nd.Schema(target=HOSTILE),
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rows, series = 60, [HOSTILE, "a&b\x00", "plain"]
    values = [np.sin(np.arange(rows) / 3) + place for place, _ in enumerate(series)]
    time = np.datetime64("2024-01-01", "us") + np.arange(rows).astype("timedelta64[h]")
    return pl.DataFrame(
        {
            NAMES["id"]: np.repeat(series, rows).tolist(),
            NAMES["time"]: np.tile(time, len(series)),
            NAMES["target"]: np.concatenate(values),
        }
    )


@pytest.fixture(scope="module")
def fitted(table: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return one of each object, fitted to series with hostile names."""
    forecaster = nd.Forecaster("nlinear", horizon=4, input_size=8, training=FEW_STEPS).fit(table, **NAMES)
    loaded = tmp_path_factory.mktemp("model") / "model"
    forecaster.save(loaded)
    crossed = nd.cross_validate(
        {HOSTILE: forecaster.clone()}, table, nd.splitters.TimeSeriesSplit(n_splits=2, test_size=4), **NAMES
    )
    members = [forecaster.clone(), forecaster.with_settings({"training.seed": 2})]
    curve = nd.learning_curve(forecaster.clone(), table, sizes=(0.7, 1.0), folds=1, **NAMES)
    outcomes = (StageOutcome(HOSTILE, "failed", HOSTILE, 1.5, 1), StageOutcome("next", "skipped", "it needs it"))
    pipeline = nd.Pipeline([nd.lifecycle.DataValidation()], data=table, directory=loaded.parent / HOSTILE[1:7], **NAMES)
    registry = nd.Registry(loaded.parent / "registry")
    finding = Finding("rule", HOSTILE, "warning", HOSTILE)
    return {
        "forecaster": forecaster,
        "loaded forecaster": nd.load(loaded),
        "ensemble": nd.Ensemble(members).fit(table, **NAMES),
        "conformal": nd.Conformal(forecaster).calibrate(),
        "statistical": nd.Statistical("naive", horizon=4).fit(table, **NAMES),
        "auto": nd.AutoForecaster(horizon=4, budget=1, jobs=1).fit(table, **NAMES),
        "panel": forecaster.panel,
        "evaluation": nd.evaluate(forecaster),
        "backtest": nd.backtest(forecaster, cutoffs=2),
        "cross-validation": crossed,
        "comparison": nd.compare(crossed),
        "learning curve": curve,
        "diagnosis": Diagnosis((finding,), checked=("rule",), not_checked={HOSTILE: HOSTILE}),
        "pipeline": pipeline,
        "pipeline result": PipelineResult(Path(HOSTILE), outcomes, 2.0),
        "registry": registry,
        "version": registry.register(forecaster, "sales", tags={"by": HOSTILE}),
    }


def is_safe(shown: str) -> bool:
    """Parse HTML as XML, and look for anything that is executed or loaded."""
    page = ElementTree.fromstring(f"<page>{shown}</page>")
    for element in page.iter():
        assert element.tag not in {"script", "style", "link", "iframe", "object", "img"}
        assert not [name for name in element.attrib if name.startswith("on") or name in ("src", "href")]
        style = element.get("style", "")
        assert "url(" not in style
        assert not re.search(r"(?<![-\w])(color|background)", style), "colours are those of the notebook"
    return True


@pytest.mark.parametrize("name", UNFITTED)
def test_an_object_that_is_not_fitted_shows_itself(name: str) -> None:
    shown = UNFITTED[name]()
    assert is_safe(shown._repr_html_())
    assert len(repr(shown).splitlines()) == 1
    assert len(repr(shown)) < LONGEST


def test_every_fitted_object_shows_itself_with_hostile_names_escaped(fitted: dict[str, Any]) -> None:
    for name, shown in fitted.items():
        page = shown._repr_html_()
        assert is_safe(page), name
        assert type(shown).__name__ in page
        assert len(repr(shown).splitlines()) == 1, name
        assert len(repr(shown)) < LONGEST, name
    for name in ("panel", "cross-validation", "comparison", "diagnosis", "pipeline result", "version"):
        assert "&lt;script&gt;" in fitted[name]._repr_html_(), name


def test_every_fitted_model_is_plotted_with_a_short_call(fitted: dict[str, Any]) -> None:
    pytest.importorskip("plotly")
    for name in ("forecaster", "loaded forecaster", "ensemble", "conformal", "statistical", "auto"):
        figure = fitted[name].plot(series="plain")
        assert {"observed", "forecast"} <= {trace.name for trace in figure.data}, name


def test_a_fitted_forecaster_shows_its_validation_error_and_that_of_the_seasonal_naive_forecast(
    fitted: dict[str, Any], table: pl.DataFrame
) -> None:
    from neuro_divergent.forecasting.display import seasonal_naive_error

    forecaster = fitted["forecaster"]
    part = forecaster.split.validation
    error = seasonal_naive_error(part)
    # the same windows, one by one: the value a day ago of each target
    from neuro_divergent.forecasting.validation import validation_windows

    windows, errors = validation_windows(part), []
    panel = windows.panel
    _, rows = windows.locate(np.arange(len(windows)))
    for first in rows + windows.input_size:
        errors += [abs(panel.y[first + step] - panel.y[first + step - 24]) for step in range(4)]
    assert error == pytest.approx(np.mean(errors), rel=1e-6)
    best = forecaster.history.filter(pl.col("step") == forecaster.fitted.trained_on.steps)["validation_mae"][0]
    assert f"MAE {best:.4g}" in forecaster._repr_html_() or f"MAE {best:.3g}" in forecaster._repr_html_()


def test_settings_show_what_differs_from_the_defaults_and_can_be_pasted() -> None:
    config = nd.TrainingConfig(max_steps=5, optimizer=nd.AdamW(lr=0.01))
    assert repr(config) == "TrainingConfig(max_steps=5, optimizer=AdamW(lr=0.01))"
    assert repr(nd.NHITS()) == "NHITS()"
    assert repr(nd.Task(horizon=1, loss="mse")) == "Task(horizon=1, loss=MSE())"
    names = {"TrainingConfig": nd.TrainingConfig, "AdamW": nd.AdamW}
    assert eval(repr(config), names) == config
    page = config._repr_html_()
    assert page.index("max_steps") < page.index("<details>") < page.index("max_epochs")
