"""Losses: outputs of a network and targets come in, a cost for each target and a forecast go out.

`base.py` holds the contract (`Loss`, `LossTraits`, `Forecast`) and `reduce.py` the one place where costs are masked and
averaged; every other file holds one loss or family. `distribution/` has the likelihoods, `weighted/` the weights of
observations.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
