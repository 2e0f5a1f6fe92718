"""Differential privacy for clients that train together: what noise costs, how it is added, and what it promises.

A budget and the vectors that clients contribute to a round go in; a sum with noise and the epsilon that was spent come
out. ``client_level.py`` is the front door: its ``ClientLevel`` holds a budget and gives the ``Mechanism`` of a round.
``accountant.py`` computes epsilon, ``ledger.py`` keeps it on disk, ``budget_meaning.py`` says what it means, and
``audit.py`` attacks what is released, to find faults.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
