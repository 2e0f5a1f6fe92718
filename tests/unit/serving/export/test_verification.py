"""The check of an export finds graphs that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import polars as pl
import pytest
from onnx import numpy_helper

import neuro_divergent as nd
from neuro_divergent.core.errors import ExportError
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.export.exporter import Export, exportable
from neuro_divergent.serving.export.relaxed import relaxed
from neuro_divergent.serving.export.sample import Sample
from neuro_divergent.serving.export.torch_runner import TorchRunner
from neuro_divergent.serving.export.verification import TOLERANCE, predicted, verify
from tests.unit.serving.export.small_models import TABLE, forecaster

Models = Callable[[str], nd.Forecaster]
Exports = Callable[[str], Export]


def check(model: Any, run: Any, description: Description) -> float:
    return verify(model, description, run, tolerance=TOLERANCE).largest


def runner(graph: Any) -> Callable[[Mapping[str, Any]], Any]:
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(["forecast"], dict(inputs))[0]


def test_one_weight_that_changed_after_tracing_is_found(models: Models, exports: Exports) -> None:
    graph, description = onnx.load(exports("linear").path), exports("linear").description
    assert check(models("linear"), runner(graph), description) <= TOLERANCE
    weight = max(graph.graph.initializer, key=lambda item: np.prod(item.dims))
    values = numpy_helper.to_array(weight).copy()
    values.flat[0] += 0.01
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    with pytest.raises(ExportError, match="differs from predict"):
        check(models("linear"), runner(graph), description)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda inputs: {**inputs, "past_mask": np.ones_like(inputs["past_mask"])},
        lambda inputs: {**inputs, "series": np.full_like(inputs["series"], -1)},
        lambda inputs: {**inputs, "static_x": inputs["static_x"][:, ::-1].copy()},
        lambda inputs: {**inputs, "future_x": np.roll(inputs["future_x"], 1, axis=1)},
        lambda inputs: {**inputs, "past_x": inputs["past_x"] * 1.01},
    ],
    ids=["mask", "series", "static", "future", "past"],
)
def test_graph_that_ignores_or_mixes_up_an_input_is_found(models: Models, wrong: Any) -> None:
    model = models("covariates")
    module, description = exportable(model)
    right = TorchRunner(module).run
    assert check(model, right, description) <= TOLERANCE
    with pytest.raises(ExportError, match="differs from predict"):
        check(model, lambda inputs: right(wrong(inputs)), description)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda forecast: np.where(np.arange(len(forecast))[:, None, None, None] > 2, forecast[:1], forecast),
        lambda forecast: forecast[..., [0, 2, 1, *range(3, forecast.shape[-1])]],
        lambda forecast: np.full_like(forecast, np.nan),
        lambda forecast: forecast[:, :-1],
    ],
    ids=["batch frozen", "quantiles swapped", "not a number", "steps missing"],
)
def test_output_that_is_wrong_in_some_places_is_found(models: Models, wrong: Any) -> None:
    module, description = exportable(models("linear"))
    right = TorchRunner(module).run
    with pytest.raises(ExportError):
        check(models("linear"), lambda inputs: wrong(right(inputs)), description)


def test_rounding_of_large_values_is_no_difference_and_a_part_of_their_spread_is() -> None:
    model = forecaster().fit(TABLE.with_columns(pl.col("y") + 1e5))
    module, description = exportable(model)
    right = TorchRunner(module).run
    assert check(model, right, description) <= TOLERANCE
    with pytest.raises(ExportError):
        check(model, lambda inputs: right(inputs) + 1, description)


def test_samples_have_series_that_are_known_and_new_and_windows_with_and_without_missing_values(models: Models) -> None:
    model = relaxed(models("covariates"))
    _, description = exportable(model)
    sample = Sample.draw(model.fitted.context, description, 257, missing=(False, True))
    inputs = sample.inputs()
    assert set(inputs["series"].tolist()) == {-1, 0, 1, 2}
    missing = (inputs["past_mask"] == 0).any((1, 2))
    assert missing[1::2].all()
    assert not missing[::2].any()
    assert (inputs["past_mask"].sum((1, 2)) >= 3).all()
    assert np.isfinite(predicted(model, sample)).all()
    again = Sample.draw(model.fitted.context, description, 257, missing=(False, True)).inputs()
    assert all(np.array_equal(inputs[name], again[name]) for name in inputs)


def test_policies_of_the_model_itself_are_not_changed(models: Models) -> None:
    model = models("linear")
    assert relaxed(model).fitted.context.schema.missing == "mask"
    assert model.fitted.context.schema.missing == "error"
