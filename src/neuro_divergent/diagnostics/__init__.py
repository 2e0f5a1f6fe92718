"""Diagnostics: a run directory or a trained forecaster comes in; findings with evidence and settings to change go out.

Entry point: ``doctor.diagnose``; ``rules`` has one file per check. ``gradients``, ``weights``, ``activations`` and
``structure`` describe networks, and ``attribution`` explains forecasts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
