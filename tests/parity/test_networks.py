"""The same settings and weights give the same size and forecasts as NeuralForecast 3.3.0.

The settings keep out of the way of what the docstrings of the architectures tell: there NeuralForecast's does not do
what it means to.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.models.autoformer import Autoformer
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.bitcn import BiTCN
from neuro_divergent.models.deep_npts import DeepNPTS
from neuro_divergent.models.deepar import DeepAR
from neuro_divergent.models.dilated_rnn import DilatedRNN
from neuro_divergent.models.dlinear import DLinear
from neuro_divergent.models.fedformer import FEDformer
from neuro_divergent.models.informer import Informer
from neuro_divergent.models.itransformer import ITransformer
from neuro_divergent.models.kan import KAN
from neuro_divergent.models.mlp import MLP
from neuro_divergent.models.mlp_multivariate import MLPMultivariate
from neuro_divergent.models.nbeats import NBEATS, NBEATSx
from neuro_divergent.models.nhits import NHITS
from neuro_divergent.models.nlinear import NLinear
from neuro_divergent.models.patchtst import PatchTST
from neuro_divergent.models.recurrent import GRU, LSTM, RNN
from neuro_divergent.models.rmok import RMoK
from neuro_divergent.models.softs import SOFTS
from neuro_divergent.models.tcn import TCN
from neuro_divergent.models.tide import TiDE
from neuro_divergent.models.time_mixer import TimeMixer
from neuro_divergent.models.timesnet import TimesNet
from neuro_divergent.models.tsmixer import TSMixer
from neuro_divergent.models.tsmixerx import TSMixerx
from neuro_divergent.models.vanilla_transformer import VanillaTransformer
from neuro_divergent.models.xlinear import XLinear
from neuro_divergent.models.xlstm import XLSTM
from tests.parity.pair import Sides, copy_to_ours, load, size
from tests.parity.pairs import PAIRS
from tests.parity.sequences import parts
from tests.parity.theirs import random_batch, their_forecast, their_network

PAST, FUTURE, STATIC = (Feature("h1"), Feature("h2")), (Feature("f1"),), tuple(Feature(f"s{index}") for index in "123")
PLAIN, ODD, LONG = TaskSpec(24, 96), TaskSpec(7, 13), TaskSpec(9, 5)
OUTPUTS, SHORT = TaskSpec(12, 30, outputs=3), TaskSpec(7, 13, outputs=3)
COVARIATES = TaskSpec(8, 21, past=PAST, future=FUTURE, static=STATIC)
SEVEN, FOUR, SEVERAL = (
    TaskSpec(24, 96, channels=7),
    TaskSpec(7, 20, channels=4),
    TaskSpec(12, 30, channels=4, outputs=3),
)
EVEN, KNOWN = TaskSpec(8, 12, outputs=3), TaskSpec(8, 20, future=(Feature("f1"), Feature("f2")))
JOINT = [PLAIN, FOUR, SEVERAL]
SEQUENCE = [PLAIN, SHORT, LONG, COVARIATES]

Group = tuple[list[Architecture], list[TaskSpec]]
GROUPS: list[Group] = [
    ([NLinear(), DLinear(), NBEATS()], [PLAIN, ODD, OUTPUTS]),
    ([MLP(), NHITS()], [PLAIN, ODD, OUTPUTS, COVARIATES]),
    (
        [
            NHITS(interpolation=way, pooling_mode=mode, pooling=(4, 2), downsample=(5, 2), num_blocks=(1, 2))
            for way in ("linear", "nearest", "cubic")
            for mode in ("max", "average")
        ],
        [TaskSpec(11, 23)],
    ),
    ([NBEATS(num_blocks=(2, 3, 1), share_weights=True, harmonics=3)], [TaskSpec(12, 30)]),
    ([NBEATSx(), NBEATSx(stacks=("exogenous",))], [COVARIATES]),
    ([TiDE(norm="none"), TiDE(norm="none", num_encoder_layers=2, num_decoder_layers=3)], [PLAIN, OUTPUTS, COVARIATES]),
    ([TSMixer(), SOFTS(), SOFTS(sharp=True)], JOINT),
    ([TSMixerx(), MLPMultivariate()], [*JOINT, COVARIATES]),
    ([XLinear()], [*JOINT, TaskSpec(8, 21, channels=3, past=PAST, future=FUTURE, static=STATIC)]),
    ([DeepNPTS()], [PLAIN]),
    (
        [
            TimeMixer(num_scales=2, kernel_size=5),
            TimeMixer(num_scales=2, kernel_size=5, mix_channels=False, downsampling="max"),
        ],
        [PLAIN, FOUR],
    ),
    ([KAN(hidden_size=64, num_layers=2)], [PLAIN, OUTPUTS, COVARIATES]),
    ([RMoK(wavelet=wavelet) for wavelet in ("mexican_hat", "morlet", "dog", "meyer", "shannon")], JOINT),
    ([LSTM(), GRU(), RNN()], [*SEQUENCE, ODD, OUTPUTS]),
    ([TCN(), TCN(kernel_size=3, dilations=(1, 3, 9), activation="Tanh", decoder_num_layers=3), BiTCN()], SEQUENCE),
    ([DilatedRNN(), DilatedRNN(cell="gru", dilations=((3,), (1, 5)))], SEQUENCE),
    ([TimesNet()], [PLAIN, SHORT, TaskSpec(12, 36)]),
    ([XLSTM()], [PLAIN, SHORT]),
    ([ITransformer()], [SEVEN, SEVERAL]),
    (
        [VanillaTransformer(causal=False, num_layers=3 - layers, decoder_num_layers=layers) for layers in (1, 2)],
        [PLAIN, SHORT, KNOWN],
    ),
    ([Informer(factor=100, distil=False)], [PLAIN, SHORT, KNOWN]),
    (
        [Autoformer(num_layers=layers, decoder_num_layers=layers, kernel_size=5) for layers in (1, 2)],
        [PLAIN, EVEN, KNOWN],
    ),
    (
        [
            FEDformer(num_layers=layers, decoder_num_layers=1, modes=200, score=score)
            for layers in (1, 2)
            for score in ("tanh", "softmax")
        ],
        [PLAIN, EVEN, KNOWN],
    ),
    ([PatchTST(level="last"), PatchTST()], [PLAIN]),
    ([PatchTST(use_norm=False)], [SHORT]),
    (
        [PatchTST(level="last", residual_attention=False, patch_length=12, stride=5, activation="ReLU")],
        [TaskSpec(12, 50)],
    ),
    ([PatchTST(level="last", hidden_size=32, num_heads=4)], [TaskSpec(5, 3)]),
]
CASES = [(config, spec) for configs, specs in GROUPS for config in configs for spec in specs]


def label(value: Any) -> str:
    if isinstance(value, TaskSpec):
        features = len(value.past) + len(value.future) + len(value.static)
        return f"{value.horizon}-{value.input_size}-{value.channels}-{value.outputs}-{features}"
    changed = {key: item for key, item in value if item != type(value).model_fields[key].default}
    return " ".join([value.name, *(f"{key}={item}" for key, item in changed.items())])


@torch.no_grad()
def disturb(network: nn.Module) -> None:
    """Change what starts as zeros and ones, so that it is seen, and what is too small to be seen."""
    for part in network.modules():
        if isinstance(part, nn.BatchNorm1d):
            nn.init.normal_(part.running_mean)  # type: ignore[arg-type]
            nn.init.uniform_(part.running_var, 0.5, 2)  # type: ignore[arg-type]
    for value in network.parameters():
        if value.is_complex():
            value.mul_(128)
        elif value.requires_grad and bool((value == value.flatten()[0]).all()):
            nn.init.uniform_(value, 0.5, 1.5)


@pytest.mark.parametrize(("config", "spec"), CASES, ids=label)
@torch.no_grad()
def test_same_size_and_same_forecast_with_the_same_weights(config: Architecture, spec: TaskSpec) -> None:
    torch.manual_seed(0)
    pair = PAIRS[config.name]
    assert pair.exists_for(config, spec)
    sides = pair.build(config, spec)
    disturb(sides.theirs)
    assert size(sides.ours) == size(sides.theirs) - pair.unread(config, spec)
    copy_to_ours(pair, sides)
    for missing in (False, True) if pair.masks else (False,):
        batch = random_batch(spec, missing=missing)
        expected = their_forecast(sides.theirs, batch, spec, joint=pair.joint, one_by_one=pair.one_by_one)
        torch.testing.assert_close(sides.ours(batch), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("spec", [PLAIN, SHORT, TaskSpec(8, 21, future=FUTURE)], ids=label)
@torch.no_grad()
def test_same_timesnet_with_the_periods_of_a_batch(spec: TaskSpec) -> None:
    torch.manual_seed(0)
    pair = PAIRS["timesnet"]
    sides = pair.build(TimesNet(periods="batch"), spec)
    copy_to_ours(pair, sides)
    batch = random_batch(spec)
    if batch.future_x is not None:
        batch.future_x[:, spec.input_size :] = 0  # theirs does not read them
    torch.testing.assert_close(sides.ours(batch), their_forecast(sides.theirs, batch, spec), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layers", [0, 2])
@torch.no_grad()
def test_same_deepar_one_step_ahead(layers: int) -> None:
    """Beyond that theirs leaves the loop to their trainer; ours reads covariates known ahead a step earlier."""
    torch.manual_seed(0)
    spec = TaskSpec(1, 21, outputs=3, past=PAST, future=FUTURE, static=STATIC)
    theirs = their_network("DeepAR", spec, decoder_hidden_layers=layers, decoder_hidden_size=32)
    config = DeepAR(decoder_num_layers=layers + 1, decoder_hidden_size=32)
    sides = Sides(theirs, config.build(spec).eval(), config, spec)
    weights = parts("hist_encoder", "decoder")(sides)
    # Theirs reads value, past, future, static; ours value, past, static, future.
    weights["encoder.weight_ih_l0"] = weights["encoder.weight_ih_l0"][:, [0, 1, 2, 4, 5, 6, 3]]
    load(sides.ours, weights)
    batch = random_batch(spec)
    assert batch.future_x is not None
    expected = their_forecast(theirs, batch._replace(future_x=batch.future_x[:, 1:]), spec)
    torch.testing.assert_close(sides.ours(batch), expected, atol=1e-5, rtol=1e-5)
