"""Losses whose outputs are a distribution; ``DistributionLoss`` is the base, and each family has a file of its own."""

from neuro_divergent.losses.distribution.base import DistributionLoss

__all__ = ["DistributionLoss"]
