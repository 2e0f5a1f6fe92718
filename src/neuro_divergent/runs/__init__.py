"""Runs: the directory of a training. Settings and events go in while it trains; summaries and tables come out.

``directory.py`` is the entry point for writing; ``status.py``, ``events.py``, ``history_reader.py`` and ``tables.py``
read, ``filter.py``, ``diff.py``, ``remove.py``, ``export.py`` and ``archive.py`` manage many runs. Reading needs no
torch.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
