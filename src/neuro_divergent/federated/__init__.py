"""Federated learning: clients train one model without showing each other their data.

Tables of clients and the settings of a federation come in, a global model comes out, and a forecaster for each client.
``federation.py`` is the front door; ``server.py`` has the rounds, ``client.py`` what happens to data, ``aggregation/``
how updates become weights, and ``transport/`` how the two sides reach each other.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
