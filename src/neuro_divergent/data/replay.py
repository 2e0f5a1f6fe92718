"""Settings of training on new rows together with some windows from before them."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import Config


class Replay(Config):
    """Trains on the newest rows, and on some windows from before them so that these are not forgotten.

    Attributes:
        rows: Rows at the end of each series that count as new.
        fraction: Windows from before them, as a fraction of all windows of an epoch.
    """

    rows: int = Field(ge=1)
    fraction: float = Field(default=0.5, ge=0, lt=1)
