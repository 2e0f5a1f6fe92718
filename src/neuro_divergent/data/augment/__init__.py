"""Random changes to training windows; ``Augmentation`` is the base, and each kind has a file of its own."""

from neuro_divergent.data.augment.base import Augmentation

__all__ = ["Augmentation"]
