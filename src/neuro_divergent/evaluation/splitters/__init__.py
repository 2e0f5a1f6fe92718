"""Splitters: a panel comes in, folds (rows to train on, rows to test) go out.

``base.Splitter`` is the entry point and the base class, ``fold.Fold`` what it yields; each splitter has its own file.
"""

from neuro_divergent.evaluation.splitters.base import Splitter
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.function import as_splitter

__all__ = ["Fold", "Splitter", "as_splitter"]
