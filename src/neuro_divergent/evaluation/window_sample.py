"""A sample of many windows."""

from __future__ import annotations

import dataclasses

import numpy as np

from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.cross_validation.window_list import WindowList


def sample_of(windows: Windows, most: int) -> Windows:
    """Return at most ``most`` windows, evenly spread over all of them."""
    if len(windows) <= most:
        return windows
    series, rows = windows.locate(np.linspace(0, len(windows) - 1, most).round().astype(np.int64))
    same = {field.name: getattr(windows, field.name) for field in dataclasses.fields(Windows)}
    return WindowList(**same, series=series, targets=rows + windows.input_size)
