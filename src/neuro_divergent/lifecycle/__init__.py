"""The life of a model after its first training: repeated, versioned, watched and replaced.

Tables and settings come in; versions of models, and records of every decision about them, come out. ``pipeline/`` runs
stages whose results are kept, ``registry/`` keeps versions and the aliases that point at them, ``drift/`` finds out
whether errors have changed, ``promotion/`` compares a challenger with the champion, and ``continuous/`` puts these
together.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
