"""What processes send each other comes back as it was, and nothing else is read."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.distributed.message import decode, encode

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(plain)
def test_plain_values_come_back(value: Any) -> None:
    assert decode(encode(value)) == value


def test_tensors_tuples_and_odd_numbers_come_back() -> None:
    value = {"a": torch.arange(6.0).reshape(2, 3), "b": (1, [torch.ones(2, dtype=torch.float64)]), "c": math.inf}
    found = decode(encode(value))
    assert torch.equal(found["a"], value["a"])
    assert found["b"][0] == 1
    assert torch.equal(found["b"][1][0], value["b"][1][0])
    assert found["c"] == math.inf
    assert isinstance(found["b"], tuple)


@pytest.mark.parametrize("content", [b"", b"x", pickle.dumps([1]), encode([1])[:-1], encode([1])[1:]])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(UntrustedFileError):
        decode(content)
