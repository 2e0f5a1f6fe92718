"""Codes of categories, compared with those of tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.categories import encode_categories, learn_categories
from neuro_divergent.serving.category_codes import CategoryCodes
from neuro_divergent.serving.description import ExportedFeature

WORDS = st.sampled_from(["a", "b", "true", "1", "1.0", "é", "", "7"])
COLUMNS = st.one_of(
    *(
        st.lists(st.one_of(st.none(), values), min_size=1)
        for values in (WORDS, st.integers(0, 9), st.sampled_from([0.0, 1.0, 7.0]), st.booleans())
    )
)


@given(COLUMNS, COLUMNS)
def test_codes_equal_those_of_tables_whatever_the_types(known: list[Any], values: list[Any]) -> None:
    categories = learn_categories(pl.Series(known, strict=False))
    if not categories:
        return
    codes = CategoryCodes(ExportedFeature(name="c", categories=tuple(categories)), "unknown")
    expected, unknown = encode_categories(pl.Series(values, strict=False), categories)
    np.testing.assert_array_equal(codes.encode(values, "c"), expected)
    refusing = CategoryCodes(ExportedFeature(name="c", categories=tuple(categories)), "error")
    if len(unknown):
        with pytest.raises(DataError, match=f"c, position {unknown[0] + 1}: category"):
            refusing.encode(values, "c")
    else:
        np.testing.assert_array_equal(refusing.encode(values, "c"), expected)
