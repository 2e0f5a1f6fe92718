"""Augmentation of training windows: a batch in, a batch with random changes out.

``base.py`` has the base class ``Augmentation``; each augmentation has its own file.
"""

from neuro_divergent.data.augment.base import Augmentation

__all__ = ["Augmentation"]
