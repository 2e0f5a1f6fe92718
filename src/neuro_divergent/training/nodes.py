"""Machines that train together."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from neuro_divergent.core.config import Config


class Node(Config):
    """A machine that takes part in a training.

    Attributes:
        address: Name or address under which the others reach it.
        devices: Processes on it: one for each GPU, or as many as there are CPUs to share.
        role: ``main`` for the machine where processes meet; the first one unless another is named.
    """

    address: str = Field(min_length=1)
    devices: int = Field(default=1, ge=1)
    role: Literal["main", "worker"] = "worker"
