"""Compiling a network for its training steps."""

from __future__ import annotations

import os
import shutil
import warnings
from typing import cast

import torch
from torch import nn

from neuro_divergent.core.errors import ConfigError

_COMPILERS = ("c++", "g++", "clang++", "cl")


def compiled(module: nn.Module) -> nn.Module:
    """Return a module that does the same with code made for it at its first call; the weights stay shared."""
    if not has_compiler():
        raise ConfigError(
            "compile: torch makes its code with a C++ compiler, and none was found. Install one (g++), name it in the "
            "environment variable CXX, or train with compile=False."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch's compiler imports what torch deprecates
        return cast(nn.Module, torch.compile(module))


def has_compiler() -> bool:
    """Whether there is a C++ compiler on this machine."""
    return any(shutil.which(name) for name in (os.environ.get("CXX", ""), *_COMPILERS) if name)
