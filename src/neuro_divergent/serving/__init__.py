"""From a trained model to an answer: exported graphs, a handler, a server, and scoring of many files.

A fitted model comes in; a file that holds one graph and its description comes out (``export/``), and forecasts from
that file (``load``). Nothing outside of ``export/`` needs torch, and small requests are answered without polars.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
