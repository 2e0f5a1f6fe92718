"""The order found 16 bits at a time is the stable order of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from neuro_divergent.data.sort_order import sort_order

ROWS = 70_000


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (0, 5, np.uint8),
        (0, 60_000, np.uint16),
        (0, 70_000, np.uint32),
        (-40, 40, np.int64),
        (-(2**33), 2**33, np.int64),
        (2**62, 2**62 + 2**47, np.int64),
        (-(2**62), 2**62, np.int64),
        (2**63, 2**63 + 2**20, np.uint64),
        (-(2**31), 2**31 - 1, np.int32),
        (7, 8, np.int64),
    ],
)
@pytest.mark.parametrize("rows", [0, 1, 100, ROWS])
def test_the_order_is_the_stable_order(low: int, high: int, kind: type, rows: int) -> None:
    values = np.random.default_rng(rows).integers(low, high, rows, kind)
    assert np.array_equal(sort_order(values), np.argsort(values, kind="stable"))
