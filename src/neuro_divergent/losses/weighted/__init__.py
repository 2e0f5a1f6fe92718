"""How much each observation counts in the loss; ``Weighting`` is the base, and each kind has a file of its own."""

from neuro_divergent.losses.weighted.base import Weighting

__all__ = ["Weighting"]
