"""The module that ``predict`` runs: equal to it for every architecture, and one graph that ``torch.export`` traces."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
import torch
from torch import Tensor

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.data.batcher import WindowBatcher, fit_series_scaler
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.data.scaling.pipeline import ScalingPipeline
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.fitted import build_network
from neuro_divergent.forecasting.forecast_module import ForecastModule
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.predictor import Predictor
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.distribution.normal import Normal
from neuro_divergent.losses.point import MAE
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.models.tft import TFT
from neuro_divergent.training.config import TrainingConfig
from tests.contracts.test_architectures import CASES, example, kind_of, small, task

L, H, SERIES = 12, 4, 3
QUANTILES = (0.1, 0.9)
LOSSES: dict[str, Loss] = {"point": MAE(), "quantile": QuantileLoss([0.1, 0.5, 0.9]), "distribution": Normal()}


def make_panel(*, missing: bool = False, seed: int = 0) -> Panel:
    random = np.random.default_rng(seed)
    values = np.exp(random.normal(size=(SERIES, 40)) / 2 + np.arange(SERIES)[:, None])
    frame = pl.DataFrame(
        {
            "unique_id": np.repeat([f"s{place}" for place in range(SERIES)], 40),
            "ds": np.tile(np.arange(40), SERIES),
            "y": np.where(random.random(values.shape) < 0.2 * missing, np.nan, values).ravel(),
        }
    )
    return build_panel(frame, Schema(missing="mask" if missing else "error"))


def last_rows(panel: Panel, *, joint: bool) -> tuple[Tensor, Tensor | None]:
    """Return the last history of every series in the units of the data, and its mask."""

    def cut(values: np.ndarray) -> Tensor:
        rows = torch.from_numpy(values.astype(np.float32)).view(SERIES, -1)[:, -L:]
        return rows.T[None] if joint else rows[..., None]

    return cut(panel.y), None if panel.mask is None else cut(panel.mask)


def setup(
    name: str, loss: Loss, scaler: str, series_scaler: str | None, *, missing: bool = False
) -> tuple[Predictor, WindowBatcher]:
    """Return an untrained model of an architecture and what makes its batches."""
    panel, joint = make_panel(missing=missing), kind_of(name).traits.mixes_channels
    architecture = small(name)
    spec = TaskSpec(H, L, channels=SERIES if joint else 1, outputs=loss.outputs)
    settings = Task(horizon=H, input_size=L, loss=loss, scaler=scaler, series_scaler=series_scaler)
    torch.manual_seed(0)
    network = build_network(architecture, settings, spec).eval()
    series = None if series_scaler is None else SeriesScaler.from_dict(series_scaler)
    params = None if series is None else fit_series_scaler(series, panel, panel.offsets[1:])
    batcher = WindowBatcher(
        panel, L, H, WindowScaler.from_dict(scaler), series_scaler=series, scaler_params=params, joint=joint
    )
    errors = torch.rand(60, H, generator=torch.Generator().manual_seed(1)).sort(0).values
    return Predictor(network, loss, Intervals(errors)), batcher


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", LOSSES)
def test_forward_on_values_of_the_data_equals_predict(name: str, kind: str) -> None:
    predictor, batcher = setup(name, LOSSES[kind], "standard", None)
    check_equal(predictor, batcher)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", ["nhits", "tsmixer", "deepar"])
@pytest.mark.parametrize(
    ("scaler", "series_scaler"),
    list(itertools.product(WindowScaler.registry.names(), [None, *SeriesScaler.registry.names()])),
)
def test_forward_with_every_scaler_equals_predict(
    name: str, scaler: str, series_scaler: str | None, missing: bool
) -> None:
    for loss in (MAE(), QuantileLoss([0.1, 0.5, 0.9])):
        check_equal(*setup(name, loss, scaler, series_scaler, missing=missing))


def check_equal(predictor: Predictor, batcher: WindowBatcher) -> None:
    values, mask = last_rows(batcher.panel, joint=batcher.joint)
    batch = batcher.context()
    for quantiles in ((), QUANTILES):
        expected, bounds = predictor.values(batcher, batch, quantiles)
        with torch.inference_mode():
            module = predictor.module(batcher, quantiles)
            point, found = module(values, mask, scaler_params=batcher.params_of(batch.series))
        torch.testing.assert_close(point, expected, rtol=1e-6, atol=1e-6)
        assert point.shape == (1, H, SERIES) if batcher.joint else (SERIES, H, 1)
        if not quantiles:
            assert bounds is None
            assert found is None
            continue
        assert bounds is not None
        torch.testing.assert_close(found, bounds, rtol=1e-6, atol=1e-6)
        assert bounds.shape == (*point.shape, len(quantiles))


def test_forward_equals_the_table_of_a_fitted_forecaster() -> None:
    random = np.random.default_rng(0)
    rows, ahead = 60, 3
    frame = pl.DataFrame(
        {
            "unique_id": np.repeat(["a", "b"], rows + ahead),
            "ds": np.tile(np.arange(rows + ahead), 2),
            "y": random.normal(size=2 * (rows + ahead)) * 5 + 40,
            "price": random.normal(size=2 * (rows + ahead)) * 3 + 7,
            "seen": random.normal(size=2 * (rows + ahead)) * 2 - 4,
            "size": np.repeat([3.0, 8.0], rows + ahead),
        }
    )
    known, later = frame.filter(pl.col("ds") < rows), frame.filter(pl.col("ds") >= rows)
    forecaster = Forecaster(
        TFT(hidden_size=8),
        horizon=ahead,
        input_size=10,
        series_scaler="standard",
        training=TrainingConfig(max_steps=5, batch_size=32),
    )
    forecaster.fit(known, past=["seen"], future=["price"], static=["size"])
    table = forecaster.predict(future=later.select("unique_id", "ds", "price"), levels=[80])

    def cut(column: str, data: pl.DataFrame, steps: int) -> Tensor:
        values = data[column].to_numpy().astype(np.float32).reshape(2, -1)[:, -steps:]
        return torch.from_numpy(values.copy())[..., None]

    module = ForecastModule.of(forecaster.fitted, QUANTILES)
    params = torch.from_numpy(np.asarray(forecaster.fitted.batcher(forecaster.fitted.context).scaler_params))
    with torch.inference_mode():
        point, quantiles = module(
            cut("y", known, 10),
            past_x=cut("seen", known, 10),
            future_x=cut("price", frame, 10 + ahead),
            static_x=torch.tensor([[3.0], [8.0]]),
            scaler_params=params.float()[:, None, None],
        )
    torch.testing.assert_close(point.flatten().double(), table["forecast"].to_torch().double(), rtol=1e-5, atol=1e-4)
    assert quantiles is not None
    for place, name in enumerate(("lo-80", "hi-80")):
        expected = table[name].to_torch().double()
        torch.testing.assert_close(quantiles[..., place].flatten().double(), expected, rtol=1e-5, atol=1e-4)


def module_of(name: str, loss: Loss, quantiles: tuple[float, ...]) -> tuple[ForecastModule, TaskSpec]:
    spec = task(name, H, L, channels=SERIES if kind_of(name).traits.mixes_channels else 1, outputs=loss.outputs)
    torch.manual_seed(0)
    network = build_network(small(name), Task(horizon=H, loss=loss), spec).eval()
    return ForecastModule(network, loss, ScalingPipeline(WindowScaler.from_dict("standard")), quantiles=quantiles), spec


def inputs_of(spec: TaskSpec, size: int, *, missing: float) -> tuple[Tensor | None, ...]:
    batch = example(spec, size, missing=missing)
    return batch.past_y * 3 + 10, batch.past_mask, batch.past_x, batch.future_x, batch.static_x, None


def export(module: ForecastModule, inputs: tuple[Tensor | None, ...]) -> torch.export.ExportedProgram:
    size = torch.export.Dim("batch", min=2, max=4096)
    dynamic = tuple(None if item is None else {0: size} for item in inputs)
    return torch.export.export(
        module, inputs, dynamic_shapes=dynamic, strict=False, prefer_deferred_runtime_asserts_over_guards=True
    )


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_exported_graph_forecasts_batches_of_another_size(missing: float) -> None:
    module, spec = module_of("nhits", LOSSES["quantile"], QUANTILES)
    with torch.no_grad():
        exported = export(module, inputs_of(spec, 6, missing=missing)).module()
        for size in (2, 40):
            inputs = inputs_of(spec, size, missing=missing)
            torch.testing.assert_close(exported(*inputs), module(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scaler", WindowScaler.registry.names())
def test_gradients_flow_through_scaling_and_its_inverse(scaler: str) -> None:
    predictor, batcher = setup("nlinear", MAE(), scaler, None)
    module = predictor.module(batcher, QUANTILES).double()
    values = last_rows(batcher.panel, joint=False)[0].double()
    assert torch.autograd.gradcheck(lambda past: module(past)[0], values.requires_grad_(), eps=1e-6, atol=1e-4)
    module.zero_grad()
    module(values)[0].sum().backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in predictor.network.parameters())


def test_quantiles_without_residuals_are_refused() -> None:
    network = small("nlinear").build(TaskSpec(H, L))
    scaling = ScalingPipeline(WindowScaler.from_dict("standard"))
    with pytest.raises(InputError, match="intervals were not measured"):
        ForecastModule(network, MAE(), scaling, quantiles=(0.1,))
    with pytest.raises(InputError, match=r"quantile 0\.2 was not trained"):
        ForecastModule(network, LOSSES["quantile"], scaling, quantiles=(0.2,))


def test_a_module_shares_the_weights_of_the_network_and_adds_none() -> None:
    predictor, batcher = setup("nlinear", MAE(), "standard", None)
    module = predictor.module(batcher, QUANTILES)
    assert list(module.state_dict()) == [f"network.{name}" for name in predictor.network.state_dict()]
    assert predictor.module(batcher, QUANTILES) is module
    assert not module.training
