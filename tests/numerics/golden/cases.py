"""Which architectures, settings and tasks have stored forecasts.

Every registered architecture has the tasks of ``TASKS`` with its default settings made small; ``VARIANTS`` switches
settings that change how a network works, so that every path of its code is run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.models.base import Architecture
from tests.language_models import write_language_model
from tests.numerics.golden.formula import batch_for, double_precision, set_weights, weight

Settings = dict[str, Any]
ROLES = ("past", "future", "static")
LARGE, SMALL = 32, 16


@dataclass(frozen=True)
class Task:
    """Sizes and covariates of a case, of which an architecture gets those that it can use.

    Attributes:
        sizes: Horizon, history, channels and outputs.
        past: Numeric covariates known only in the past.
        future: Numeric covariates known ahead.
        static: Numeric covariates that do not change.
        codes: Whether every kind of covariate has a categorical one besides.
        missing: Whether values of the history are missing.
    """

    sizes: tuple[int, int, int, int]
    past: int = 0
    future: int = 0
    static: int = 0
    codes: bool = False
    missing: bool = False

    def spec_for(self, kind: type[Architecture]) -> TaskSpec:
        """Return the task with the covariates that an architecture can use."""
        codes = {role: (Feature(f"{role}_code", cardinality=5),) if self.codes else () for role in ROLES}
        features = {
            role: tuple(Feature(f"{role}_{index}") for index in range(getattr(self, role))) + codes[role]
            for role in ROLES
            if getattr(kind.traits, f"{role}_x")
        }
        return TaskSpec(*self.sizes, **features)


@dataclass(frozen=True)
class Case:
    """An architecture with settings for a task.

    Attributes:
        name: Registered name of the architecture.
        task: Name of the task.
        settings: Settings that are not the defaults.
    """

    name: str
    task: str
    settings: Settings = field(default_factory=dict)

    @property
    def kind(self) -> type[Architecture]:
        """Class of the architecture."""
        kind: type[Architecture] = Architecture.registry.get(self.name)
        return kind

    @property
    def spec(self) -> TaskSpec:
        """What the network is built for."""
        return TASKS[self.task].spec_for(self.kind)

    @property
    def missing(self) -> bool:
        """Whether values of the history are missing."""
        return TASKS[self.task].missing

    def config(self) -> Architecture:
        """Return the architecture, around a language model by formula if it is around one."""
        around = {"language_model": language_model()} if "language_model" in self.kind.model_fields else {}
        return self.kind(**self.settings, **around)

    @torch.no_grad()
    def network(self) -> torch.nn.Module:
        """Return the network in double precision with weights by formula."""
        config = self.config()  # the language model in its directory is of single precision
        with double_precision():
            return set_weights(config.build(self.spec))

    @torch.no_grad()
    def forecast(self) -> Tensor:
        """Return what the network forecasts, ``(window, horizon, channel, output)``."""
        forecast: Tensor = self.network()(batch_for(self.spec, self.missing))
        return forecast


TASKS = {
    "plain": Task((7, 18, 1, 1)),
    "covariates": Task((6, 15, 1, 2), past=2, future=1, static=3),
    "channels": Task((4, 9, 3, 3)),
    "categories with gaps": Task((5, 12, 2, 1), past=1, future=2, static=1, codes=True, missing=True),
    "long horizon": Task((9, 5, 1, 2), future=1),
}
_RECURRENT: list[Settings] = [
    {"decoding": "autoregressive"},
    {"num_layers": 1, "decoder_num_layers": 1},
    {"num_layers": 3, "decoder_num_layers": 3, "activation": "Tanh"},
]
_ENCODER_DECODER: list[Settings] = [
    {"num_layers": 1, "decoder_num_layers": 2, "num_heads": 2, "start_share": 0.25},
    {"num_layers": 3, "activation": "ReLU", "start_share": 1.0, "feedforward_size": 8},
]
_DOUBLY_RESIDUAL: list[Settings] = [
    {"stacks": ("seasonality", "trend"), "num_blocks": (1, 2), "degree": 3, "harmonics": 3},
    {"stacks": ("generic",), "num_blocks": 3, "share_weights": True, "num_layers": 1, "activation": "SELU"},
    {"stacks": ("trend", "generic"), "norm": "batch", "num_layers": 2},
    {"stacks": ("seasonality",), "harmonics": 1, "norm": "layer"},
]
VARIANTS: dict[str, list[Settings]] = {
    "autoformer": [*_ENCODER_DECODER, {"factor": 1, "kernel_size": 5}],
    "bitcn": [{"hidden_size": 6}],
    "deepar": [{"num_layers": 1, "decoder_num_layers": 3, "activation": "Tanh"}],
    "deepnpts": [{"norm": "none", "num_layers": 3}, {"norm": "layer", "num_layers": 1}],
    "dilated_rnn": [
        {"cell": "gru", "dilations": ((3,), (1, 5))},
        {"cell": "rnn", "dilations": ((1, 2, 4),)},
        {"decoder_num_layers": 3, "dilations": ((2, 3),)},
    ],
    "dlinear": [{"kernel_size": 5}, {"kernel_size": 1}],
    "fedformer": [
        *_ENCODER_DECODER,
        {"mode_selection": "low", "modes": 3, "score": "softmax", "kernel_size": 5},
        {"version": "wavelet", "polynomials": 4},
        {"version": "wavelet", "polynomials": 8, "modes": 2, "score": "softmax"},
    ],
    "gru": _RECURRENT,
    "informer": [*_ENCODER_DECODER, {"distil": False, "factor": 1}, {"norm": "layer", "factor": 100, "distil": False}],
    "itransformer": [{"norm": "batch", "use_norm": False}, {"num_layers": 1, "num_heads": 4, "activation": "ReLU"}],
    "kan": [
        {"num_layers": 2, "hidden_size": 8},
        {"grid_size": 3, "spline_order": 2, "grid_range": (-2.0, 1.5)},
        {"spline_order": 1, "num_layers": 3},
    ],
    "lstm": _RECURRENT,
    "mlp": [{"num_layers": 3, "norm": "batch", "activation": "Tanh"}, {"num_layers": 1, "norm": "layer"}],
    "mlpmultivariate": [{"num_layers": 3, "norm": "batch", "activation": "Tanh"}, {"num_layers": 1, "norm": "layer"}],
    "nbeats": _DOUBLY_RESIDUAL,
    "nbeatsx": [*_DOUBLY_RESIDUAL, {"stacks": ("exogenous", "trend")}, {"stacks": ("exogenous",), "num_blocks": 2}],
    "nhits": [
        {"pooling": (4, 2), "downsample": (5, 2), "num_blocks": (1, 2), "pooling_mode": "average"},
        {"pooling": (1, 3), "downsample": (2, 3), "interpolation": "cubic", "num_layers": 1},
        {"pooling": (3, 2, 1), "downsample": (3, 2, 1), "interpolation": "nearest", "norm": "batch"},
        {"pooling": (2,), "downsample": (24,), "num_blocks": 2, "norm": "layer", "activation": "Tanh"},
    ],
    "patchtst": [
        {"level": "last", "residual_attention": False, "patch_length": 6, "stride": 3, "num_heads": 4},
        {"norm": "layer", "use_norm": False, "num_layers": 1, "patch_length": 4, "stride": 4, "activation": "ReLU"},
    ],
    "rmok": [
        {"wavelet": "morlet", "norm": "layer", "taylor_order": 2, "jacobi_degree": 3},
        {"wavelet": "dog", "affine": False},
        {"wavelet": "meyer"},
        {"wavelet": "shannon"},
    ],
    "rnn": _RECURRENT,
    "softs": [{"sharp": True}, {"use_norm": False, "num_layers": 1, "core_size": 8, "feedforward_size": 24}],
    "stemgnn": [{"num_blocks": 1, "multiplier": 2}, {"num_blocks": 3, "multiplier": 1, "leak": 0.5}],
    "tcn": [
        {"residual": True},
        {"kernel_size": 3, "dilations": (1, 3, 9), "activation": "Tanh", "decoder_num_layers": 3},
        {"residual": True, "kernel_size": 4, "dilations": (2,), "decoder_num_layers": 1},
    ],
    "tft": [{"cell": "gru", "num_layers": 2, "num_heads": 2}, {"num_heads": 1, "activation": "ReLU"}],
    "tide": [
        {"norm": "none", "num_encoder_layers": 2, "num_decoder_layers": 3},
        {"projection_size": 2, "decoder_output_size": 5, "temporal_hidden_size": 7, "hidden_size": 9},
    ],
    "timellm": [
        {"patch_length": 8, "stride": 5, "num_heads": 2, "feedforward_size": 12, "prompt": "Tides."},
        {"language_layers": 1, "num_lags": 2, "num_prototypes": 20},
    ],
    "timemixer": [
        {"num_scales": 2, "kernel_size": 5, "num_layers": 2},
        {"num_scales": 2, "downsampling": "max", "mix_channels": False, "kernel_size": 5},
        {"decomposition": "fourier", "num_waves": 2, "use_norm": False, "num_scales": 1},
    ],
    "timesnet": [
        {"top_k": 2, "num_kernels": 2, "num_layers": 1},
        {"periods": "batch", "top_k": 3, "num_kernels": 3},
        {"joint_channels": True, "top_k": 1, "num_kernels": 1},
    ],
    "timexer": [{"patch_length": 6, "num_heads": 4}, {"use_norm": False, "patch_length": 3, "activation": "GELU"}],
    "tsmixer": [{"norm": "layer", "num_blocks": 1}, {"use_norm": False, "num_blocks": 3, "hidden_size": 5}],
    "tsmixerx": [{"num_blocks": 1, "hidden_size": 5}, {"use_norm": False, "num_blocks": 3}],
    "vanilla_transformer": [*_ENCODER_DECODER, {"causal": False}],
    "xlinear": [{"use_norm": False}, {"hidden_size": 6, "temporal_size": 9, "channel_size": 4}],
    "xlstm": [
        {"blocks": ("slstm", "mlstm"), "num_heads": 2, "kernel_size": 3},
        {"blocks": ("mlstm",), "decoder_num_layers": 1, "kernel_size": 2},
        {"blocks": ("slstm",), "decoder_num_layers": 3, "decoder_activation": "Tanh"},
    ],
}


# Where small is another size: NeuralForecast, with which the forecasts are compared, has no xLSTM of less.
SIZES: dict[str, Settings] = {"xlstm": {"hidden_size": 32}}


def small_settings(kind: type[Architecture]) -> Settings:
    """Return the settings that make every large size of an architecture small."""
    fields = kind.model_fields.items()
    small = {key: SMALL for key, field in fields if type(field.default) is int and field.default > LARGE}
    return small | SIZES.get(kind.name, {})


def cases_of(name: str) -> dict[str, Case]:
    """Return the cases of an architecture: every task with its defaults made small, and its variants."""
    kind = Architecture.registry.get(name)
    small = small_settings(kind)
    cases = {task: Case(name, task, small) for task in TASKS}
    for variant in VARIANTS.get(name, ()):
        shown = ", ".join(f"{key}={value}" for key, value in variant.items())
        for task in ("covariates", "categories with gaps", *(["channels"] if kind.traits.mixes_channels else [])):
            cases[f"{task}: {shown}"] = Case(name, task, small | variant)
    return cases


def default_size(name: str) -> int:
    """Return the number of parameters with default settings for 24 steps from 96."""
    network = Case(name, "plain").config().build(TaskSpec(24, 96))
    return sum(value.numel() for value in network.parameters())


@cache
def language_model() -> str:
    """Return the directory of a language model with weights by formula, there as long as this process."""
    directory = TemporaryDirectory(prefix="language-model-")
    _KEPT.append(directory)
    write_language_model(Path(directory.name), set_weight=weight)
    return directory.name


_KEPT: list[TemporaryDirectory[str]] = []
