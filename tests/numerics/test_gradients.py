"""Every gradient against central differences, to 1e-4 relative in float64."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import neuro_divergent.layers
from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.layers.activation import ACTIVATIONS, Activation, make_activation
from neuro_divergent.layers.attention import Attention, AutoCorrelation, DotProduct, ProbSparse
from neuro_divergent.layers.basis import harmonic_basis, interpolation_basis, polynomial_basis
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.convolution import (
    DepthwiseConvolution,
    DilatedConvolution,
    ResidualConvolution,
    SkipConvolution,
)
from neuro_divergent.layers.covariates import CovariateEncoder, Covariates, embedding_width
from neuro_divergent.layers.decoder import Decoder, DecoderLayer, DecompositionDecoder, DecompositionLayer
from neuro_divergent.layers.decomposition import Decomposition, SeasonalNorm, Waves, moving_average_matrix
from neuro_divergent.layers.doubly_residual import DoublyResidualStack, Expansion, ResidualBlock
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.embedding import (
    CircularConvolution,
    PositionalEmbedding,
    SequenceEmbedding,
    ValueEmbedding,
)
from neuro_divergent.layers.encoder import Encoder, EncoderLayer
from neuro_divergent.layers.gating import GatedLinearUnit, GatedResidual, GatedSkip
from neuro_divergent.layers.kan import JacobiKAN, SplineKAN, TaylorKAN, Wavelet, WaveletKAN
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mixing import FeatureMixing, TimeMixing, WindowBatchNorm
from neuro_divergent.layers.mlp import linear_pair, multilayer_perceptron
from neuro_divergent.layers.normalization import BatchNorm
from neuro_divergent.layers.recurrent import DilatedRecurrence, matrix_memory, scalar_memory
from neuro_divergent.layers.reversible import GainAndShift, RevIN
from neuro_divergent.layers.selection import VariableSelection, VariableVectors
from neuro_divergent.layers.sequence import OverTime
from neuro_divergent.layers.spectral import FourierAttention, FourierMixing, FrequencyBlock, ModeWeights
from neuro_divergent.layers.stochastic_depth import StochasticDepth
from neuro_divergent.layers.wavelet import Multiwavelet, WaveletAttention, WaveletMixing
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.classification import BinaryCrossEntropy, CrossEntropy
from neuro_divergent.losses.point import Huber
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.gradients.check import check_gradients
from tests.language_models import needed_by

TOLERANCE = 1e-4


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def positive(*shape: int, seed: int = 0) -> Tensor:
    return normal(*shape, seed=seed).abs() + 0.5


class Operation(nn.Module):
    """A function or layer whose inputs are parameters, so that they are differentiated by too."""

    def __init__(self, function: Callable[..., Any], *inputs: Tensor) -> None:
        super().__init__()
        self.function = function
        self.inputs = nn.ParameterList(inputs)

    def forward(self, _: Tensor) -> Tensor:
        result = self.function(*self.inputs)
        result = result[0] if isinstance(result, tuple) else result
        return torch.view_as_real(result) if result.is_complex() else result


def weighed(output: Tensor, _: Tensor) -> Tensor:
    """Add outputs up with random weights: plain sums of a softmax or a normalisation never change."""
    return (output * normal(*output.shape, seed=99).to(output.dtype)).sum()


def assert_right(module: nn.Module, **options: Any) -> None:
    check = check_gradients(module, (torch.zeros(1), torch.zeros(1)), weighed, tolerance=TOLERANCE, **options)
    assert check.passed, check
    assert any(row.autodiff for row in check.parameters), "nothing depends on anything"


class Around(Operation):
    """A function of inputs and a layer; the parameters of the layer are differentiated by as well."""

    def __init__(self, layer: nn.Module, function: Callable[..., Any], *inputs: Tensor) -> None:
        super().__init__(function, *inputs)
        self.layer = layer

    def forward(self, _: Tensor) -> Tensor:
        result: Tensor = self.function(self.layer, *self.inputs)
        return result


OPERATIONS: dict[str, Operation] = {
    "matmul": Operation(torch.matmul, normal(2, 3, 4), normal(4, 5)),
    "bmm": Operation(torch.bmm, normal(2, 3, 4), normal(2, 4, 5)),
    "mv": Operation(torch.mv, normal(3, 4), normal(4)),
    "addmm": Operation(torch.addmm, normal(3, 5), normal(3, 4), normal(4, 5)),
    "baddbmm": Operation(torch.baddbmm, normal(2, 3, 5), normal(2, 3, 4), normal(2, 4, 5)),
    "outer": Operation(torch.outer, normal(3), normal(4)),
    "kron": Operation(torch.kron, normal(2, 2), normal(2, 3)),
    "einsum": Operation(lambda a, b: torch.einsum("blc,lh->bhc", a, b), normal(2, 3, 4), normal(3, 5)),
    "linear": Operation(functional.linear, normal(3, 4), normal(5, 4), normal(5)),
    "bilinear": Operation(functional.bilinear, normal(3, 2), normal(3, 4), normal(2, 2, 4), normal(2)),
    "inverse": Operation(torch.linalg.inv, normal(3, 3) + 3 * torch.eye(3)),
    "solve": Operation(torch.linalg.solve, normal(3, 3) + 3 * torch.eye(3), normal(3, 2)),
    "determinant": Operation(torch.linalg.det, normal(3, 3)),
    "cholesky": Operation(lambda a: torch.linalg.cholesky(a @ a.T + torch.eye(3)), normal(3, 3)),
    "matrix_exp": Operation(torch.linalg.matrix_exp, normal(3, 3)),
    "norm": Operation(lambda a: torch.linalg.vector_norm(a, dim=1), normal(3, 4)),
    "cdist": Operation(torch.cdist, normal(3, 2), normal(4, 2, seed=1)),
    "cosine_similarity": Operation(functional.cosine_similarity, normal(3, 4), normal(3, 4, seed=1)),
    "conv1d": Operation(lambda *x: functional.conv1d(*x, padding=2, dilation=2), normal(2, 3, 7), normal(4, 3, 3)),
    "conv_transpose1d": Operation(
        lambda *x: functional.conv_transpose1d(*x, stride=2), normal(2, 3, 4), normal(3, 2, 3)
    ),
    "conv2d": Operation(functional.conv2d, normal(1, 2, 4, 4), normal(3, 2, 2, 2), normal(3)),
    "max_pool1d": Operation(lambda x: functional.max_pool1d(x, 2, 2, ceil_mode=True), normal(2, 3, 7)),
    "avg_pool1d": Operation(lambda x: functional.avg_pool1d(x, 3, 2, ceil_mode=True), normal(2, 3, 7)),
    "adaptive_avg_pool1d": Operation(lambda x: functional.adaptive_avg_pool1d(x, 3), normal(2, 3, 7)),
    "interpolate_linear": Operation(lambda x: functional.interpolate(x, 7, mode="linear"), normal(2, 2, 3)),
    "interpolate_nearest": Operation(lambda x: functional.interpolate(x, 7, mode="nearest"), normal(2, 2, 3)),
    "interpolate_bicubic": Operation(lambda x: functional.interpolate(x, (3, 7), mode="bicubic"), normal(1, 1, 3, 3)),
    "softmax": Operation(lambda x: x.softmax(-1), normal(3, 4)),
    "log_softmax": Operation(lambda x: x.log_softmax(-1), normal(3, 4)),
    "logsumexp": Operation(lambda x: x.logsumexp(-1), normal(3, 4)),
    "layer_norm": Operation(lambda x, *a: functional.layer_norm(x, (4,), *a), normal(3, 4), normal(4), normal(4)),
    "rms_norm": Operation(lambda x, a: functional.rms_norm(x, (4,), a), normal(3, 4), normal(4)),
    "group_norm": Operation(lambda x, *a: functional.group_norm(x, 2, *a), normal(2, 4, 3), normal(4), normal(4)),
    "instance_norm": Operation(functional.instance_norm, normal(2, 3, 5)),
    "batch_norm": Operation(
        lambda x, *a: functional.batch_norm(x, None, None, *a, training=True), normal(6, 3), normal(3), normal(3)
    ),
    "batch_norm_in_eval": Operation(
        lambda x, *a: functional.batch_norm(x, torch.ones(3).double(), torch.ones(3).double(), *a),
        normal(6, 3),
        normal(3),
        normal(3),
    ),
    "attention": Operation(
        functional.scaled_dot_product_attention, normal(1, 2, 3, 4), normal(1, 2, 5, 4), normal(1, 2, 5, 4, seed=1)
    ),
    "causal_attention": Operation(
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        normal(1, 2, 4, 4),
        normal(1, 2, 4, 4, seed=1),
        normal(1, 2, 4, 4, seed=2),
    ),
    "dropout": Operation(lambda x: functional.dropout(x, 0.5), normal(4, 5)),
    "embedding": Operation(lambda table: functional.embedding(torch.tensor([1, 3, 1]), table), normal(4, 3)),
    "rnn": Operation(nn.RNN(3, 4, 2), normal(5, 2, 3)),
    "lstm": Operation(nn.LSTM(3, 4, 2, bidirectional=True), normal(5, 2, 3)),
    "gru": Operation(nn.GRU(3, 4, 2, dropout=0.3), normal(5, 2, 3)),
    "rnn_cell": Operation(nn.RNNCell(3, 4), normal(2, 3), normal(2, 4)),
    "lstm_cell": Operation(nn.LSTMCell(3, 4), normal(2, 3)),
    "gru_cell": Operation(nn.GRUCell(3, 4), normal(2, 3), normal(2, 4)),
    "rfft": Operation(torch.fft.rfft, normal(2, 6)),
    "irfft_of_rfft": Operation(lambda x, w: torch.fft.irfft(torch.fft.rfft(x) * w, n=6), normal(2, 6), normal(4)),
    "cumsum": Operation(lambda x: x.cumsum(1), normal(2, 5)),
    "cumprod": Operation(lambda x: x.cumprod(1), normal(2, 5)),
    "prod": Operation(lambda x: x.prod(1), normal(2, 5)),
    "mean": Operation(lambda x: x.mean(1), normal(2, 5)),
    "var": Operation(lambda x: x.var(1, correction=0), normal(2, 5)),
    "std": Operation(lambda x: x.std(1), normal(2, 5)),
    "max": Operation(lambda x: x.max(1).values, normal(2, 5)),
    "median": Operation(lambda x: x.median(1).values, normal(2, 5)),
    "sort": Operation(lambda x: x.sort(1).values, normal(2, 5)),
    "topk": Operation(lambda x: x.topk(2, 1).values, normal(2, 5)),
    "quantile": Operation(lambda x: x.quantile(0.3, 1), normal(2, 5)),
    "divide": Operation(torch.div, normal(3, 4), positive(4)),
    "power": Operation(torch.pow, positive(3), normal(3)),
    "exp": Operation(torch.exp, normal(5)),
    "log": Operation(torch.log, positive(5)),
    "sqrt": Operation(torch.sqrt, positive(5)),
    "abs": Operation(torch.abs, normal(5)),
    "sin_cos": Operation(lambda x: x.sin() * x.cos(), normal(5)),
    "erf": Operation(torch.erf, normal(5)),
    "lgamma": Operation(torch.lgamma, positive(5)),
    "clamp": Operation(lambda x: x.clamp(-0.5, 0.5), normal(5)),
    "where": Operation(lambda x, y: torch.where(x > 0, x * y, y.exp()), normal(5), normal(5, seed=1)),
    "lerp": Operation(torch.lerp, normal(5), normal(5, seed=1), normal(5, seed=2)),
    "gather": Operation(lambda x: x.gather(1, torch.tensor([[0, 2, 2], [1, 0, 0]])), normal(2, 3)),
    "index_select": Operation(lambda x: x.index_select(1, torch.tensor([0, 2, 2])), normal(2, 3)),
    "scatter_add": Operation(
        lambda x, y: x.scatter_add(1, torch.tensor([[0, 2, 2], [1, 0, 0]]), y), normal(2, 3), normal(2, 3, seed=1)
    ),
    "cat_and_stack": Operation(lambda x, y: torch.stack([torch.cat([x, y]), torch.cat([y, x])]), normal(3), normal(2)),
    "pad": Operation(lambda x: functional.pad(x, (2, 1), mode="replicate"), normal(1, 2, 3)),
    "unfold": Operation(lambda x: x.unfold(1, 3, 2), normal(2, 7)),
    "flip_and_roll": Operation(lambda x: x.flip(1) * x.roll(1, 1), normal(2, 5)),
    "tril": Operation(torch.tril, normal(3, 3)),
    "repeat_interleave": Operation(lambda x: x.repeat_interleave(3, 0), normal(2, 3)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradient_of_an_operation(name: str) -> None:
    operation = OPERATIONS[name]
    torch.manual_seed(0)
    if isinstance(operation.function, (nn.RNNBase, nn.RNNCellBase)):
        operation.function.reset_parameters()
    assert_right(operation)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("training", [True, False])
def test_gradient_of_an_activation(name: Activation, training: bool) -> None:
    torch.manual_seed(0)
    twice = Around(make_activation(name), lambda layer, values: layer(values * 2), normal(4, 12))
    assert_right(twice.train(training))
    assert_right(Operation(multilayer_perceptron((3, 4, 2), name, 0.2), normal(5, 3)).train(training))


LOSSES: dict[str, Loss] = {
    **{name: Loss.from_dict(name) for name in Loss.registry.names()},
    "huber, narrow": Huber(delta=0.3),
    "quantiles, uneven": QuantileLoss([0.02, 0.3]),
    "classes, smooth": CrossEntropy(classes=4, label_smoothing=0.1, weights=(1.0, 2.0, 0.5, 1.0)),
    "two classes, smooth": BinaryCrossEntropy(label_smoothing=0.1, positive_weight=3.0),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_gradient_of_a_loss(name: str, spread: float) -> None:
    loss = LOSSES[name]
    shape = (4, 3, 2)
    classes = torch.randint(max(loss.outputs, 2), shape, generator=torch.Generator().manual_seed(0))
    is_continuous = loss.traits.accepts_scaled and name != "bernoulli"
    target = positive(*shape, seed=1) if is_continuous else classes.clamp_max(3).double()
    if name == "bernoulli":
        target = (target > 0).double()
    if name == "beta":
        target = target / (1 + target)
    history = positive(4, 6, 2, seed=2)
    raw = nn.Parameter(spread * normal(*shape, loss.outputs, seed=3) + (1.0 if loss.traits.accepts_scaled else 0.0))

    class Answer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.raw = raw

        def forward(self, _: Batch) -> Tensor:
            return self.raw

    batch = Batch(history, torch.ones_like(history), future_y=target)
    for given in (
        batch,
        batch._replace(future_mask=(normal(*shape, seed=4) > -0.5).double(), weight=positive(*shape, seed=5)),
    ):
        check = check_gradients(Answer(), given, loss, tolerance=TOLERANCE)
        assert check.passed, check


class Blocks(nn.Module):
    """A stack on histories, with context and a mask."""

    def __init__(self, activation: Activation) -> None:
        super().__init__()
        expansions = [Expansion(6, 3, 2), Expansion(polynomial_basis(6, 1), polynomial_basis(3, 1), 2)]
        expansions += [Expansion(harmonic_basis(6, 3, 1), interpolation_basis(2, 3, "linear"), 2)]
        sizes: dict[str, Any] = {"hidden_size": 3, "num_layers": 2, "activation": activation, "dropout": 0.2}
        blocks = [ResidualBlock(6, expansion, **sizes) for expansion in expansions]
        self.stack = DoublyResidualStack(blocks, [2, 1, 1])

    def forward(self, history: Tensor) -> Tensor:
        mask = (normal(len(history), 6, seed=7) > -1).to(history.dtype)
        output: Tensor = self.stack(history * mask, mask)
        return output


class Pair(nn.Module):
    """Two linear layers whose weights are multiplied first when there are many rows."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, values: Tensor) -> Tensor:
        return linear_pair(values, self.first, self.second)


SPEC = TaskSpec(
    horizon=2,
    input_size=3,
    channels=2,
    past=(Feature("a"), Feature("b", cardinality=4)),
    future=(Feature("c"),),
    static=(Feature("d", cardinality=3), Feature("e")),
)


def encode(covariates: Covariates, past: Tensor, future: Tensor, static: Tensor) -> Tensor:
    """Encode numeric columns beside codes that are fixed."""
    code = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    encoded = covariates(torch.cat([past, code[:, None].expand(2, 3, 1)], 2), future, torch.cat([code, static], 1))
    return torch.cat([item.flatten() for item in encoded if item is not None])


def encode_one(encoder: CovariateEncoder, values: Tensor) -> Tensor | None:
    encoded: Tensor | None = encoder(torch.cat([values, torch.tensor([[1.0], [3.0], [1.0]]).double()], 1))
    return encoded


def through(revin: RevIN, values: Tensor, mask: Tensor | None) -> Tensor:
    """Return what comes back of the sine of normalised values."""
    inside, measured = revin(values if mask is None else values * mask, mask)
    return revin.restore(inside.sin()[..., None], measured)


def make_transformer_layers() -> dict[str, tuple[tuple[type, ...], Callable[[], nn.Module]]]:
    """Return the cases of attention, of the stacks around it and of what works on frequencies."""
    sizes: dict[str, Any] = {"feedforward_size": 3, "activation": "GELU", "dropout": 0.2}

    def heads(queries: int = 6, keys: int = 6) -> tuple[Tensor, ...]:
        return normal(2, 2, queries, 3), normal(2, 2, keys, 3, seed=1), normal(2, 2, keys, 3, seed=2)

    def pair() -> dict[str, nn.Module]:
        return {"self_attention": Attention(4, 2), "cross_attention": Attention(4, 2)}

    def decomposing() -> DecompositionLayer:
        return DecompositionLayer(4, 2, decomposition=Decomposition(3, 3), **pair(), **sizes)

    def every(parts: tuple[Tensor, Tensor]) -> Tensor:
        return torch.cat([part.flatten() for part in parts])

    low = torch.arange(3)
    return {
        "attention": ((Attention,), lambda: Operation(Attention(4, 2), normal(2, 3, 4))),
        "attention with dropout": ((DotProduct,), lambda: Operation(Attention(4, 2, 0.3), normal(2, 3, 4))),
        "attention to others": (
            (),
            lambda: Operation(Attention(4, 2), normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4)),
        ),
        "sparse attention": ((ProbSparse,), lambda: Operation(ProbSparse(1), *heads())),
        "sparse attention, causal": ((), lambda: Operation(ProbSparse(1, causal=True), *heads())),
        "auto-correlation": ((AutoCorrelation,), lambda: Operation(AutoCorrelation(2), *heads(7, 5))),
        "stack of encoders": (
            (Encoder,),
            lambda: Operation(
                Encoder([EncoderLayer(4, **sizes) for _ in range(2)], nn.LayerNorm(4), [nn.Tanh()]), normal(2, 3, 4)
            ),
        ),
        "stack of decoders": (
            (Decoder, DecoderLayer),
            lambda: Operation(
                Decoder([DecoderLayer(4, **pair(), **sizes)], nn.LayerNorm(4)), normal(2, 3, 4), normal(2, 5, 4)
            ),
        ),
        "decoder that decomposes": (
            (DecompositionDecoder, DecompositionLayer, Decomposition, SeasonalNorm),
            lambda: Around(
                DecompositionDecoder([decomposing(), decomposing()], SeasonalNorm(4)),
                lambda decoder, tokens, encoded: every(decoder(tokens, encoded)),
                normal(2, 3, 4),
                normal(2, 5, 4),
            ),
        ),
        "circular convolution": ((CircularConvolution,), lambda: Operation(CircularConvolution(2, 4), normal(3, 5, 2))),
        "circular convolution, few outputs": ((), lambda: Operation(CircularConvolution(4, 2), normal(3, 5, 4))),
        "linear embedding": ((ValueEmbedding,), lambda: Operation(ValueEmbedding(2, 4, "linear"), normal(3, 5, 2))),
        "learned positions": (
            (PositionalEmbedding,),
            lambda: Operation(PositionalEmbedding(6, 4, "learned"), normal(3, 5, 4)),
        ),
        "sequence embedding": (
            (SequenceEmbedding,),
            lambda: Operation(SequenceEmbedding(1, 2, 4, steps=5, dropout=0.2), normal(3, 5, 1), normal(3, 5, 2)),
        ),
        "Fourier block": (
            (FrequencyBlock, FourierMixing, ModeWeights),
            lambda: Operation(FrequencyBlock(4, 2, FourierMixing(2, 2, torch.tensor([0, 2, 3]))), normal(3, 7, 4)),
        ),
        "Fourier attention, tanh": (
            (FourierAttention,),
            lambda: Operation(
                lambda *given: 1e3 * FourierAttention(2, 3, low, low, "tanh").double()(*given), *heads(7)
            ),
        ),
        "Fourier attention, softmax": ((), lambda: Operation(FourierAttention(2, 3, low, low, "softmax"), *heads(7))),
        "wavelet block": (
            (WaveletMixing, Multiwavelet),
            lambda: Operation(FrequencyBlock(6, 2, WaveletMixing(2, 3, 7, 2)), normal(3, 7, 6)),
        ),
        "wavelet attention": ((WaveletAttention,), lambda: Operation(WaveletAttention(3, 2, "softmax"), *heads(7, 5))),
    }


def make_sequence_layers() -> dict[str, tuple[tuple[type, ...], Callable[[], nn.Module]]]:
    """Return the cases of what walks along time: convolutions, cells, gates and mixing."""
    mixing: dict[str, Any] = {"dropout": 0.2, "norm": "batch", "norm_place": "before"}

    def both(parts: tuple[Tensor, Tensor]) -> Tensor:
        return torch.cat(parts)

    return {
        "dilated convolution": (
            (DilatedConvolution,),
            lambda: Operation(DilatedConvolution(2, 3, 3, dilation=2), normal(6, 2, 2)),
        ),
        "dilated convolution, ahead and longer than the series": (
            (),
            lambda: Operation(DilatedConvolution(2, 3, 3, dilation=4, ahead=True), normal(6, 2, 2)),
        ),
        "depthwise convolution": (
            (DepthwiseConvolution,),
            lambda: Operation(DepthwiseConvolution(3, 4), normal(6, 2, 3)),
        ),
        "residual convolution": (
            (ResidualConvolution,),
            lambda: Operation(ResidualConvolution(2, 3, 2, 2, "Tanh", 0.2), normal(6, 2, 2)),
        ),
        "skip convolution": (
            (SkipConvolution,),
            lambda: Around(
                SkipConvolution(3, 2, 2, 0.2, ahead=False), lambda layer, values: both(layer(values)), normal(6, 2, 3)
            ),
        ),
        "dilated recurrence": (
            (DilatedRecurrence,),
            lambda: Operation(DilatedRecurrence("lstm", 2, 3, dilation=4), normal(6, 2, 2)),
        ),
        "matrix memory": (
            (),
            lambda: Operation(
                matrix_memory, *(normal(2, 2, 4, 3, seed=seed) for seed in range(3)), normal(2, 2, 4), normal(2, 2, 4)
            ),
        ),
        "scalar memory": ((), lambda: Operation(scalar_memory, normal(4, 2, 2, 12), normal(2, 3, 12, seed=1))),
        "along time": ((OverTime,), lambda: Operation(OverTime(4, 6), normal(4, 2, 3))),
        "gated linear": ((GatedLinearUnit,), lambda: Operation(GatedLinearUnit(3, 4), normal(5, 3))),
        "gated skip": ((GatedSkip,), lambda: Operation(GatedSkip(4), normal(5, 4), normal(5, 4, seed=1))),
        "gated residual": (
            (GatedResidual,),
            lambda: Operation(GatedResidual(3, 4, 2, context_size=2, dropout=0.2), normal(5, 6, 3), normal(5, 2)),
        ),
        "mixing over time": (
            (TimeMixing, WindowBatchNorm),
            lambda: Operation(TimeMixing(4, 3, **mixing), normal(5, 4, 3)),
        ),
        "mixing over features": (
            (FeatureMixing,),
            lambda: Operation(
                FeatureMixing(4, 3, 2, hidden_size=5, **mixing | {"norm_place": "after", "norm": "layer"}),
                normal(5, 4, 3),
            ),
        ),
    }


def make_function_layers() -> dict[str, tuple[tuple[type, ...], Callable[[], nn.Module]]]:
    """Return the cases of layers whose connections are functions."""
    grid: dict[str, Any] = {"grid_size": 4, "order": 3, "grid_range": (-1.0, 1.0), "noise": 0.5}
    return {
        "splines": ((SplineKAN,), lambda: Operation(SplineKAN(3, 2, **grid), normal(5, 3))),
        "powers": ((TaylorKAN,), lambda: Operation(TaylorKAN(3, 2, 4), normal(5, 3))),
        "Jacobi polynomials": ((JacobiKAN,), lambda: Operation(JacobiKAN(3, 2, 4), normal(5, 3))),
        **{f"{wavelet} wavelets": ((WaveletKAN,), partial(_wavelets, wavelet)) for wavelet in get_args(Wavelet)},
    }


def _wavelets(wavelet: Wavelet) -> nn.Module:
    return Operation(WaveletKAN(3, 2, wavelet), normal(5, 3))


def make_layers() -> dict[str, tuple[tuple[type, ...], Callable[[], nn.Module]]]:
    """Return, by name, which classes of the layers a case covers and how to make it."""
    selection: dict[str, Any] = {"context_size": 2, "activation": "ELU", "dropout": 0.2}
    encoder: dict[str, Any] = {"num_heads": 2, "feedforward_size": 3, "activation": "GELU", "dropout": 0.2}
    return {
        **make_transformer_layers(),
        **make_sequence_layers(),
        **make_function_layers(),
        "dropout of many numbers": ((Dropout,), lambda: Operation(Dropout(0.3), normal(50, 50))),
        "reversible normalisation": (
            (RevIN, GainAndShift),
            lambda: Around(RevIN(2), lambda layer, values: through(layer, values, None), normal(3, 5, 2)),
        ),
        "reversible normalisation of what was observed": (
            (),
            lambda: Around(
                RevIN(2),
                lambda layer, values: through(layer, values, (normal(3, 5, 2, seed=1) > -0.5).double()),
                normal(3, 5, 2),
            ),
        ),
        "encoder": ((EncoderLayer,), lambda: Operation(EncoderLayer(4, **encoder), normal(2, 3, 4))),
        "encoder, batch norm and stochastic depth": (
            (StochasticDepth, BatchNorm),
            lambda: Operation(EncoderLayer(4, norm="batch", stochastic_depth=0.3, **encoder), normal(5, 3, 4)),
        ),
        "batch norm of one row": ((), lambda: Operation(BatchNorm(3), normal(1, 3))),
        "perceptron": ((), lambda: Operation(multilayer_perceptron((3, 4, 4, 2), "SiLU", 0.2), normal(5, 3))),
        "perceptron, batch norm": ((), lambda: Operation(multilayer_perceptron((3, 4, 2), norm="batch"), normal(5, 3))),
        "perceptron, layer norm": ((), lambda: Operation(multilayer_perceptron((3, 4, 2), norm="layer"), normal(5, 3))),
        "pair, few rows": ((), lambda: Operation(Pair(), normal(2, 3))),
        "pair, many rows": ((), lambda: Operation(Pair(), normal(9, 3))),
        "doubly residual": (
            (DoublyResidualStack, ResidualBlock, Expansion),
            lambda: Operation(Blocks("Tanh"), normal(4, 6)),
        ),
        "doubly residual, ReLU": ((), lambda: Operation(Blocks("ReLU"), normal(9, 6))),
        "covariate encoder": (
            (CovariateEncoder,),
            lambda: Around(CovariateEncoder((Feature("a"), Feature("b", cardinality=4))), encode_one, normal(3, 1)),
        ),
        "covariates": (
            (Covariates,),
            lambda: Around(Covariates(SPEC), encode, normal(2, 3, 1), normal(2, 5, 1), normal(2, 1)),
        ),
        "strongest waves": ((Waves,), lambda: Operation(Waves(2), normal(3, 8, 2))),
        "selection of variables": (
            (VariableVectors, VariableSelection),
            lambda: Around(
                nn.ModuleList([VariableVectors(SPEC.past, 4), VariableSelection(2, 4, **selection)]),
                lambda layers, values, context: torch.cat(layers[1](layers[0](values), context), -1),
                normal(3, 5, 1 + embedding_width(4)),
                normal(3, 2),
            ),
        ),
        "moving average": ((), lambda: Operation(lambda x: moving_average_matrix(6, 3).double() @ x, normal(6, 2))),
        "channels": (
            (),
            lambda: Operation(lambda x: unfold_channels(fold_channels(x).sin(), 3, 4), normal(2, 4, 3)),
        ),
        "masking": ((), lambda: Operation(lambda x: observed(x, (x > 0).double())[0], normal(2, 4, 3))),
    }


LAYERS = make_layers()


def test_every_layer_is_among_them() -> None:
    modules = [
        importlib.import_module(f"{neuro_divergent.layers.__name__}.{item.name}")
        for item in pkgutil.iter_modules(neuro_divergent.layers.__path__)
    ]
    classes = {
        value
        for module in modules
        for _, value in inspect.getmembers(module, inspect.isclass)
        if value.__module__ == module.__name__ and issubclass(value, nn.Module) and not value.__name__.startswith("_")
    }
    assert classes == {item for covered, _ in LAYERS.values() for item in covered}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("training", [True, False])
def test_gradient_of_a_layer(name: str, training: bool) -> None:
    torch.manual_seed(0)
    assert_right(LAYERS[name][1]().train(training), max_entries=12)


@pytest.mark.parametrize("name", Architecture.registry.names())
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("rows", [2, 12])
def test_gradient_of_an_architecture(name: str, training: bool, rows: int) -> None:
    kind = Architecture.registry.get(name)
    sizes = [key for key, field in kind.model_fields.items() if type(field.default) is int and field.default > 32]
    features = {
        role: (Feature(f"{role}_number"), Feature(f"{role}_code", cardinality=3))
        for role in ("past", "future", "static")
        if getattr(kind.traits, f"{role}_x")
    }
    spec = TaskSpec(horizon=3, input_size=6, channels=2, outputs=3, **features)

    def columns(role: str, *shape: int) -> Tensor | None:
        if role not in features:
            return None
        code = torch.randint(1, 3, shape, generator=torch.Generator().manual_seed(1)).double()
        return torch.stack([normal(*shape, seed=2), code], -1)

    history = normal(rows, 6, 2)
    batch = Batch(
        history,
        torch.ones(1, 1, 1, dtype=torch.float64).expand_as(history),
        columns("past", rows, 6),
        columns("future", rows, 9),
        columns("static", rows),
        future_y=normal(rows, 3, 2, seed=3),
    )
    given = batch if rows == 2 else batch._replace(past_mask=(normal(rows, 6, 2, seed=4) > -1).double())
    for seed in range(3):  # A kink, of ReLU or of quantiles, is near few weights; a wrong gradient is wrong everywhere.
        torch.manual_seed(seed)
        network = kind(**dict.fromkeys(sizes, 16), **needed_by(kind)).build(spec).train(training)
        # Every tensor is looked into, those of small networks deeper: a difference takes two passes for each number.
        entries = max(1, 80 // len(list(network.parameters())))
        check = check_gradients(network, given, QuantileLoss(), tolerance=TOLERANCE, max_entries=entries)
        if check.passed:
            return
    pytest.fail(str(check))
