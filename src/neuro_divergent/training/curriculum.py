"""Which targets count at which time of training."""

from __future__ import annotations

from abc import abstractmethod
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from neuro_divergent.core.config import Component, knob, register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    AllGather = Callable[[Tensor], tuple[int, list[Tensor]]]


class Curriculum(Component):
    """Begins with a part of the targets and ends with all of them.

    Attributes:
        start: Fraction that counts at the beginning.
        over: Fraction of training after which all count; until then the fraction grows linearly.

    Examples:
        A quarter of 24 steps counts at the beginning, and all from the middle of training on:

        >>> import neuro_divergent as nd
        >>> curriculum = nd.training.HorizonGrowth(start=0.25, over=0.5)
        >>> [curriculum.count(24, progress) for progress in (0.0, 0.25, 0.5, 1.0)]
        [6, 15, 24, 24]
    """

    registry: ClassVar[Registry] = Registry("curriculum", "neuro_divergent.training.curriculum")

    start: float = knob(0.3, low=0.1, high=0.9, gt=0.0, le=1.0)
    over: float = knob(0.5, low=0.2, high=0.8, gt=0.0, le=1.0)

    @abstractmethod
    def weigh(
        self,
        cost: Tensor,
        target: Tensor,
        progress: float,
        weight: Tensor | None = None,
        gather: AllGather | None = None,
    ) -> Tensor | None:
        """Return how much the cost of each target counts, or ``None`` when all count the same.

        Args:
            cost: Cost of each target, ``(batch, ...)``; no gradient flows through what is made of it.
            target: The targets.
            progress: Fraction of training done, 0 to 1.
            weight: How much each target counts anyway, 0 where it was not observed.
            gather: Returns the tensors of all processes that share a batch, of which each has every so manieth row.

        Returns:
            Zeros and ones of a shape that broadcasts to that of ``cost``.

        Raises:
            ConfigError: If the costs do not have the axes that are chosen from.
        """

    def count(self, items: int, progress: float) -> int:
        """Return how many of some items count, at least 1."""
        fraction = self.start + (1 - self.start) * min(progress / self.over, 1.0)
        # A fraction that rounding puts a hair above an integer number of items must not count one more.
        return max(ceil(items * fraction - 1e-9), 1)


@register("horizon")
class HorizonGrowth(Curriculum):
    """Counts the first steps of the horizon (the second axis of the costs), at first few and in the end all.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> curriculum, cost = nd.training.HorizonGrowth(start=0.25, over=0.5), torch.ones(2, 4, 1)
        >>> [curriculum.weigh(cost, cost, progress).flatten().tolist() for progress in (0.0, 0.25)]
        [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
        >>> curriculum.weigh(cost, cost, 0.5) is None  # all count the same from here on
        True
    """

    start: float = knob(0.25, low=0.1, high=0.9, gt=0.0, le=1.0)

    def weigh(
        self,
        cost: Tensor,
        target: Tensor,
        progress: float,
        weight: Tensor | None = None,
        gather: AllGather | None = None,
    ) -> Tensor | None:
        if cost.ndim < 2:
            raise ConfigError(
                f"{self.name}: costs have no horizon to grow: they are shaped {tuple(cost.shape)}, not "
                "(batch, horizon, ...). Choose another curriculum, such as easy_first."
            )
        horizon = cost.shape[1]
        count = self.count(horizon, progress)
        if count >= horizon:
            return None
        chosen = cost.new_zeros(1, horizon, *(1,) * (cost.ndim - 2))
        chosen[:, :count] = 1
        return chosen


@register("easy_first")
class EasyFirst(Curriculum):
    """Counts the easiest windows of each batch, at first few and in the end all.

    By their own loss this is self-paced learning (Kumar, Packer and Koller, NeurIPS 2010), with a fraction of the
    windows in place of a threshold on the loss.

    Attributes:
        by: What makes a window hard: its present mean ``loss``, or the ``roughness`` of its target: the mean square of
            its steps over its variance (von Neumann, 1941), 0 for a constant and 2 on average for noise.

    Examples:
        Half of the windows count at the beginning, those with the lowest cost:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> cost = torch.tensor([3.0, 1.0, 2.0, 9.0])
        >>> nd.training.EasyFirst(start=0.5).weigh(cost, cost, progress=0.0).tolist()
        [0.0, 1.0, 1.0, 0.0]
    """

    by: Literal["loss", "roughness"] = Field(default="loss")

    def weigh(
        self,
        cost: Tensor,
        target: Tensor,
        progress: float,
        weight: Tensor | None = None,
        gather: AllGather | None = None,
    ) -> Tensor | None:
        if cost.ndim < 1:
            raise ConfigError(f"{self.name}: needs a cost for each window; the loss gives one for the whole batch.")
        if progress >= self.over:
            return None
        own = _mean(cost, weight) if self.by == "loss" else self._roughness(target, weight)
        hardness, mine = (own, slice(None)) if gather is None else _of_all(own, gather)
        chosen = cost.new_zeros(len(hardness))
        # Sorting is stable, so ties are broken by the order of the windows and the count is exact.
        chosen[hardness.argsort(stable=True)[: self.count(len(hardness), progress)]] = 1
        return chosen[mine].view(-1, *(1,) * (cost.ndim - 1))

    def _roughness(self, target: Tensor, weight: Tensor | None) -> Tensor:
        if target.ndim < 2 or target.shape[1] < 2:
            raise ConfigError(
                f"{self.name}: by='roughness' needs targets of at least two steps; they are shaped "
                f"{tuple(target.shape)}. Choose by='loss'."
            )
        observed = target.new_ones(()) if weight is None else (weight > 0).to(target.dtype)
        observed = observed.expand_as(target)
        count = observed.sum(1, keepdim=True)
        level = (target * observed).sum(1, keepdim=True) / count.clamp(min=1)
        variance = ((target - level) * observed).square().sum(1) / count.squeeze(1).clamp(min=1)
        both = observed[:, 1:] * observed[:, :-1]
        steps = (target.diff(dim=1) * both).square().sum(1) / both.sum(1).clamp(min=1)
        ratio = steps / variance.clamp(min=1e-12)
        return _mean(ratio, (both.sum(1) > 0).to(ratio.dtype))


def _of_all(own: Tensor, gather: AllGather) -> tuple[Tensor, slice]:
    """Return the values of the windows of a batch that processes share, in its order, and which are those given."""
    rank, parts = gather(own)
    whole = own.new_empty(sum(map(len, parts)))
    for place, part in enumerate(parts):
        whole[place :: len(parts)] = part.to(own.device)
    return whole, slice(rank, None, len(parts))


def _mean(values: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean of each window; infinite, and so the last to count, where nothing has weight."""
    rows = (len(values), -1)
    values = values.detach()
    if weight is None:
        return values.reshape(rows).mean(1)
    weight = weight.expand_as(values).reshape(rows)
    total = (values.reshape(rows).where(weight > 0, 0) * weight).sum(1)
    return (total / weight.sum(1)).where(weight.sum(1) > 0, float("inf"))
