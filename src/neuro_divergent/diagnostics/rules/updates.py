"""Relative updates of the layers of a network."""

from __future__ import annotations

import numpy as np

from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.gradients import FROZEN, VANISHING, analyse_gradients, is_small

USUAL_RATIO = 1e-3  # relative update of a layer that is usual for one step


def update_ratio(evidence: Evidence) -> float | None:
    """Return the median relative update over the layers."""
    if evidence.layers is None or not len(evidence.layers):
        return None
    layers = analyse_gradients(evidence.layers).layers
    ratios = [
        row["ratio"] for row in layers.iter_rows(named=True) if row["ratio"] is not None and not is_small(row["layer"])
    ]
    return float(np.median(ratios)) if ratios else None


def has_gradients(evidence: Evidence) -> bool:
    """Whether most layers get a gradient; true if that is not known."""
    if evidence.layers is None or not len(evidence.layers):
        return True
    verdicts = analyse_gradients(evidence.layers).layers["verdict"]
    return bool(verdicts.is_in([FROZEN, VANISHING]).mean() < 0.5)  # type: ignore[operator]
