"""Training in several processes, on one machine or many: they meet, share out batches and add up gradients.

``strategies/`` has one file for each way of sharing the work (``nd.TrainingConfig(strategy=...)``), ``group.py`` what
processes say to each other, and ``ray_executor.py`` runs folds and search workers on a Ray cluster.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
