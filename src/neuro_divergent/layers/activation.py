"""Activations by their torch names."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator
from torch import nn

# All of torch's that work on each number by itself. Those that mix or halve an axis (Softmax, GLU) change what the next
# layer receives, and Threshold has no default to be called by.
ActivationName = Literal[
    "ReLU", "ReLU6", "LeakyReLU", "PReLU", "RReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish", "Softplus",
    "Tanh", "Sigmoid", "LogSigmoid", "Softsign", "Hardswish", "Hardsigmoid", "Hardtanh", "Hardshrink", "Softshrink",
    "Tanhshrink", "Identity",
]  # fmt: skip
ACTIVATIONS: tuple[ActivationName, ...] = get_args(ActivationName)
_OTHER_NAMES: dict[str, ActivationName] = {"swish": "SiLU", "linear": "Identity"}
_BY_SPELLING: dict[str, ActivationName] = {**{name.lower(): name for name in ACTIVATIONS}, **_OTHER_NAMES}
# Their derivative follows from their output, so overwriting the input costs autograd nothing and saves a buffer.
_OVERWRITING = frozenset({"ReLU", "ReLU6", "LeakyReLU", "ELU", "CELU", "SELU", "Hardtanh"})


def activation_name(value: Any) -> Any:
    """Return the torch name of an activation given in any case, with or without ``-`` and ``_``.

    ``swish`` is another name of SiLU and ``linear`` of Identity. Values that are not text are returned unchanged.

    Raises:
        ValueError: If there is no such activation.
    """
    if not isinstance(value, str):
        return value
    spelling = value.lower().replace("-", "").replace("_", "")
    if spelling not in _BY_SPELLING:
        close = get_close_matches(spelling, _BY_SPELLING, n=1)
        hint = f" Did you mean {_BY_SPELLING[close[0]]!r}?" if close else ""
        raise ValueError(f"there is no activation {value!r}.{hint} Known: {', '.join(ACTIVATIONS)}.")
    return _BY_SPELLING[spelling]


Activation = Annotated[ActivationName, BeforeValidator(activation_name)]


def make_activation(name: Activation) -> nn.Module:
    """Return a fresh activation that may overwrite its input; give it the output of a linear layer, not a leaf."""
    known = activation_name(name)
    kind = getattr(nn, known)
    module: nn.Module = kind(inplace=True) if known in _OVERWRITING else kind()
    return module
