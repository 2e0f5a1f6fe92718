"""Exported graphs, over every architecture, scaler and loss: they equal the module that was traced, for any batch."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ExportError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.data.scaling.pipeline import ScalingPipeline
from neuro_divergent.forecasting.fitted import build_network
from neuro_divergent.forecasting.forecast_module import ForecastModule
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.distribution.student_t import StudentT
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.models.nlinear import NLinear
from neuro_divergent.serving.export.graph import trace_onnx, trace_program
from tests.contracts.test_architectures import CASES, NAMES, example, kind_of, small, task

if TYPE_CHECKING:
    from onnx import ModelProto
    from onnxruntime import InferenceSession


H, L = 3, 8
QUANTILES = (0.1, 0.9)
SIZES = (1, 3, 257)
# Attention that leaves queries out does so from a longer history on, and of two tokens it measures both as 0.
HISTORY = {"informer": 72, "informer with layer norm": 24, "fedformer with wavelets": 4, "timemixer on waves": 4}
FAST = ("nlinear", "nhits")
# Settings with operators of their own; the other variants differ in what is traced already.
VARIANTS = (
    "autoregressive gru",
    "autoregressive rnn",
    "dilated_rnn of one group",
    "fedformer with wavelets",
    "informer with layer norm",
    "nhits with batch norm",
    "timemixer on waves",
    "xlstm with scalar memory",
)
EXPORTED = [name for name in (*NAMES, *VARIANTS) if not kind_of(name).traits.not_exported]


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    if name in FAST:
        return []
    return [pytest.mark.long, *([pytest.mark.soak] if name in VARIANTS else [])]


class OneOutput(nn.Module):
    """Point and quantiles of a forecast in one tensor, for inputs given by name."""

    def __init__(self, module: ForecastModule) -> None:
        super().__init__()
        self.module = module
        self.eval()

    def forward(
        self,
        past_y: Tensor,
        past_mask: Tensor,
        past_x: Tensor | None = None,
        future_x: Tensor | None = None,
        static_x: Tensor | None = None,
        scaler_params: Tensor | None = None,
    ) -> Tensor:
        point, quantiles = self.module(past_y, past_mask, past_x, future_x, static_x, scaler_params)
        forecast = point.unsqueeze(-1)
        return forecast if quantiles is None else torch.cat([forecast, quantiles], -1)


def module_of(name: str) -> tuple[OneOutput, TaskSpec]:
    """Return a small untrained model with all covariates that the architecture uses, and its task."""
    loss = QuantileLoss([0.1, 0.5, 0.9])
    channels = 3 if kind_of(name).traits.mixes_channels else 1
    spec = task(name, H, HISTORY.get(name, L), channels=channels, outputs=loss.outputs)
    torch.manual_seed(0)
    network = build_network(small(name), Task(horizon=H, loss=loss), spec)
    network(example(spec, 32))  # so that running statistics are not those that leave everything as it is
    scaling = ScalingPipeline(WindowScaler.from_dict("standard"))
    return OneOutput(ForecastModule(network.eval(), loss, scaling, quantiles=QUANTILES)), spec


def inputs_of(spec: TaskSpec, size: int, *, missing: float = 0.3) -> dict[str, Tensor]:
    batch = example(spec, size, missing=missing, seed=size)
    mask = torch.ones_like(batch.past_y) if batch.past_mask is None else batch.past_mask
    values = {"past_y": (batch.past_y * 3 + 10) * mask, "past_mask": mask}
    covariates = {key: getattr(batch, key) for key in ("past_x", "future_x", "static_x")}
    return values | {key: value for key, value in covariates.items() if value is not None}


def session_of(model: ModelProto) -> InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(session: InferenceSession, inputs: dict[str, Tensor]) -> Tensor:
    (output,) = session.run(None, {key: value.numpy() for key, value in inputs.items()})
    return torch.from_numpy(output)


@functools.cache
def traced(name: str) -> tuple[OneOutput, TaskSpec, ModelProto]:
    module, spec = module_of(name)
    return module, spec, trace_onnx(module, inputs_of(spec, 5))


def check_equals_eager(name: str) -> None:
    module, spec, model = traced(name)
    session = session_of(model)
    for size in SIZES:
        for missing in (0.0, 0.3):
            inputs = inputs_of(spec, size, missing=missing)
            with torch.no_grad():
                expected = module(**inputs)
            found = run(session, inputs)
            assert found.shape == (size, H, spec.channels, 1 + len(QUANTILES))
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-4 * inputs["past_y"].std().item())


def check_batch_is_symbolic(model: ModelProto) -> None:
    values = [*model.graph.input, *model.graph.output]
    assert {value.type.tensor_type.shape.dim[0].dim_param for value in values} == {"batch"}
    assert [value.name for value in model.graph.output] == ["forecast"]
    assert {opset.domain: opset.version for opset in model.opset_import}[""] >= 20
    assert not any(item.external_data for item in model.graph.initializer)
    assert b".py" not in model.SerializeToString()  # no line of source code, which would tell where it was exported


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in EXPORTED])
def test_graph_equals_the_module_for_any_batch_with_masks_and_covariates(name: str) -> None:
    check_equals_eager(name)
    check_batch_is_symbolic(traced(name)[2])


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if name not in EXPORTED])
def test_architecture_that_declares_why_it_is_not_exported_cannot_be(name: str) -> None:
    module, spec = module_of(name)
    with pytest.raises(ExportError, match="OneOutput cannot be exported"):
        trace_onnx(module, inputs_of(spec, 5))


def test_at_least_32_architectures_are_exported() -> None:
    assert sum(name in EXPORTED for name in NAMES) >= 32
    assert set(VARIANTS) <= set(CASES)


def test_export_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    traced.__wrapped__("nlinear")
    module, spec = module_of("timesnet")
    with pytest.raises(ExportError):
        trace_onnx(module, inputs_of(spec, 5))
    assert capfd.readouterr() == ("", "")


class FixedBatch(nn.Module):
    def forward(self, past_y: Tensor) -> Tensor:
        return past_y.reshape(int(past_y.shape[0]), -1) + torch.arange(len(past_y.tolist()))[:, None]


class TooLong(nn.Module):
    def forward(self, past_y: Tensor) -> Tensor:
        return past_y[: int(past_y.sum())]


@pytest.mark.parametrize("module", [FixedBatch(), TooLong()])
def test_module_that_depends_on_values_or_one_size_of_the_batch_is_refused_with_the_reason(module: nn.Module) -> None:
    with pytest.raises(ExportError, match=f"{type(module).__name__} cannot be exported.*: .{{10,}}"):
        trace_onnx(module.eval(), {"past_y": torch.randn(4, 6)})


def test_example_without_missing_values_or_of_one_row_is_refused() -> None:
    module, spec = module_of("nlinear")
    with pytest.raises(AssertionError, match="missing values"):
        trace_onnx(module, inputs_of(spec, 5, missing=0.0))
    with pytest.raises(AssertionError, match="at least 2 rows"):
        trace_onnx(module, inputs_of(spec, 1))
    inputs = inputs_of(spec, 5)
    with pytest.raises(AssertionError, match="dense"):
        trace_onnx(module, inputs | {"past_mask": torch.zeros(1, 1, 1).expand(5, L, 1)})


@pytest.mark.parametrize("name", ["nlinear", pytest.param("dilated_rnn", marks=pytest.mark.long)])
def test_torch_program_equals_the_module(name: str) -> None:
    module, spec = module_of(name)
    program = trace_program(module, inputs_of(spec, 5)).module()
    for size in SIZES[1:]:
        inputs = inputs_of(spec, size)
        with torch.no_grad():
            torch.testing.assert_close(program(**inputs), module(**inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["nhits", pytest.param("patchtst", marks=pytest.mark.long)])
def test_traced_file_can_be_quantized_to_8_bits(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    module, spec, model = traced(name)
    folder = tmp_path_factory.mktemp("quantized")
    plain = onnx.ModelProto.FromString(model.SerializeToString())
    del plain.graph.value_info[:]
    onnx.save(plain, folder / "plain.onnx")
    quantize_dynamic(folder / "plain.onnx", folder / "int8.onnx", per_channel=True)
    session = session_of(onnx.load(folder / "int8.onnx"))
    inputs = inputs_of(spec, 7)
    with torch.no_grad():
        expected = module(**inputs)
    torch.testing.assert_close(run(session, inputs), expected, rtol=0, atol=0.3 * inputs["past_y"].std().item())


def scaled_module(loss: Loss, window: str, series: str | None, quantiles: tuple[float, ...]) -> OneOutput:
    torch.manual_seed(0)
    scaling = ScalingPipeline(
        WindowScaler.from_dict(window), None if series is None else SeriesScaler.from_dict(series)
    )
    network = build_network(NLinear(), Task(horizon=H, loss=loss, scaler=window), TaskSpec(H, L, outputs=loss.outputs))
    with torch.no_grad():
        for weight in network.parameters():  # so that no parameter of a distribution is the same for all windows
            weight += 0.2 * torch.randn_like(weight)
    intervals = Intervals(torch.rand(60, H).sort(0).values)
    return OneOutput(ForecastModule(network.eval(), loss, scaling, quantiles=quantiles, intervals=intervals))


@pytest.mark.long
@pytest.mark.parametrize(
    ("window", "series"),
    [
        *((window, None) for window in WindowScaler.registry.names()),
        *(("standard", series) for series in SeriesScaler.registry.names()),
        ("revin", "standard"),
        ("identity", "boxcox"),
    ],
)
def test_graph_with_every_scaler_equals_the_module(window: str, series: str | None) -> None:
    module = scaled_module(QuantileLoss([0.1, 0.5, 0.9]), window, series, QUANTILES)

    def inputs(size: int) -> dict[str, Tensor]:
        made = inputs_of(TaskSpec(H, L), size)
        made["past_mask"][0] = 0  # a history without any value
        made["past_y"] = made["past_y"] * made["past_mask"]
        if series is None:
            return made
        parameters = {"log": [], "boxcox": [0.5]}.get(series, [2.0, 3.0])
        return made | {"scaler_params": torch.tensor(parameters).expand(size, 1, 1, -1).contiguous()}

    session = session_of(trace_onnx(module, inputs(5)))
    names = {item.name for item in session.get_inputs()}
    for size in SIZES:
        given = inputs(size)
        with torch.no_grad():
            expected = module(**given)
        found = run(session, {key: value for key, value in given.items() if key in names})
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=3e-4)


def values_for(name: str, size: int) -> dict[str, Tensor]:
    """Return histories that a loss accepts: proportions, zeros and ones, or counts."""
    random = torch.Generator().manual_seed(size)
    values = torch.rand(size, L, 1, generator=random)
    if name == "bernoulli":
        values = values.round()
    elif name != "beta":
        level = 30 ** torch.rand(size, 1, 1, generator=random)
        values = torch.poisson(values * level, generator=random)
    mask = (torch.rand(values.shape, generator=random) > 0.2).float()
    return {"past_y": values * mask, "past_mask": mask}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "normal" else pytest.mark.long)
        for name in Loss.registry.names()
        if Loss.registry.get(name)().traits.accepts_scaled
    ],
)
def test_quantiles_of_every_loss_are_exported_unless_it_says_why_not(name: str) -> None:
    loss = Loss.registry.get(name)()
    quantiles = loss.quantile_levels if loss.quantile_levels and not loss.traits.any_level else (0.02, 0.5, 0.9)
    assert not loss.not_exported(())
    if loss.not_exported(quantiles):
        module = scaled_module(loss, "standard", None, quantiles)
        with pytest.raises(ExportError, match=f"quantiles of the loss {name} cannot be exported"):
            trace_onnx(module, values_for(name, 5))
        with pytest.raises(Exception), torch.no_grad():  # noqa: B017, PT011 - so that no obsolete reason stays
            torch.export.export(module, (), values_for(name, 5), strict=False)
        quantiles = ()
    module = scaled_module(loss, "standard", None, quantiles)
    session = session_of(trace_onnx(module, values_for(name, 5)))
    for size in SIZES:
        inputs = values_for(name, size)
        with torch.no_grad():
            expected = module(**inputs)
        spread = expected[..., 0].abs().amax((1, 2)).clamp_min(1)[:, None, None, None]
        torch.testing.assert_close(run(session, inputs) / spread, expected / spread, rtol=0, atol=1e-4)


def test_loss_whose_point_is_a_quantile_that_is_not_exported_says_why() -> None:
    assert not StudentT(point="median").not_exported()
    beta = Loss.registry.get("beta")
    assert not beta().not_exported()
    assert "beta" in beta(point="median").not_exported()
    assert beta().not_exported((0.1,)) == beta.traits.quantiles_not_exported


def test_quantiles_in_graphs_equal_those_of_scipy() -> None:
    from scipy import stats

    from neuro_divergent.losses.distribution.distributions import traced as formulas

    random = np.random.default_rng(0)
    mean, dispersion = (torch.from_numpy(10 ** random.uniform(low, 4 + low, 500)) for low in (-1, -3))
    probability = torch.from_numpy(random.uniform(0.001, 0.999, 500))
    found = formulas.smallest_integer(lambda value: formulas.poisson_cdf(value, mean), probability, mean, mean)
    assert np.array_equal(found, stats.poisson.ppf(probability, mean))
    found = formulas.smallest_integer(
        lambda value: formulas.negative_binomial_cdf(value, 1 / dispersion, mean),
        probability,
        mean,
        mean + dispersion * mean**2,
    )
    assert np.array_equal(found, stats.nbinom.ppf(probability, 1 / dispersion, 1 / (1 + mean * dispersion)))
    df = 2.001 + mean
    expected = stats.t.ppf(probability, df)
    np.testing.assert_allclose(formulas.student_t_quantile(df, probability), expected, rtol=2e-6, atol=1e-9)
