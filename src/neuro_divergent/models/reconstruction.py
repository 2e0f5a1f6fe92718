"""What an architecture offers that can be pre-trained by filling in what is hidden."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from torch import nn

from neuro_divergent.core.spec import TaskSpec


class Reconstruction(NamedTuple):
    """A network that gives back its history, ``(batch, history, channel, 1)``, hidden values included.

    What it shares with the network that forecasts has the same names there; what it has besides is under ``head``.

    Attributes:
        network: The network; it must not see what ``past_mask`` hides.
        patch_length: Steps that are to be hidden together, counted from the first step of the history.
    """

    network: nn.Module
    patch_length: int


@runtime_checkable
class Reconstructing(Protocol):
    """An architecture that can be pre-trained."""

    def reconstruction(self, spec: TaskSpec) -> Reconstruction:
        """Return a fresh network that fills in what is hidden.

        Raises:
            ConfigError: If the settings of the architecture do not allow it.
        """
