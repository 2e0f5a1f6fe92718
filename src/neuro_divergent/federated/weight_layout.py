"""The weights that clients share, as one vector."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from neuro_divergent.core.errors import ConfigError


@dataclass(frozen=True)
class WeightLayout:
    """Which tensors of a network are shared, and where each is in a vector of all of them.

    Vectors have 64-bit floats: sums over clients are exact enough then for the order of clients not to matter.

    Attributes:
        names: Names of the tensors in the network, in its order.
        shapes: Their shapes.
        dtypes: Their types.
    """

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]
    dtypes: tuple[torch.dtype, ...]

    @classmethod
    def of(cls, network: nn.Module, local: Collection[str] = ()) -> WeightLayout:
        """Return the layout of a network: its parameters, and the running statistics of batch normalisation.

        Args:
            network: The network.
            local: Names that stay with each client.
        """
        tensors = {**dict(network.named_parameters()), **_running_statistics(network)}
        own = network.state_dict()
        shared = {name: own[name] for name in own if name in tensors and name not in local}
        if not shared:
            raise ConfigError("the network has no weights to share.")
        return cls(
            tuple(shared), tuple(item.shape for item in shared.values()), tuple(item.dtype for item in shared.values())
        )

    @property
    def size(self) -> int:
        """Numbers in the vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def num_bytes(self) -> int:
        """Bytes of the tensors in their own types."""
        return sum(math.prod(shape) * dtype.itemsize for shape, dtype in zip(self.shapes, self.dtypes, strict=True))

    @property
    def digest(self) -> str:
        """A fingerprint of names, shapes and types, by which clients and server see that they have the same network."""
        lines = (f"{name} {tuple(shape)} {dtype}" for name, shape, dtype in self._items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def read(self, network: nn.Module) -> Tensor:
        """Return the shared weights of a network as a vector of their own."""
        own = network.state_dict()
        return torch.cat([own[name].detach().reshape(-1).to("cpu", torch.float64) for name in self.names])

    @torch.no_grad()
    def write(self, network: nn.Module, vector: Tensor) -> None:
        """Copy a vector into a network."""
        own = network.state_dict()
        for name, part in self.split(vector).items():
            own[name].copy_(part)

    def split(self, vector: Tensor) -> dict[str, Tensor]:
        """Return the tensors of a vector by name, in their own types."""
        parts = torch.split(vector, [math.prod(shape) for shape in self.shapes])
        return {
            name: part.reshape(shape).to(dtype) for part, (name, shape, dtype) in zip(parts, self._items(), strict=True)
        }

    def join(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return tensors as a vector.

        Raises:
            ValueError: If names, shapes or types are not those of the layout.
        """
        if set(tensors) != set(self.names):
            strange = sorted(set(tensors) ^ set(self.names))
            raise ValueError(f"tensor {strange[0][:80]!r} is in one of the two networks only")
        for name, shape, dtype in self._items():
            if tensors[name].shape != shape or tensors[name].dtype != dtype:
                found = f"{tuple(tensors[name].shape)} of {tensors[name].dtype}"
                raise ValueError(f"tensor {name!r} is {found}; expected {tuple(shape)} of {dtype}")
        return torch.cat([tensors[name].reshape(-1).to(torch.float64) for name in self.names])

    def rounded(self, vector: Tensor) -> Tensor:
        """Return a vector with the numbers that clients will receive: rounded to the types of the network."""
        return self.join(self.split(vector))

    def _items(self) -> zip[tuple[str, torch.Size, torch.dtype]]:
        return zip(self.names, self.shapes, self.dtypes, strict=True)


def norm_tensors(network: nn.Module) -> set[str]:
    """Return the names of the parameters and running statistics of batch normalisation."""
    return {
        f"{prefix}.{name}" if prefix else name
        for prefix, module in network.named_modules()
        if isinstance(module, _BatchNorm)
        for name in module.state_dict()
    }


def has_batch_norm(network: nn.Module) -> bool:
    """Whether a network normalises by statistics of its batches."""
    return any(isinstance(module, _BatchNorm) for module in network.modules())


def _running_statistics(network: nn.Module) -> dict[str, Tensor]:
    """Return the running means and variances; the count of batches is no number that a mean makes sense of."""
    names = norm_tensors(network)
    return {name: item for name, item in network.named_buffers() if name in names and item.is_floating_point()}
