"""Ways to hold out parts of a panel; ``Splitter`` is the base, and each kind has a file of its own."""

from neuro_divergent.evaluation.splitters.base import Splitter
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.function import as_splitter

__all__ = ["Fold", "Splitter", "as_splitter"]
