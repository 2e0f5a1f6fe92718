"""One round of private training: who takes part, what each may contribute, and what is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.errors import InputError
from neuro_divergent.privacy.accountant import Rounds
from neuro_divergent.privacy.system_noise import draw_normal, draw_uniform

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 1 << 22  # numbers that are clipped at once


@dataclass(frozen=True)
class Mechanism:
    """The sampled Gaussian mechanism for vectors of clients, as ``accountant`` counts it.

    Randomness is that of the operating system: a seed that is known would take the noise away again, and a round that
    is repeated after a restart must draw others.

    Attributes:
        clip_norm: Largest L2 norm of a client's vector.
        noise_multiplier: Standard deviation of the noise in the sum, over ``clip_norm``.
        participation: Probability with which each client takes part in a round, independently of all others.
        num_clients: How many clients there are. It is public, and does not change when one of them has no data.

    Raises:
        InputError: If a number is outside its range.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> mechanism = nd.privacy.Mechanism(clip_norm=1.0, noise_multiplier=0.5, participation=1.0, num_clients=1000)
        >>> mechanism.clip(torch.tensor([[3.0, 4.0], [0.3, 0.4]])).norm(dim=1).round(decimals=3).tolist()
        [1.0, 0.5]
        >>> update = torch.tensor([0.3, -0.4])
        >>> (mechanism.release([update] * 1000) - update).abs().max().item() < 0.01
        True
    """

    clip_norm: float
    noise_multiplier: float
    participation: float
    num_clients: int

    def __post_init__(self) -> None:
        for name in ("clip_norm", "noise_multiplier"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name}: {getattr(self, name)} is not above 0 and finite.")
        if not 0 < self.participation <= 1:
            raise InputError(f"participation: {self.participation} is not a probability above 0.")
        if self.num_clients < 1:
            raise InputError(f"num_clients: {self.num_clients}; give at least 1.")

    @property
    def expected_clients(self) -> float:
        """How many clients a round has on average; sums are divided by it."""
        return self.participation * self.num_clients

    def rounds(self, number: int = 1) -> Rounds:
        """Return the settings that the accountant needs, for a number of rounds."""
        return Rounds(self.participation, self.noise_multiplier, number)

    def noise_ratio(self, num_parameters: int) -> float:
        """Return the norm of the noise in a released vector, over ``clip_norm``; above about 7, little is learned."""
        return self.noise_multiplier * math.sqrt(num_parameters) / self.expected_clients

    def sample(self, names: Sequence[str]) -> list[str]:
        """Draw who takes part in a round: each by its own chance, so that nobody may come, or all."""
        return [name for name, drawn in zip(names, draw_uniform(len(names)), strict=True) if drawn < self.participation]

    def clip(self, vectors: Tensor) -> Tensor:
        """Return vectors in float64, those longer than ``clip_norm`` shortened to it.

        A vector whose norm is not finite becomes zeros: what cannot be bounded does not count.

        Args:
            vectors: A vector, or one in each row.
        """
        import torch

        values = vectors.double().numpy(force=True)
        norms = np.sqrt(np.einsum("...i,...i->...", values, values))[..., np.newaxis]
        is_bounded = np.isfinite(norms)
        values, norms = np.where(is_bounded, values, 0.0), np.where(is_bounded, norms, 0.0)
        return torch.from_numpy(values * (self.clip_norm / np.maximum(norms, self.clip_norm)))

    def release(self, vectors: Sequence[Tensor], *, size: int | None = None) -> Tensor:
        """Return the private mean of what clients sent, in float64.

        Each vector is clipped, noise is added to their sum, and the sum is divided by the number of clients that is
        expected: how many came would tell who did.

        Args:
            vectors: What those who came have sent, with one dimension. None at all is fine: noise is released.
            size: Length of a vector; needed if there are none.

        Raises:
            InputError: If a vector has another size.
        """
        import torch

        if size is None:
            if not vectors:
                raise InputError("size: needed where no client came.")
            size = vectors[0].numel()
        for vector in vectors:
            if vector.shape != (size,):
                raise InputError(f"vectors: one has the shape {tuple(vector.shape)}, {(size,)} is accepted.")
        total = self.noise_multiplier * self.clip_norm * draw_normal(size)
        rows = max(1, _BLOCK // max(size, 1))
        for start in range(0, len(vectors), rows):
            total += self.clip(torch.stack(list(vectors[start : start + rows]))).numpy().sum(axis=0)
        return torch.from_numpy(total / self.expected_clients)
