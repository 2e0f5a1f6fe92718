"""The trigger that goes by the clock."""

from __future__ import annotations

from datetime import datetime

from neuro_divergent.lifecycle.continuous.journal import Journal
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig, parse_duration

SHADOW = "shadow"
"""Value of the state: the comparison that is under way."""


def is_comparing(journal: Journal) -> bool:
    """Whether a challenger runs in the shadow of the champion."""
    stored = journal.value(SHADOW)
    return stored is not None and stored["state"]["purpose"] == "promotion"


def clock_is_due(config: ContinuousConfig, journal: Journal, now: datetime) -> bool:
    """Whether the time since the last training is over and there are batches that it did not see."""
    last, every = journal.value("last_training"), config.triggers.every
    if last is None or every is None or is_comparing(journal):
        return False
    is_over = now - datetime.fromisoformat(last["at"]) >= parse_duration(every)
    return is_over and int(journal.value("batch", 0)) > int(last["batch"])
