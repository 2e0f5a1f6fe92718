"""Protocol of architectures that can be pre-trained by masked reconstruction."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from torch import nn

from neuro_divergent.core.spec import TaskSpec


class Reconstruction(NamedTuple):
    """A network that reconstructs its history, ``(batch, history, channel, 1)``, including masked values.

    Parameters that the forecasting network shares have the same names there; the others are under ``head``.

    Attributes:
        network: The network; it must not read values that ``past_mask`` hides.
        patch_length: Steps that are to be hidden together, counted from the first step of the history.
    """

    network: nn.Module
    patch_length: int


@runtime_checkable
class Reconstructing(Protocol):
    """An architecture that can be pre-trained."""

    def reconstruction(self, spec: TaskSpec) -> Reconstruction:
        """Return a new network that reconstructs masked values.

        Raises:
            ConfigError: If the settings of the architecture do not allow it.
        """
