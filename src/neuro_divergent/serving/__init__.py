"""From a trained model to an answer: exported graphs, a handler, a server, and scoring of many files.

A fitted model comes in; a file that holds one graph and its description comes out (``export/``), and forecasts from
that file (``load``). Nothing outside of ``export/`` needs torch, and small requests are answered without polars.
"""

from typing import Any

from neuro_divergent.core.lazy_names import attach

_attached, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _attached(name)
    except ModuleNotFoundError as error:
        from neuro_divergent.core.packages import missing_extra

        raise (missing_extra(error) or error) from None
