"""Drawing instructions."""

import numpy as np

from neuro_divergent.reporting.svg.paths import dots, outline, rectangles, stairs, trace


def test_a_line_breaks_where_a_value_is_missing() -> None:
    x = np.arange(5.0)
    assert trace(x, np.array([1, 2, np.nan, 4, np.nan])) == "M0 1L1 2M3 4L3 4"
    assert trace(x, np.full(5, np.nan)) == ""
    assert trace(np.array([0.04, np.nan, 2.06]), np.array([-0.01, 1.0, 3.25])) == "M0 0L0 0M2.1 3.2L2.1 3.2"


def test_an_area_goes_there_and_back() -> None:
    x, low, high = np.arange(2.0), np.array([1.0, 2.0]), np.array([5.0, 6.0])
    assert outline(x, low, high) == "M0 5L1 6L1 2L0 1Z"


def test_dots_boxes_and_stairs() -> None:
    assert dots(np.array([1.0, np.nan]), np.array([2.0, 3.0])) == "M1 2h0"
    assert rectangles([(0.0, 1.0, 2.0, 3.0)]) == "M0 1H2V3H0Z"
    x, y = stairs(np.array([0.0, 1, 2]), np.array([5.0, 6, 7]))
    assert trace(x, y) == "M0 5L1 5L1 6L2 6L2 7"
