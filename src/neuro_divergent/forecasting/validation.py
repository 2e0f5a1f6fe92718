"""The windows of the validation part that a network is validated on."""

from __future__ import annotations

import dataclasses

from neuro_divergent.data.panel import BLOCK_ROWS
from neuro_divergent.data.windows import SampledWindows, Windows

LEAST_WINDOWS = 256  # with fewer, the best step is a matter of luck
MOST_WINDOWS = 32_768  # of a large panel; more would tell the same and take longer than training
_ROWS = 1024  # windows that are validated at once
_VALUES = 2**24  # of windows that span all series, so many values


def validation_windows(windows: Windows) -> Windows:
    """Return the windows of a validation part that a network is validated on.

    Where they are few, more of them are cut, which overlap; where they are many, it is a sample.
    """
    return sample_validation(denser(windows, LEAST_WINDOWS))


def sample_validation(windows: Windows) -> Windows:
    """Return at most 32,768 windows of a panel of more than four million rows, evenly spread; the same each time.

    Where a window spans all series, fewer of them have as many series together; 256 are left at least.
    """
    if len(windows.panel) <= BLOCK_ROWS:
        return windows
    most = MOST_WINDOWS // (windows.panel.num_series if windows.joint else 1)
    return SampledWindows.of(windows, max(most, LEAST_WINDOWS))


def validation_batch_size(windows: Windows) -> int:
    """Return how many windows are validated at once: fewer where they span very many series."""
    if not windows.joint or len(windows.panel) <= BLOCK_ROWS:
        return _ROWS
    size = windows.panel.num_series * (windows.input_size + windows.horizon)
    return max(1, min(_ROWS, _VALUES // size))


def describe_validation(windows: Windows) -> str | None:
    """Return in a sentence which windows of the validation part were used; ``None`` where it was all of them."""
    checked = validation_windows(windows)
    if not isinstance(checked, SampledWindows):
        return None
    return f"Validation used {len(checked):,} of the {checked.total:,} windows of its part, evenly spread."


def denser(windows: Windows, least: int) -> Windows:
    """Return windows at more cut-offs where there are fewer than ``least``; they then overlap."""
    count = len(windows)
    return windows if count >= least else dataclasses.replace(windows, step=max(1, windows.step * count // least))
