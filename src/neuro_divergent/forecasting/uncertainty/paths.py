"""Sample paths of autoregressive networks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.base import Loss
from neuro_divergent.models.autoregressive import AutoregressiveNetwork
from neuro_divergent.models.reversible import ReversibleNetwork

_FEWEST = 200
_BEYOND = 5  # paths that lie further out than the outermost quantile that is read off them


@dataclass(frozen=True)
class PointFeedback:
    """Feeds the point forecast of the loss back into an autoregressive network."""

    loss: Loss

    def __call__(self, raw: Tensor, batch: Batch) -> Tensor:
        """Return the point forecast of a step."""
        return self.loss.forecast(raw, (), batch).point


def forecast_from(network: nn.Module, batch: Batch) -> Tensor:
    """Return the raw outputs of a network that does not see the targets, even if the batch holds them."""
    reads_batch = getattr(network, "reads_batch", False)
    raw: Tensor = network(batch._replace(future_y=None) if reads_batch else batch.inputs)
    return raw


def draws_paths(network: nn.Module, loss: Loss) -> bool:
    """Whether paths come from the network itself, each step drawn given the steps before."""
    return loss.traits.probabilistic and isinstance(inner_network(network), AutoregressiveNetwork)


def draw_paths(network: nn.Module, loss: Loss, batch: Batch, probabilities: Tensor) -> Tensor:
    """Return paths on the scale of the batch, ``(paths, batch, horizon, channel)``.

    Args:
        network: An autoregressive network.
        loss: Says what its outputs mean; probabilistic.
        batch: The windows.
        probabilities: Where in the distribution of a step each path lies, of a shape that broadcasts to that of
            the result. Uniform and independent ones give samples of the forecast distribution.
    """
    inside = inner_network(network)
    assert isinstance(inside, AutoregressiveNetwork)
    seen = network.inside(batch) if isinstance(network, ReversibleNetwork) else batch
    count, rows = probabilities.shape[0], batch.past_y.shape[0]
    probabilities = probabilities.expand(count, rows, *probabilities.shape[2:]).flatten(0, 1)
    many = Batch._make(None if item is None else item.repeat(count, *(1,) * (item.ndim - 1)) for item in seen)

    def draw(raw: Tensor, step: int) -> Tensor:
        return loss.inverse(raw, probabilities[None, :, step : step + 1], many).squeeze(0)

    values = inside.paths(seen, count, draw)
    if isinstance(network, ReversibleNetwork):
        values = network.outside(values.unsqueeze(-1), many).squeeze(-1)
    return values.view(count, rows, *values.shape[1:])


def latin_hypercube(quantiles: tuple[float, ...], horizon: int, channels: int) -> Tensor:
    """Return probabilities ``(paths, 1, horizon, channel)`` for as many paths as quantiles need, always the same ones.

    At each step there is one in each of as many equal parts (a Latin hypercube), so that fewer paths are enough. They
    are the same for all windows: what is forecast for one does not depend on the others.
    """
    furthest = min(min(quantile, 1 - quantile) for quantile in quantiles)
    count = max(_FEWEST, math.ceil(_BEYOND / furthest))
    generator = torch.Generator().manual_seed(0)
    order = torch.rand(count, horizon, channels, generator=generator).argsort(0)
    within = torch.rand(count, horizon, channels, generator=generator)
    return ((order + within) / count).unsqueeze(1)


def quantiles_of(paths: Tensor, quantiles: tuple[float, ...], *, whole: bool) -> Tensor:
    """Return quantiles along the first axis of paths as the last axis.

    Args:
        paths: Values, any shape.
        quantiles: Between 0 and 1.
        whole: Whether a quantile is one of the values, as it is of counts, or may lie between two of them.
    """
    ordered, count = paths.sort(0).values, len(paths)
    found = []
    for quantile in quantiles:
        place = math.ceil(quantile * count - 1e-9) - 1 if whole else quantile * count - 0.5
        place = min(max(place, 0), count - 1)
        below = int(place)
        found.append(ordered[below].lerp(ordered[min(below + 1, count - 1)], place - below))
    return torch.stack(found, -1)


def inner_network(network: nn.Module) -> nn.Module:
    """Return the network inside a reversible normalisation, or the network itself."""
    return network.network if isinstance(network, ReversibleNetwork) else network
