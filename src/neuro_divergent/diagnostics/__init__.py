"""Diagnostics: a run directory or a trained forecaster comes in; findings with evidence and settings to change go out.

Entry point: ``doctor.diagnose``; ``rules`` has one file per check. ``gradients``, ``weights``, ``activations`` and
``structure`` describe networks, and ``attribution`` explains forecasts.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
