"""Made-up series for both sides."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl

HORIZON, INPUT_SIZE, WINDOWS = 24, 96, 1024
SMALL, LARGE = (100, 500), (1_000, 10_000)  # series, steps


@lru_cache(maxsize=2)
def daily_series(count: int, steps: int) -> pl.DataFrame:
    """Return daily waves with noise, as a long table in order.

    Values stay near 1, because no scaler is used: a saturated recurrent network computes with denormal numbers, which
    would measure the processor and not the library.
    """
    random = np.random.default_rng(0)
    phase = random.uniform(0, 24, (count, 1))
    noise = random.standard_normal((count, steps), dtype=np.float32)
    values = np.sin(2 * np.pi * (np.arange(steps) + phase) / 24).astype(np.float32) + 0.3 * noise
    ids = pl.Series("unique_id", [f"series-{number:05d}" for number in range(count)])
    return pl.DataFrame(
        {
            "unique_id": ids.gather(np.repeat(np.arange(count, dtype=np.uint32), steps)),
            "ds": np.tile(np.arange(steps, dtype=np.int64), count),
            "y": values.reshape(-1),
        }
    )
