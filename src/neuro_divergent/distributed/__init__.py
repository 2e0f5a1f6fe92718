"""Training in several processes, on one machine or many: they meet, share out batches and add up gradients.

``strategies/`` has one file for each way of sharing the work (``nd.TrainingConfig(strategy=...)``), ``group.py`` what
processes say to each other, and ``ray_executor.py`` runs folds and search workers on a Ray cluster.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
