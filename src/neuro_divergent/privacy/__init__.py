"""Differential privacy: what noise costs, and what it promises.

Rounds of training in which each participant takes part by chance, contributes a vector of bounded norm, and Gaussian
noise is added to the sum, go in; the epsilon that they spend comes out. ``accountant.py`` is the front door.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
